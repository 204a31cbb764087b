// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of a policy. Each is True while rules of the policy keep eligible objects for the reason of that name, until you
// change the objects or the rules. The message has the number of these objects and names the first of them. The condition is
// absent if there are no such objects.
const (
	// ConditionRecreated: objects of the same name were created again as fast as Sunset deleted them.
	ConditionRecreated = "Recreated"
	// ConditionManagedByMultiKueue: a MultiKueue manager cluster manages the objects, and the rule does not set allowManaged.
	ConditionManagedByMultiKueue = "ManagedByMultiKueue"
	// ConditionManagedByArgoCD is the same for Argo CD.
	ConditionManagedByArgoCD = "ManagedByArgoCD"
	// ConditionManagedByFlux is the same for Flux.
	ConditionManagedByFlux = "ManagedByFlux"
	// ConditionManagedByHelm is the same for Helm hooks.
	ConditionManagedByHelm = "ManagedByHelm"
	// ConditionNoOwner: the rule deletes the owners of objects, and these objects have no owner.
	ConditionNoOwner = "NoOwner"
	// ConditionNoCommonWindow: the windows of the rules that find the objects due do not open at the same time.
	ConditionNoCommonWindow = "NoCommonWindow"
)

// chosen are the reasons of Blocked that the author of the blocking policy intends, or that the conditions of that policy report.
var chosen = []string{
	"KeptNewest", "NeverDue", "Unmarked", ConditionNoOwner,
	ConditionManagedByMultiKueue, ConditionManagedByArgoCD, ConditionManagedByFlux, ConditionManagedByHelm,
}

// IsChosen reports whether a rule that keeps objects of another policy for this reason works as its author intends. That is false
// if the rule fails, is suspended, waits for approval, or lacks knowledge. It is also false for an unknown reason.
func IsChosen(reason string) bool { return slices.Contains(chosen, reason) }

// StopsDeletions reports whether a condition of a policy shows that deletions are stopped. Ready includes Valid, Watching and
// the other reasons of Enforcing. Blocked counts unless IsChosen reports true for its reason.
func StopsDeletions(c *metav1.Condition) bool {
	switch c.Type {
	case ConditionReady:
		return c.Status != metav1.ConditionTrue && c.Reason != ReasonPending
	case ConditionEnforcing:
		return c.Reason == "Throttled" || c.Status == metav1.ConditionFalse && slices.Contains([]string{"Suspended", "Terminating", "LimitReached", "Frozen"}, c.Reason)
	case ConditionBlocked:
		return c.Status == metav1.ConditionTrue && !IsChosen(c.Reason)
	case ConditionDelayed, ConditionRecreated, ConditionNoOwner, ConditionNoCommonWindow,
		ConditionManagedByMultiKueue, ConditionManagedByArgoCD, ConditionManagedByFlux, ConditionManagedByHelm:
		return c.Status == metav1.ConditionTrue
	default:
		return false
	}
}

// NotEnforcing returns why the policy deletes nothing: the reason of the condition Enforcing if that is False. Otherwise it is empty.
func (s *RetentionPolicyStatus) NotEnforcing() string {
	if c := meta.FindStatusCondition(s.Conditions, ConditionEnforcing); c != nil && c.Status == metav1.ConditionFalse {
		return c.Reason
	}
	return ""
}

// BlockingRule is a rule that keeps objects that are due by another policy.
type BlockingRule struct {
	// policy is the name of its policy; NAMESPACE/NAME for a RetentionPolicy.
	Policy string `json:"policy"`
	// rule is the name of the rule.
	Rule string `json:"rule"`
	// reason why the rule keeps the objects, such as EvaluationFailed or Suspended.
	Reason string `json:"reason"`
	// objects is the number of objects that the rule keeps for this reason.
	Objects int64 `json:"objects"`
}

// BlockedPolicy is a policy with due objects that rules of this policy keep.
type BlockedPolicy struct {
	// policy is the name of the policy; NAMESPACE/NAME for a RetentionPolicy.
	Policy string `json:"policy"`
	// objects is the number of its due objects that are kept.
	Objects int64 `json:"objects"`
}
