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

	Image string `json:"image,omitempty"` // of an image, its first tag or digest
	Bytes int64  `json:"bytes,omitempty"` // of an image

	Owner       *Owner `json:"owner,omitempty"`             // what goes instead, and takes the object along
	Propagation string `json:"propagationPolicy,omitempty"` // with owner only
	Dependents  int    `json:"dependents,omitempty"`        // of the owner; with owner only, and where all objects are in files
}

// Owner is an owner in JSON and YAML. The format is stable.
type Owner struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// NewOwner is the owner as it is written; nil for none.
func NewOwner(o *policy.Owner) *Owner {
	if o == nil {
		return nil
	}
	return &Owner{APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind, Name: o.Name}
}

// String is KIND/NAME; empty for none.
func (o *Owner) String() string {
	if o == nil {
		return ""
	}
	return o.Kind + "/" + o.Name
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
		Owner:      NewOwner(row.Verdict.Owner), Propagation: string(row.Propagation), Dependents: row.Dependents,
	}
	if row.Image != nil {
		v.Image, v.Bytes = row.Image.Name, row.Image.Bytes
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
