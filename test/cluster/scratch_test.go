package cluster

import (
	"os"
	"testing"
	"time"
)

func TestScratchOfTheDeadIsSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	make := func() *scratch {
		s, err := newScratch()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	dead, old, young := make(), make(), make()
	dead.lock.Close()
	young.lock.Close()
	for _, s := range []*scratch{dead, old} {
		hourAgo := time.Now().Add(-time.Hour)
		if err := os.Chtimes(s.dir, hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
	}
	sweepScratch(os.TempDir(), scratchPattern)
	for s, want := range map[*scratch]bool{dead: false, old: true, young: true} {
		if _, err := os.Stat(s.dir); (err == nil) != want {
			t.Errorf("%s: %v, want existing %t", s.dir, err, want)
		}
	}
}
