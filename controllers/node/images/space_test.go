// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// TestStillTooFull: of many images that are due at the same time, no more are removed than necessary.
func TestStillTooFull(t *testing.T) {
	for name, test := range map[string]struct {
		looks    int // after two, the image is not due because of its age
		used     int32
		capacity int32 // of the rule; 0 for none
		max      int   // the images that may stay while the disk is full, or the capacity
		want     retention.Result
	}{
		"above the low threshold":                  {2, 81, 0, 0, retention.Removed},
		"at the low threshold":                     {2, 80, 0, 0, retention.Changed},
		"disk usage unknown":                       {2, 0, 0, 0, retention.Changed},
		"the TTL has passed":                       {4, 80, 0, 0, retention.Removed},
		"below the capacity, above the threshold":  {2, 81, 1000, 0, retention.Removed},
		"below the capacity, at the threshold":     {2, 80, 1000, 0, retention.Changed},
		"above the capacity, and at the threshold": {2, 80, 1, 1, retention.Removed},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.has("go/app:v1", "a")
			m.has("go/else:v1", "b")
			w := m.permitFor(test.looks, "a", policy.RankResult{Excess: true})
			m.used = test.used
			if w.Rule().Capacity.Max = test.max; test.capacity > 0 {
				w.Rule().Spec.Capacity = &v1alpha1.Capacity{Max: &test.capacity}
			}
			if o := m.removeBy(w); o.Result != test.want {
				t.Errorf("%s (%v), want %s", o.Result, o.Err, test.want)
			}
		})
	}
}
