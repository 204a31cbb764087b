package report

import (
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// Change is one change against the rules in force in JSON and YAML. The format is stable.
type Change struct {
	APIVersion string  `json:"apiVersion,omitempty"`
	Kind       string  `json:"kind"`
	Namespace  string  `json:"namespace,omitempty"`
	Name       string  `json:"name"`
	Change     string  `json:"change"` // NewlyGoes, NewlyKept, Sooner or Later
	Before     Outcome `json:"before"`
	After      Outcome `json:"after"`
}

// Outcome is a verdict in JSON and YAML without what it is about. The format is stable.
type Outcome struct {
	Action  string `json:"action"`
	Reason  string `json:"reason"`
	DueTime string `json:"dueTime,omitempty"`
	Policy  string `json:"policy,omitempty"`
	Rule    string `json:"rule,omitempty"`
}

// NewChange is the change as it is written.
func NewChange(c preview.Change) Change {
	return Change{
		APIVersion: c.APIVersion,
		Kind:       c.Kind,
		Namespace:  c.Namespace,
		Name:       c.Name,
		Change:     string(c.What),
		Before:     newOutcome(c.Before),
		After:      newOutcome(c.After),
	}
}

func newOutcome(v policy.Verdict) Outcome {
	o := Outcome{Action: v.Action.String(), Reason: string(v.Reason), Policy: v.Rule.Policy, Rule: v.Rule.Rule}
	if !v.Due.IsZero() {
		o.DueTime = FormatTime(v.Due)
	}
	return o
}
