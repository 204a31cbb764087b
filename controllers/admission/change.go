// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"reflect"

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

// changed reports whether the author needs the permissions for a rule: it is new or changed, or the request empowers all rules.
func (c change) changed(rule string) bool {
	return c.empowers() || c.before.rules()[rule] != c.after.rules()[rule]
}

// actsAs reports whether the author needs the permission to act as the policy's ServiceAccount.
func (c change) actsAs() bool {
	for rule := range c.after.rules() {
		if c.changed(rule) {
			return true
		}
	}
	return false
}
