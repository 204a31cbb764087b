// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// distrusted returns the namespaces in which the next leader must not count the marks of a rule from before its start, because
// some mark there does not count. While this process leads, they include those in which it could not remove a mark: it may be
// killed after it has seen an object in use and before it has written that.
func (v *statusInput) distrusted(r *policy.Rule, stats *policy.RuleStats, before v1alpha1.RetentionPolicyStatus) []string {
	all := []string{v1alpha1.AllNamespaces}
	kind := v.kinds[policy.StoredAs(r.Kind)]
	switch {
	case r.Mark == "":
		return nil
	case v.forbidden(r) != nil:
		return []string{r.Namespace} // any other namespace would reveal which objects exist
	case r.Invalid():
		return all // another rule reads the kind at another version, so this rule is not evaluated
	case kind.Unmarkable != nil && !v.last:
		return all
	}
	d := policy.Distrusted{}
	if stats != nil {
		d = stats.Distrusted
	}
	if v.last {
		d.Exposed = nil
	}
	if v.listed[r.ID] {
		return d.Namespaces()
	}
	// Not all objects are known: the namespaces of the last status stay.
	if !r.MarksSince.IsZero() {
		return all
	}
	d.Outdated = d.Outdated.Union(sets.KeySet(r.MarksSinceIn))
	for i := range before.Rules {
		if before.Rules[i].Name == r.ID.Rule {
			d.Outdated.Insert(before.Rules[i].DistrustedMarks...)
		}
	}
	return d.Namespaces()
}
