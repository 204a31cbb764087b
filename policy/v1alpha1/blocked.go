package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of a policy that are True while its rules keep eligible objects for the reason of that name, until somebody changes the
// objects or the rules; the message has how many, and the first of them. There are no such conditions otherwise.
const (
	// ConditionRecreated: others of their name came back as fast as Sunset deleted them.
	ConditionRecreated = "Recreated"
	// ConditionManagedByMultiKueue: a MultiKueue manager cluster manages them, and the rule does not allow for that.
	ConditionManagedByMultiKueue = "ManagedByMultiKueue"
	// ConditionManagedByArgoCD is the same of Argo CD.
	ConditionManagedByArgoCD = "ManagedByArgoCD"
	// ConditionManagedByFlux is the same of Flux.
	ConditionManagedByFlux = "ManagedByFlux"
	// ConditionManagedByHelm is the same of hooks of Helm.
	ConditionManagedByHelm = "ManagedByHelm"
	// ConditionNoOwner: the rule deletes the owners of objects, and these have none.
	ConditionNoOwner = "NoOwner"
)

// chosen are the reasons of Blocked that somebody has chosen with the other policy, or that the conditions of the other policy report.
var chosen = []string{
	"KeptNewest", "NeverDue", "Unmarked", ConditionNoOwner,
	ConditionManagedByMultiKueue, ConditionManagedByArgoCD, ConditionManagedByFlux, ConditionManagedByHelm,
}

// IsChosen reports whether a rule that keeps objects of another policy for this reason works as its author wants. It does not where it
// fails, is suspended, waits for an approval, or lacks knowledge; a reason that is not known counts as such a failure.
func IsChosen(reason string) bool { return slices.Contains(chosen, reason) }

// StopsDeletions reports whether a condition of a policy shows that something stops deletions. What Valid, Watching and most
// reasons of Enforcing say, Ready says too. Blocked for a reason that IsChosen does not count.
func StopsDeletions(c *metav1.Condition) bool {
	switch c.Type {
	case ConditionReady:
		return c.Status == metav1.ConditionFalse
	case ConditionEnforcing:
		return c.Reason == "Throttled" || c.Status == metav1.ConditionFalse && (c.Reason == string(Suspended) || c.Reason == "Terminating")
	case ConditionBlocked:
		return c.Status == metav1.ConditionTrue && !IsChosen(c.Reason)
	case ConditionDelayed, ConditionRecreated, ConditionNoOwner,
		ConditionManagedByMultiKueue, ConditionManagedByArgoCD, ConditionManagedByFlux, ConditionManagedByHelm:
		return c.Status == metav1.ConditionTrue
	default:
		return false
	}
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
