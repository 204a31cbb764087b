// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestImagesKeepToWindows: images that are due, or above the capacity, wait for the opening, and stop at the closing. The clock of a
// machine begins at midnight, and the image is due after a minute.
func TestImagesKeepToWindows(t *testing.T) {
	const closed = `"windows": [{"schedule": "30 0 * * *", "duration": "1h"}], `
	const frozen = `"freezes": [{"from": "2026-03-01T00:00:00Z", "to": "2026-03-01T00:30:00Z"}], `
	for name, test := range map[string]struct {
		when   string
		excess bool
		after  time.Duration // midnight
		want   policy.Action
	}{
		"no windows":                             {"", false, 10 * time.Minute, policy.Delete},
		"before the opening":                     {closed, false, 20 * time.Minute, policy.Wait},
		"at the opening, before its time":        {closed, false, 30 * time.Minute, policy.Wait},
		"in the second half of the window":       {closed, false, 60 * time.Minute, policy.Delete},
		"before the last second of the window":   {closed, false, 90*time.Minute - 2*time.Second, policy.Delete},
		"in the last second of the window":       {closed, false, 90*time.Minute - time.Second, policy.Wait},
		"after the closing":                      {closed, false, 2 * time.Hour, policy.Wait},
		"above the capacity, before the opening": {closed, true, 20 * time.Minute, policy.Wait},
		"above the capacity, at the opening":     {closed, true, 30 * time.Minute, policy.Delete},
		"above the capacity, after the closing":  {closed, true, 2 * time.Hour, policy.Wait},
		"in a freeze":                            {frozen, false, 20 * time.Minute, policy.Wait},
		"after a freeze":                         {frozen, false, 35 * time.Minute, policy.Delete},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.has("go/app:v1", "a")
			rule, set := m.load(strings.Replace(rules, `"rules"`, test.when+`"rules"`, 1))
			rule.Capacity.Bounded = test.excess
			source := m.Open(set)
			midnight, row := m.clock.Now(), m.rowOf(source, id("a"))
			for range 4 { // until its last use is certain
				m.clock.Step(interval)
				row = m.rowOf(source, id("a"))
			}
			v, permit := policy.Decide(row.Subject(), []policy.Evaluation{{Rule: rule, Facts: row.Facts()[0], Rank: policy.RankResult{Excess: test.excess}, Known: true}}, midnight.Add(test.after))
			if v.Action != test.want || permit.Valid() != (test.want == policy.Delete) {
				t.Errorf("%+v, want %v", v, test.want)
			}
			if v.Action == policy.Wait {
				expect.Equal(t, "reason", policy.Deferred, v.Reason)
			}
		})
	}
}
