// SPDX-License-Identifier: Apache-2.0

package scratch

import (
	"os"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
)

func TestDirectoriesOfTheDeadAreRemoved(t *testing.T) {
	const pattern = "sunset-test-*"
	t.Setenv("TMPDIR", t.TempDir())
	make := func() *Dir {
		s, err := New(os.TempDir(), pattern)
		expect.NoError(t, err)
		return s
	}
	dead, old, young := make(), make(), make()
	_ = dead.lock.Close()
	_ = young.lock.Close()
	for _, s := range []*Dir{dead, old} {
		hourAgo := time.Now().Add(-time.Hour)
		expect.NoError(t, os.Chtimes(s.path, hourAgo, hourAgo))
	}
	sweep(os.TempDir(), pattern)
	for s, want := range map[*Dir]bool{dead: false, old: true, young: true} {
		if _, err := os.Stat(s.path); (err == nil) != want {
			t.Errorf("%s: %v, want existing %t", s.path, err, want)
		}
	}
}
