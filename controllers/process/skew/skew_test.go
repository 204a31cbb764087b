// SPDX-License-Identifier: Apache-2.0

package skew_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/process/skew"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestCheck(t *testing.T) {
	second := fixture.Now.Truncate(time.Second)
	tests := map[string]struct {
		date, sent, received time.Time
		ok                   bool
	}{
		"the same second":                                      {second, second, second, true},
		"at the end of the second":                             {second, second.Add(999 * time.Millisecond), second.Add(999 * time.Millisecond), true},
		"we are five seconds ahead":                            {second, second.Add(5 * time.Second), second.Add(5 * time.Second), true},
		"we are ahead by a nanosecond more":                    {second, second.Add(5*time.Second + 1), second.Add(5*time.Second + 1), false},
		"we are four seconds behind":                           {second, second.Add(-4 * time.Second), second.Add(-4 * time.Second), true},
		"we may be behind by more, as a Date has no fractions": {second, second.Add(-4*time.Second - 1), second.Add(-4*time.Second - 1), false},
		"a slow response leaves the skew unknown":              {second, second, second.Add(6 * time.Second), false},
		"an hour ahead":                                        {second, second.Add(time.Hour), second.Add(time.Hour), false},
		"an hour behind":                                       {second, second.Add(-time.Hour), second.Add(-time.Hour), false},
		"a slow response within the limit":                     {second, second, second.Add(4 * time.Second), true},
		"a clock that was set back during the read":            {second, second, second.Add(-time.Hour), true},
		"a clock that was set ahead during the read":           {second, second, second.Add(time.Hour), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := skew.Check(test.date, test.sent, test.received)
			if ok := err == nil; ok != test.ok {
				t.Errorf("%v", err)
			}
		})
	}
}
