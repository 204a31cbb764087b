// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// The kinds of reports.
var (
	Reports        = schema.GroupVersionKind{Group: openreports.GroupName, Version: "v1alpha1", Kind: "Report"}
	ClusterReports = schema.GroupVersionKind{Group: openreports.GroupName, Version: "v1alpha1", Kind: "ClusterReport"}
)

// The metadata of all reports of Sunset: a label with its value, and an annotation with the hash of the content.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "sunset"
	HashAnnotation = "sunset-k8s.io/report-hash"
)

const maxMessage = 300

// Kind is the kind of the report.
func (k Key) Kind() schema.GroupVersionKind {
	if k.Namespace == "" {
		return ClusterReports
	}
	return Reports
}

// Encode returns a report of a policy as JSON, and the hash of its content.
func (b *Builder) Encode(k Key, p *policy.Policy) (body []byte, hash string) {
	owner := ReferenceTo(p)
	r := openreports.Report{ // a ClusterReport has the same fields
		TypeMeta: metav1.TypeMeta{APIVersion: k.Kind().GroupVersion().String(), Kind: k.Kind().Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: k.Namespace, Name: k.Name(), Labels: map[string]string{ManagedByLabel: ManagedBy},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}},
		},
		Source: ManagedBy, Results: b.reports[k].results(k, p),
	}
	counts := map[openreports.Result]*int{pass: &r.Summary.Pass, fail: &r.Summary.Fail, warn: &r.Summary.Warn, resultError: &r.Summary.Error, skip: &r.Summary.Skip}
	for i := range r.Results {
		*counts[r.Results[i].Result]++
	}
	body, _ = json.Marshal(r) // strings, numbers and maps of strings are always encoded
	sum := sha256.Sum256(body)
	hash = hex.EncodeToString(sum[:16])
	r.Annotations = map[string]string{HashAnnotation: hash}
	body, _ = json.Marshal(r)
	return body, hash
}

// ReferenceTo returns a reference to a policy.
func ReferenceTo(p *policy.Policy) corev1.ObjectReference {
	kind := v1alpha1.PolicyKind(p.Namespace)
	return corev1.ObjectReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: p.Namespace, Name: p.ObjectName(), UID: p.UID}
}

// results returns the results about objects, then the numbers of objects that are not listed, then the number of deleted objects.
func (c *contents) results(k Key, p *policy.Policy) (all []openreports.ReportResult) {
	more := maps.Clone(c.counts)
	for _, f := range c.findings {
		more[f.result]--
		all = append(all, f.encode(p))
	}
	number := func(r openreports.Result, what string, n int64) {
		if n == 0 {
			return
		}
		o := newResult(p, r, ReferenceTo(p), p.Created, what)
		// With this ID, the same result with another number is not a new result for Policy Reporter.
		o.Properties = map[string]string{"objects": strconv.FormatInt(n, 10), "resultID": fmt.Sprintf("%s/%s/%s", k.Name(), k.Namespace, r)}
		all = append(all, o)
	}
	for _, r := range order {
		number(r, "objects that this report does not list", int64(more[r]))
	}
	number(pass, "objects that the policy has deleted", c.deleted)
	return all
}

var severities = map[openreports.Result]openreports.ResultSeverity{fail: "high", resultError: "medium", warn: "low", skip: "info", pass: "info"}

func newResult(p *policy.Policy, r openreports.Result, of corev1.ObjectReference, since time.Time, message string) openreports.ReportResult {
	return openreports.ReportResult{
		Source: ManagedBy, Policy: p.Name, Category: "Retention", Severity: severities[r], Result: r, Subjects: []corev1.ObjectReference{of},
		Timestamp: metav1.Timestamp{Seconds: max(0, since.Unix())}, Description: policy.Shorten(rbac.Line(message), maxMessage),
	}
}

func (f *finding) encode(p *policy.Policy) openreports.ReportResult {
	s, forecast, rule := &f.subject, &f.forecast, f.forecast.Rule
	of := corev1.ObjectReference{APIVersion: f.kind.GroupVersion().String(), Kind: f.kind.Kind, Namespace: s.Namespace, Name: s.Name, UID: s.UID}
	r := newResult(p, f.result, of, policy.Latest(s.Created, forecast.Start), f.message())
	r.Rule = rule.ID.Rule
	r.Properties = map[string]string{
		"reason": string(forecast.Reason), "mode": string(cmp.Or(rule.Mode, v1alpha1.DryRun)), "explain": rbac.Explain(f.kind.GroupKind(), s.Namespace, s.Name),
	}
	if !forecast.Due.IsZero() {
		r.Properties["dueTime"] = dueTime(forecast.Due)
	}
	if forecast.Bytes > 0 {
		r.Properties["bytes"] = strconv.FormatInt(forecast.Bytes, 10)
	}
	if by := forecast.Verdict.Rule; by.Policy != rule.ID.Policy {
		r.Properties["decidedBy"] = by.String()
	}
	if owner := forecast.Owner; owner != nil {
		r.Properties["owner"] = owner.String()
	}
	return r
}

// message says the same as long as only the time changes: otherwise it would be a new result for Policy Reporter.
func (f *finding) message() string {
	message := "eligible"
	switch {
	case !f.forecast.Due.IsZero():
		message = "due at " + dueTime(f.forecast.Due)
	case f.forecast.Reason == policy.OverCapacity:
		message = "due now, above the capacity"
	}
	switch {
	case f.result == fail:
		return message + ", but not deleted: " + f.obstacle
	case f.result == resultError:
		return "kept: " + string(f.forecast.Reason)
	case f.result == skip:
		return message + ", but kept: " + string(f.forecast.Reason)
	case f.forecast.Rule.Mode != v1alpha1.Enforce:
		return message + ", but kept by the dry run"
	default:
		return message
	}
}

// dueTime rounds up to a second, so that no time is too early.
func dueTime(t time.Time) string {
	return policy.RoundUp(t, time.Second).Format(time.RFC3339)
}
