// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestNodeClock(t *testing.T) {
	clock, err := history.NodeClock(time.Now)
	expect.NoError(t, err)
	a, b := clock(), clock()
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || a.BootID != strings.TrimSpace(string(id)) || b.BootID != a.BootID {
		t.Errorf("boot %q, %q: %v", a.BootID, id, err)
	}
	if a.Boot <= 0 || b.Boot < a.Boot || time.Since(a.Wall) > time.Minute {
		t.Errorf("%+v, then %+v", a, b)
	}
}
