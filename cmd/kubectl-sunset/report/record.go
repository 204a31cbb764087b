package report

import (
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// Verdict is one verdict in JSON and YAML. The format is stable.
type Verdict struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	Action     string `json:"action"`
	Reason     string `json:"reason"`
	Policy     string `json:"policy,omitempty"`
	Rule       string `json:"rule,omitempty"`
	StartTime  string `json:"startTime,omitempty"` // with dueTime only
	TTL        string `json:"ttl,omitempty"`       // with dueTime only
	DueTime    string `json:"dueTime,omitempty"`
	Message    string `json:"message,omitempty"`
}

// Failure is one error in JSON and YAML. The format is stable.
type Failure struct {
	Policy    string `json:"policy,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Message   string `json:"message"`
}

// NewVerdict is the row as it is written.
func NewVerdict(row preview.Row) Verdict {
	v := Verdict{
		APIVersion: row.APIVersion,
		Kind:       row.Kind,
		Namespace:  row.Namespace,
		Name:       row.Name,
		Action:     row.Verdict.Action.String(),
		Reason:     string(row.Verdict.Reason),
		Policy:     row.Verdict.Rule.Policy,
		Rule:       row.Verdict.Rule.Rule,
		Message:    row.Message,
	}
	if !row.Verdict.Due.IsZero() {
		v.StartTime, v.DueTime = FormatTime(row.Verdict.Start), FormatTime(row.Verdict.Due)
		v.TTL = policy.FormatTTL(row.Verdict.TTL)
	}
	return v
}

// NewFailure is the failure as it is written.
func NewFailure(f preview.Failure) Failure {
	return Failure{Policy: f.Rule.Policy, Rule: f.Rule.Rule, Namespace: f.Namespace, Name: f.Name, Message: f.Message}
}

// FormatTime is RFC 3339 in UTC, with fractions of a second where there are any.
func FormatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
