// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Digest is a checked RetentionDigest. It does not change.
type Digest struct {
	Name     string
	UID      types.UID
	Created  time.Time
	Spec     v1alpha1.DigestSpec
	Schedule *policy.Schedule
	Ahead    time.Duration

	policies, namespaces sets.Set[string] // nil for all
	template             *template.Template
}

// Parse reads the JSON of a RetentionDigest. An unknown field is a problem: it may be a misspelt namespaces. The API server checks
// the metadata.
func Parse(data []byte) (*v1alpha1.RetentionDigest, []policy.Problem) {
	return policy.ParseStrict[v1alpha1.RetentionDigest](data)
}

// Load checks a RetentionDigest. The Digest is nil if there are problems.
func Load(written *v1alpha1.RetentionDigest) (*Digest, []policy.Problem) {
	spec := written.Spec
	d := &Digest{Name: written.Name, UID: written.UID, Created: written.CreationTimestamp.Time, Spec: spec}
	d.Spec.Ahead = cmp.Or(spec.Ahead, v1alpha1.DigestDay)
	if spec.Policies != nil {
		d.policies = sets.New(spec.Policies...)
	}
	if spec.Namespaces != nil {
		d.namespaces = sets.New(spec.Namespaces...)
	}
	var problems []policy.Problem
	d.Schedule, problems = policy.LoadSchedule("spec", spec.Schedule, spec.TimeZone)
	add := func(path, message, hint string) {
		problems = append(problems, policy.Problem{Path: path, Message: message, Hint: hint})
	}
	var known bool
	if d.Ahead, known = periods[d.Spec.Ahead]; !known {
		add("spec.ahead", fmt.Sprintf("%q is not supported", spec.Ahead), "write Hour, Day or Week")
	}
	switch {
	case spec.Webhook != nil && spec.Mail != nil:
		add("spec.mail", "webhook is set too", "for several receivers, create several digests")
	case spec.Webhook != nil:
		checkWebhook(spec.Webhook, add)
	case spec.Mail != nil:
		checkMail(spec.Mail, add)
	default:
		add("spec", "no receiver", "set webhook or mail")
	}
	zone := time.UTC
	if d.Schedule != nil {
		zone = d.Schedule.Location()
	}
	var err error
	if d.template, err = parseTemplate(cmp.Or(spec.Template, builtIn), zone); err != nil {
		add("spec.template", strings.TrimPrefix(err.Error(), "template: "), "")
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return d, nil
}

var periods = map[v1alpha1.DigestPeriod]time.Duration{v1alpha1.DigestHour: time.Hour, v1alpha1.DigestDay: policy.Day, v1alpha1.DigestWeek: policy.Week}

// Namespaces are the namespaces to which the digest is limited; nil for no limit.
func (d *Digest) Namespaces() sets.Set[string] { return d.namespaces }

// Due is the scheduled time of the digest to send now: the latest one after that of the last accepted digest, or after the
// creation. Zero if none is due. If several times have passed, one digest covers all of them.
func (d *Digest) Due(status *v1alpha1.DigestStatus, now time.Time) time.Time {
	after := d.Created
	if status.ScheduleTime != nil {
		after = status.ScheduleTime.Time
	}
	if latest := d.Schedule.Last(now.Add(1)); latest.After(after) && !d.Spec.Suspend {
		return latest
	}
	return time.Time{}
}

// Selects reports whether the digest is about a policy. A digest about namespaces is about all ClusterRetentionPolicies, and the
// RetentionPolicies of these namespaces.
func (d *Digest) Selects(namespace, name string) bool {
	key := strings.TrimPrefix(namespace+"/"+name, "/")
	return (d.policies == nil || d.policies.Has(key)) && (d.namespaces == nil || namespace == "" || d.namespaces.Has(namespace))
}

// text is JSON of a value.
func text(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}
