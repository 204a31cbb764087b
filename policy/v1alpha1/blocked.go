package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StopsDeletions reports whether a condition of a policy shows that something stops deletions. What Valid, Watching and most
// reasons of Enforcing say, Ready says too.
func StopsDeletions(c *metav1.Condition) bool {
	switch c.Type {
	case ConditionReady:
		return c.Status == metav1.ConditionFalse
	case ConditionEnforcing:
		return c.Status == metav1.ConditionFalse && (c.Reason == string(Suspended) || c.Reason == "Terminating")
	case ConditionBlocked, ConditionRecreated, ConditionDelayed:
		return c.Status == metav1.ConditionTrue
	default:
		return false
	}
}

// BlockingRule is a rule that keeps objects which are due by another policy.
type BlockingRule struct {
	// policy of the rule; NAMESPACE/NAME for a RetentionPolicy.
	Policy string `json:"policy"`
	// rule is its name.
	Rule string `json:"rule"`
	// reason why it keeps them, such as EvaluationFailed or Suspended.
	Reason string `json:"reason"`
	// objects that it keeps for this reason.
	Objects int64 `json:"objects"`
}

// BlockedPolicy is a policy whose due objects rules of another policy keep.
type BlockedPolicy struct {
	// policy is its name; NAMESPACE/NAME for a RetentionPolicy.
	Policy string `json:"policy"`
	// objects that are kept.
	Objects int64 `json:"objects"`
}
