// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"
	"time"
)

// TestWindowsRememberOverlaps: windows that are always open are computed once for each opening too.
func TestWindowsRememberOverlaps(t *testing.T) {
	w := &Windows{}
	for _, text := range []string{"0 0 * * *", "0 12 * * *"} {
		starts, problems := LoadSchedule("", text, "")
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		w.List = append(w.List, &Window{Schedule: text, Duration: 13 * time.Hour, starts: starts})
	}
	begin := time.Date(2026, time.March, 1, 13, 0, 0, 0, time.UTC)
	for minute := range 10 * 60 {
		at := begin.Add(time.Duration(minute) * time.Minute)
		if opens, want := w.opens(at), begin.Add(-time.Hour); !opens.Equal(want) {
			t.Fatalf("at %s they opened at %s, want %s", at, opens, want)
		}
	}
	if len(w.known) != 1 {
		t.Errorf("%d periods are known, want 1", len(w.known))
	}
}
