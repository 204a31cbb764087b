package preview

import (
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// Record is a Row in JSON, YAML and want.yaml. The format is stable.
type Record struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	Decision
	Message string `json:"message,omitempty"`

	Image string `json:"image,omitempty"` // of an image, its first tag or digest
	Bytes int64  `json:"bytes,omitempty"` // of an image

	Owner       *Owner `json:"owner,omitempty"`             // what is deleted instead, with the object
	Propagation string `json:"propagationPolicy,omitempty"` // with owner only
	Dependents  int    `json:"dependents,omitempty"`        // of the owner; with owner only, and where all objects are in files
}

// Decision is a verdict in JSON and YAML, without the owner. The format is stable.
type Decision struct {
	Action    string `json:"action"`
	Reason    string `json:"reason"`
	Policy    string `json:"policy,omitempty"`
	Rule      string `json:"rule,omitempty"`
	StartTime string `json:"startTime,omitempty"` // with dueTime only
	TTL       string `json:"ttl,omitempty"`       // with dueTime only
	DueTime   string `json:"dueTime,omitempty"`
}

// Owner is an owner in JSON and YAML. The format is stable.
type Owner struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// OwnerOf is the owner as it is written; nil for none.
func OwnerOf(o *policy.Owner) *Owner {
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

// Record is the row as it is written.
func (r *Row) Record() Record {
	record := Record{
		APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Decision: DecisionOf(r.Verdict), Message: r.Message,
		Owner: OwnerOf(r.Verdict.Owner), Propagation: string(r.Propagation), Dependents: r.Dependents,
	}
	if r.Image != nil {
		record.Image, record.Bytes = r.Image.Name, r.Image.Bytes
	}
	return record
}

// DecisionOf is the verdict as it is written.
func DecisionOf(v policy.Verdict) Decision {
	d := Decision{Action: v.Action.String(), Reason: string(v.Reason), Policy: v.Rule.Policy, Rule: v.Rule.Rule}
	if v.Due.IsZero() {
		return d
	}
	d.StartTime, d.DueTime = FormatTime(v.Start), FormatTime(v.Due)
	if v.TTL >= 0 {
		d.TTL = policy.FormatTTL(v.TTL)
	}
	return d
}

// Time is a time as it is written: with FormatTime, whatever its zone and year.
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + FormatTime(t.Time) + `"`), nil }

// FormatTime is RFC 3339 in UTC, with fractions of a second where there are any; empty for the zero time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
