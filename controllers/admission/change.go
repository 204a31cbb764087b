// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// change is the change that a request makes. The CEL expressions in crds/admission implement the same conditions.
type change struct {
	before, after *written // before is nil for a new policy
}

// harmless reports whether the request needs no review: it does not change the spec, or it only suspends the policy.
func (c change) harmless() bool {
	switch {
	case c.before == nil:
		return false
	case reflect.DeepEqual(c.before.Spec, c.after.Spec):
		return true
	default:
		return c.after.mode() == string(v1alpha1.Suspend) && reflect.DeepEqual(c.before.butMode(), c.after.butMode())
	}
}

func (w *written) butMode() map[string]any {
	spec := maps.Clone(w.Spec)
	delete(spec, "mode")
	return spec
}

// empowers reports whether the request lets all rules of the policy do more than before. Then the author needs the permissions
// for all rules.
func (c change) empowers() bool {
	return c.before == nil ||
		c.after.mode() == string(v1alpha1.Enforce) && c.before.mode() != string(v1alpha1.Enforce) ||
		c.after.differs(c.before, "variables", "serviceAccountName", "windows", "approval") || c.after.lacksFreeze(c.before) ||
		c.before.Spec["limits"] != nil && c.after.differs(c.before, "limits") || c.removesSomeRules()
}

// removesSomeRules reports whether the request removes a rule that may have kept objects of the other rules.
func (c change) removesSomeRules() bool {
	after := c.after.rules()
	for rule := range c.before.rules() {
		if _, ok := after[rule]; !ok {
			return len(after) > 0
		}
	}
	return false
}

// changedRules returns the names of the rules for which the author needs the permissions: those that are new or changed, or all if the
// request empowers all rules.
func (c change) changedRules() sets.Set[string] {
	if c.empowers() {
		return sets.KeySet(c.after.rules())
	}
	changed, before := sets.Set[string]{}, c.before.rules()
	for name, rule := range c.after.rules() {
		if !reflect.DeepEqual(rule, before[name]) {
			changed.Insert(name)
		}
	}
	return changed
}
