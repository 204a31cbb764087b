// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// capacity returns how many objects a rule's capacity allows in a namespace; false if nothing limits it.
func (j *checker) capacity(r *rule, s *history.State, o order) (most int, bounded bool) {
	c := r.Capacity
	switch {
	case c == nil:
		return 0, false
	case c.PercentOfQuota != nil:
		return j.quotaOf(s, o.revision, int64(*c.PercentOfQuota))
	case c.Max == nil:
		return 0, false
	case c.Share == v1alpha1.ShareFair:
		return j.share(r, int(*c.Max), o)[s.GetNamespace()], true
	default:
		return int(*c.Max), true
	}
}

// share distributes places to the namespaces that have objects, one to each in turn by name, until none is left.
func (j *checker) share(r *rule, places int, o order) map[string]int {
	left := map[string]int{}
	for _, s := range j.Log.Kind(r.kind.GroupKind(), o.revision) {
		namespace := s.GetNamespace()
		if _, known := left[namespace]; known {
			continue
		}
		there := j.orders(namespace, window{o.revision, o.revision})[0]
		if j.applies(r.policy, s, there) {
			members, _ := j.candidates(r, namespace, o.revision) // an object with an unknown rank gets no place
			left[namespace] = len(members)
		}
	}
	dealt := map[string]int{}
	for before := -1; places > 0 && before != places; {
		before = places
		for _, namespace := range slices.Sorted(maps.Keys(left)) {
			if places > 0 && left[namespace] > 0 {
				dealt[namespace]++
				left[namespace]--
				places--
			}
		}
	}
	return dealt
}

// quotaOf returns a percentage of the number of objects that the ResourceQuotas of a namespace allow. It ignores quotas with
// scopes; the lowest quota counts.
func (j *checker) quotaOf(s *history.State, revision, percent int64) (most int, bounded bool) {
	least := math.Inf(1)
	for _, state := range j.Log.Kind(schema.GroupKind{Kind: "ResourceQuota"}, revision) {
		var quota corev1.ResourceQuota
		if state.GetNamespace() != s.GetNamespace() || !into(state, &quota) || len(quota.Spec.Scopes) > 0 || quota.Spec.ScopeSelector != nil {
			continue
		}
		for name, hard := range quota.Spec.Hard {
			if name == countOf(s) || s.GroupVersionKind().Group == "" && string(name) == history.Resource(s) {
				least = math.Min(least, hard.AsApproximateFloat64())
			}
		}
	}
	part := math.Ceil(least * float64(percent) / 100)
	if part >= math.MaxInt32 { // more than any history contains
		return 0, false
	}
	return int(part), true
}

// countOf returns the name by which a quota counts the objects of a kind.
func countOf(s *history.State) corev1.ResourceName {
	name := "count/" + history.Resource(s)
	if group := s.GroupVersionKind().Group; group != "" {
		name += "." + group
	}
	return corev1.ResourceName(name)
}
