package v1alpha1

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
