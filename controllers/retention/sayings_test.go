package retention

import (
	"testing"
	"time"
)

// TestOneOfManyIsForEverybody: of what is in the way of thousands, one line in a while is at level 0.
func TestOneOfManyIsForEverybody(t *testing.T) {
	var s sayings
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		what  string
		after time.Duration
		want  int
	}{
		{"refused", 0, 0}, {"refused", time.Second, 1}, {"denied", time.Second, 0}, {"refused", saidAgain - time.Second, 1},
		{"refused", saidAgain, 0}, {"refused", saidAgain + time.Second, 1},
	} {
		if got := s.level(step.what, now.Add(step.after)); got != step.want {
			t.Errorf("%s after %s: level %d, want %d", step.what, step.after, got, step.want)
		}
	}
}
