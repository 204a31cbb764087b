// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// TestStillTooFull: of many images that are due at the same time, no more are removed than necessary.
func TestStillTooFull(t *testing.T) {
	for name, test := range map[string]struct {
		looks int // after two, the image is not due because of its age
		used  int32
		want  retention.Result
	}{
		"above the low threshold": {2, 81, retention.Removed},
		"at the low threshold":    {2, 80, retention.Changed},
		"disk usage unknown":      {2, 0, retention.Changed},
		"the TTL has passed":      {4, 80, retention.Removed},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.has("go/app:v1", "a")
			m.has("go/else:v1", "b")
			w := m.permitFor(test.looks, "a", policy.RankResult{Excess: true})
			m.used = test.used
			if o := m.removeBy(w); o.Result != test.want {
				t.Errorf("%s (%v), want %s", o.Result, o.Err, test.want)
			}
		})
	}
}
