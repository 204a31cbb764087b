// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
)

func TestScratchOfTheDeadIsSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	make := func() *Scratch {
		s, err := NewScratch(os.TempDir(), scratchPattern)
		expect.NoError(t, err)
		return s
	}
	dead, old, young := make(), make(), make()
	_ = dead.lock.Close()
	_ = young.lock.Close()
	for _, s := range []*Scratch{dead, old} {
		hourAgo := time.Now().Add(-time.Hour)
		expect.NoError(t, os.Chtimes(s.dir, hourAgo, hourAgo))
	}
	sweepScratch(os.TempDir(), scratchPattern)
	for s, want := range map[*Scratch]bool{dead: false, old: true, young: true} {
		if _, err := os.Stat(s.dir); (err == nil) != want {
			t.Errorf("%s: %v, want existing %t", s.dir, err, want)
		}
	}
}
