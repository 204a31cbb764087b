package history_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/history"
)

func TestNodeClock(t *testing.T) {
	clock, err := history.NodeClock(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	a, b := clock(), clock()
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || a.BootID != strings.TrimSpace(string(id)) || b.BootID != a.BootID {
		t.Errorf("boot %q, %q: %v", a.BootID, id, err)
	}
	if a.Boot <= 0 || b.Boot < a.Boot || time.Since(a.Wall) > time.Minute {
		t.Errorf("%+v, then %+v", a, b)
	}
}
