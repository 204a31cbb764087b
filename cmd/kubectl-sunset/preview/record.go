// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
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

	Image string `json:"image,omitempty"`                // first tag or digest of an image
	Bytes int64  `json:"bytes,omitempty"`                // size, if it is known
	Cost  string `json:"estimatedMonthlyCost,omitempty"` // of the storage; only with prices

	Owner       *Owner `json:"owner,omitempty"`             // the owner that is deleted, with the object
	Propagation string `json:"propagationPolicy,omitempty"` // only with owner
	Dependents  int    `json:"dependents,omitempty"`        // of the owner; only with owner, and if all objects are in files
}

// Decision is a policy.Verdict in JSON and YAML, without the owner. The format is stable.
type Decision struct {
	Action    string `json:"action"`
	Reason    string `json:"reason"`
	Policy    string `json:"policy,omitempty"`
	Rule      string `json:"rule,omitempty"`
	StartTime string `json:"startTime,omitempty"` // only with dueTime
	TTL       string `json:"ttl,omitempty"`       // only with dueTime
	DueTime   string `json:"dueTime,omitempty"`
}

// Owner is an owner in JSON and YAML. The format is stable.
type Owner struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// OwnerOf converts an owner; nil for nil.
func OwnerOf(o *policy.Owner) *Owner {
	if o == nil {
		return nil
	}
	return &Owner{APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind, Name: o.Name}
}

// String returns KIND/NAME; empty for nil.
func (o *Owner) String() string {
	if o == nil {
		return ""
	}
	return o.Kind + "/" + o.Name
}

// Record converts the row.
func (r *Row) Record() Record {
	record := Record{
		APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Decision: DecisionOf(r.Verdict), Message: cmp.Or(r.Blocked, r.Message),
		Owner: OwnerOf(r.Verdict.Owner), Propagation: string(r.Propagation), Dependents: r.Dependents,
	}
	if r.Image != nil {
		record.Image = r.Image.Name
	}
	record.Bytes = r.Storage.Bytes
	if r.Storage.Cost > 0 {
		record.Cost = r.Storage.Cost.String()
	}
	return record
}

// DecisionOf converts a decision.
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

// Time is a time that encodes with FormatTime, for any zone and year.
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + FormatTime(t.Time) + `"`), nil }

// FormatTime formats a time as RFC 3339 in UTC, with fractions of a second if there are any; empty for the zero time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
