// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestCheck checks preconditions that take 400 ms each.
func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		together bool
		answered []int // preconditions with an answer that came just now
		failing  int   // the precondition that fails; -1 for none
		asked    []int
		took     time.Duration
	}{
		"one after the other": {false, nil, -1, []int{0, 1, 2}, 1200 * time.Millisecond},
		"one after the other, and the first failure ends the check": {false, nil, 1, []int{0, 1}, 800 * time.Millisecond},
		"at the same time": {true, nil, -1, []int{0, 1, 2}, 400 * time.Millisecond},
		"at the same time, and a failure does not end the check": {true, nil, 0, []int{0, 1, 2}, 400 * time.Millisecond},
		"a fresh answer is not requested again":                  {false, []int{0, 2}, -1, []int{1}, 400 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, since, failed := time.Now(), make([]time.Time, 3), -1
				for _, i := range test.answered {
					since[i] = began
				}
				asked := make(chan int, 3)
				var all []preflight.Precondition
				for i := range 3 {
					all = append(all, func(context.Context) (time.Time, func()) {
						asked <- i
						time.Sleep(400 * time.Millisecond)
						if i == test.failing {
							return time.Time{}, func() { failed = i }
						}
						return time.Now(), nil
					})
				}
				if fail := preflight.Check(t.Context(), time.Now, all, since, test.together); fail != nil {
					fail()
				}
				close(asked)
				var order []int
				for i := range asked {
					order = append(order, i)
				}
				slices.Sort(order)
				expect.Equal(t, "asked", test.asked, order)
				expect.Equal(t, "failed", test.failing, failed)
				expect.Equal(t, "took", test.took, time.Since(began))
			})
		})
	}
}

func TestFresh(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		since time.Time
		want  bool
	}{
		"never answered":   {time.Time{}, false},
		"just now":         {now, true},
		"a second ago":     {now.Add(-preflight.MaxAge), true},
		"a moment earlier": {now.Add(-preflight.MaxAge - 1), false},
	} {
		t.Run(name, func(t *testing.T) { expect.Equal(t, "fresh", test.want, preflight.Fresh(now, test.since)) })
	}
}
