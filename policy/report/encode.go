// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

const (
	// ManagedByLabel has the value ManagedBy on all reports of Sunset.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "sunset"
	// HashAnnotation has the hash of the content of a report.
	HashAnnotation = "sunset-k8s.io/report-hash"

	source     = "sunset"
	category   = "Retention"
	maxMessage = 300
)

// Encode returns a report as JSON, and the hash of its content. p is the policy of the report.
func (b *Builder) Encode(k Key, p *policy.Policy) (body []byte, hash string, err error) {
	results := b.reports[k].results(k, p)
	owner := policyKind(p)
	meta := metav1.ObjectMeta{
		Namespace: k.Namespace, Name: k.Name(), Labels: map[string]string{ManagedByLabel: ManagedBy},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: owner.GroupVersion().String(), Kind: owner.Kind, Name: p.ObjectName(), UID: p.UID}},
	}
	if body, err = encode(k, meta, results); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(body)
	hash = hex.EncodeToString(sum[:16])
	meta.Annotations = map[string]string{HashAnnotation: hash}
	body, err = encode(k, meta, results)
	return body, hash, err
}

func encode(k Key, meta metav1.ObjectMeta, results []openreports.ReportResult) ([]byte, error) {
	of := metav1.TypeMeta{APIVersion: Reports.GroupVersion().String(), Kind: k.Kind().Kind}
	if k.Namespace == "" {
		return json.Marshal(openreports.ClusterReport{TypeMeta: of, ObjectMeta: meta, Source: source, Summary: summaryOf(results), Results: results})
	}
	return json.Marshal(openreports.Report{TypeMeta: of, ObjectMeta: meta, Source: source, Summary: summaryOf(results), Results: results})
}

func summaryOf(results []openreports.ReportResult) (s openreports.ReportSummary) {
	counts := map[openreports.Result]*int{pass: &s.Pass, fail: &s.Fail, warn: &s.Warn, failedToDecide: &s.Error, skip: &s.Skip}
	for i := range results {
		*counts[results[i].Result]++
	}
	return s
}

// results returns the results about objects, and then those about the policy: how many objects the report does not list, and how
// many were deleted.
func (c *contents) results(k Key, p *policy.Policy) (all []openreports.ReportResult) {
	listed := map[openreports.Result]int{}
	for _, f := range c.findings {
		listed[f.result]++
		all = append(all, f.encode(p))
	}
	for _, r := range order {
		if more := c.counts[r] - listed[r]; more > 0 {
			all = append(all, aboutPolicy(k, p, r, "objects that this report does not list", int64(more)))
		}
	}
	if c.deleted > 0 {
		all = append(all, aboutPolicy(k, p, pass, "objects deleted by this policy", c.deleted))
	}
	return all
}

// aboutPolicy returns a result with a number of objects. Its ID stays the same when the number changes: otherwise it would be a new
// result for Policy Reporter each time.
func aboutPolicy(k Key, p *policy.Policy, result openreports.Result, what string, objects int64) openreports.ReportResult {
	kind := policyKind(p)
	return openreports.ReportResult{
		Source: source, Policy: p.Name, Category: category, Severity: "info", Result: result, Timestamp: timestamp(p.Created),
		Subjects:    []corev1.ObjectReference{{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: p.Namespace, Name: p.ObjectName(), UID: p.UID}},
		Description: what,
		Properties:  map[string]string{"objects": strconv.FormatInt(objects, 10), "resultID": fmt.Sprintf("%s/%s/%s", k.Name(), k.Namespace, result)},
	}
}

func policyKind(p *policy.Policy) schema.GroupVersionKind {
	if p.Namespace == "" {
		return v1alpha1.ClusterRetentionPolicyKind
	}
	return v1alpha1.RetentionPolicyKind
}

func (f *finding) encode(p *policy.Policy) openreports.ReportResult {
	s, rule := &f.subject, f.forecast.Rule
	r := openreports.ReportResult{
		Source: source, Policy: p.Name, Rule: rule.ID.Rule, Category: category, Severity: f.severity(), Scored: f.result != warn, Result: f.result,
		Timestamp:   timestamp(s.Created),
		Subjects:    []corev1.ObjectReference{{APIVersion: f.kind.GroupVersion().String(), Kind: f.kind.Kind, Namespace: s.Namespace, Name: s.Name, UID: s.UID}},
		Description: policy.Shorten(rbac.Line(f.message()), maxMessage),
		Properties: map[string]string{
			"reason": string(f.forecast.Reason), "mode": string(rule.Mode), "explain": rbac.Explain(f.kind.GroupKind(), s.Namespace, s.Name),
		},
	}
	if rule.Mode == "" {
		r.Properties["mode"] = string(v1alpha1.DryRun)
	}
	if f.forecast.Start.After(s.Created) {
		r.Timestamp = timestamp(f.forecast.Start)
	}
	if !f.forecast.Due.IsZero() {
		r.Properties["dueTime"] = dueTime(f.forecast.Due)
	}
	if by := f.forecast.Verdict.Rule; by.Policy != rule.ID.Policy {
		r.Properties["decidedBy"] = by.String()
	}
	if owner := f.forecast.Owner; owner != nil {
		r.Properties["owner"] = owner.String()
	}
	return r
}

func (f *finding) severity() openreports.ResultSeverity {
	switch {
	case f.result == fail:
		return "high"
	case f.result == failedToDecide:
		return "medium"
	case f.result == warn && f.forecast.Rule.Mode == v1alpha1.Enforce:
		return "low"
	default:
		return "info"
	}
}

// message says the same as long as nothing but the time changes: otherwise it would be a new result for Policy Reporter.
func (f *finding) message() string {
	due := "due at " + dueTime(f.forecast.Due)
	switch {
	case f.forecast.Reason == policy.OverCapacity:
		due = "due now: more objects are eligible than the capacity of the rule"
	case f.forecast.Due.IsZero():
		due = "eligible"
	}
	switch {
	case f.result == fail:
		return due + ", but not deleted: " + f.obstacle
	case f.forecast.Reason == policy.EvaluationFailed && f.result == failedToDecide:
		return "kept, because an expression of the rule fails for this object"
	case f.result == failedToDecide:
		return "kept, because the references to this object are not known"
	case f.result == skip:
		return due + ", but kept: " + string(f.forecast.Reason)
	case f.forecast.Rule.Mode != v1alpha1.Enforce:
		return due + ", but kept by the dry run"
	default:
		return due
	}
}

// dueTime rounds up to a second, so that no time is too early.
func dueTime(t time.Time) string {
	return t.Add(time.Second - 1).Truncate(time.Second).UTC().Format(time.RFC3339)
}

func timestamp(t time.Time) metav1.Timestamp { return metav1.Timestamp{Seconds: max(0, t.Unix())} }
