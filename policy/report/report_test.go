// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/report"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var now = fixture.Now

// clusterPolicy and ownPolicy are the policies of the tests.
var (
	clusterPolicy = &policy.Policy{Name: "batch", UID: "uid-batch", Created: now.Add(-24 * time.Hour)}
	ownPolicy     = &policy.Policy{Name: "shop/own", Namespace: "shop", UID: "uid-own", Created: now.Add(-time.Hour)}
)

// evaluation returns the evaluation of a rule with a TTL of an hour for an object that is due after d.
func evaluation(p *policy.Policy, d time.Duration, options ...func(*policy.Evaluation)) policy.Evaluation {
	e := policy.Evaluation{
		Rule: &policy.Rule{
			ID: policy.RuleID{Policy: p.Name, Rule: "finished"}, PolicyUID: p.UID, Namespace: p.Namespace, Kind: fixture.Jobs, Mode: v1alpha1.Enforce, TTL: time.Hour,
		},
		Facts: policy.Facts{Selected: true, Eligible: true, Start: now.Add(d - time.Hour)},
		Known: true,
	}
	for _, o := range options {
		o(&e)
	}
	return e
}

func dryRun(e *policy.Evaluation) { e.Rule.Mode = v1alpha1.DryRun }
func fails(e *policy.Evaluation) {
	e.Facts = policy.Facts{Selected: true, Err: errors.New("the content of the object")}
}

func subject(namespace, name string, flags ...policy.Flags) policy.Subject {
	s := policy.Subject{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Created: now.Add(-2 * time.Hour)}
	for _, f := range flags {
		s.Flags |= f
	}
	return s
}

// add adds a Job.
func add(b *report.Builder, s policy.Subject, obstacle string, evaluations ...policy.Evaluation) {
	b.Add(fixture.Jobs, s, evaluations, obstacle)
}

func key(p *policy.Policy, namespace string) report.Key {
	return report.Key{Policy: p.UID, Namespace: namespace}
}

// encoded returns the report as an object, and its text.
func encoded(t *testing.T, b *report.Builder, k report.Key, p *policy.Policy) (r openreports.Report, text string) {
	t.Helper()
	body, _ := b.Encode(k, p)
	expect.NoError(t, json.Unmarshal(body, &r))
	return r, string(body)
}

// TestSize: a result has the size of its object, if a rule of the policy knows it.
func TestSize(t *testing.T) {
	b := report.NewBuilder(now, nil)
	add(b, subject("shop", "sized"), "", evaluation(clusterPolicy, 0, func(e *policy.Evaluation) { e.Facts.Size.Bytes = 10 << 30 }))
	add(b, subject("shop", "unknown"), "", evaluation(clusterPolicy, 0))
	r, _ := encoded(t, b, key(clusterPolicy, "shop"), clusterPolicy)
	expect.Equal(t, "size", "10737418240", r.Results[0].Properties["bytes"])
	if bytes, is := r.Results[1].Properties["bytes"]; is {
		t.Errorf("an object whose size is unknown has %s bytes", bytes)
	}
}

// TestPage: docs/tasks/show-reports.md shows the report of these objects, with each sort of result.
func TestPage(t *testing.T) {
	b := report.NewBuilder(now, nil)
	add(b, subject("shop", "import-orders"), "", evaluation(clusterPolicy, 30*time.Minute))
	add(b, subject("shop", "backup", policy.IsHeld), "", evaluation(clusterPolicy, time.Hour))
	add(b, subject("shop", "report-mon"), "Refused: admission webhook denied the request", evaluation(clusterPolicy, -time.Minute))
	add(b, subject("shop", "train-model"), "", evaluation(clusterPolicy, 0, fails))
	add(b, subject("shop", "sync-users"), "", evaluation(clusterPolicy, 25*time.Hour)) // later than a day
	b.SetDeleted(key(clusterPolicy, "shop"), 12)
	got, _ := encoded(t, b, key(clusterPolicy, "shop"), clusterPolicy)
	page, err := os.ReadFile("../../docs/tasks/show-reports.md")
	expect.NoError(t, err)
	_, block, _ := strings.Cut(string(page), "```yaml\napiVersion: openreports.io")
	block, _, _ = strings.Cut(block, "```")
	var want openreports.Report
	expect.NoError(t, yaml.UnmarshalStrict([]byte("apiVersion: openreports.io"+block), &want))
	if want.Annotations == nil || got.Annotations[report.HashAnnotation] == "" {
		t.Error("no hash")
	}
	want.Annotations = got.Annotations
	expect.Equal(t, "report", want, got)
}

// TestPolicyReporterConventions: a report has the fields that Policy Reporter reads. It takes the object of a result from its resources, or
// from the scope, and counts the summary.
func TestPolicyReporterConventions(t *testing.T) {
	b := report.NewBuilder(now, nil)
	add(b, subject("shop", "later"), "", evaluation(clusterPolicy, time.Hour))
	add(b, subject("shop", "held", policy.IsHeld), "", evaluation(clusterPolicy, 0))
	add(b, subject("shop", "refused"), "Refused", evaluation(clusterPolicy, -time.Hour))
	add(b, subject("shop", "broken"), "", evaluation(clusterPolicy, 0, fails))
	b.SetDeleted(key(clusterPolicy, "shop"), 1)
	r, _ := encoded(t, b, key(clusterPolicy, "shop"), clusterPolicy)
	expect.Equal(t, "summary", openreports.ReportSummary{Pass: 1, Fail: 1, Warn: 1, Error: 1, Skip: 1}, r.Summary)
	if r.Source != "sunset" || r.Scope != nil || len(r.Results) != 5 {
		t.Errorf("source %q, scope %v, %d results", r.Source, r.Scope, len(r.Results))
	}
	severities := map[openreports.Result]openreports.ResultSeverity{"pass": "info", "fail": "high", "warn": "low", "error": "medium", "skip": "info"}
	for _, result := range r.Results {
		expect.Equal(t, "severity of "+string(result.Result), severities[result.Result], result.Severity)
		if len(result.Subjects) != 1 || result.Source != "sunset" || result.Category != "Retention" || result.Policy != "batch" || result.Description == "" || result.Timestamp.Seconds <= 0 {
			t.Errorf("a field is missing: %+v", result)
			continue
		}
		if o := result.Subjects[0]; o.APIVersion == "" || o.Kind == "" || o.Name == "" || o.UID == "" {
			t.Errorf("a field of the object is missing: %+v", o)
		}
	}
}

// TestNamespaces: a report has nothing about other namespaces or the content of objects, and is owned by its policy.
func TestNamespaces(t *testing.T) {
	b := report.NewBuilder(now, nil)
	for _, namespace := range []string{"shop", "staging", ""} {
		add(b, subject(namespace, "in-"+namespace), "", evaluation(clusterPolicy, 0, fails))
	}
	add(b, subject("shop", "of-the-team"), "", evaluation(ownPolicy, 0))
	for k, want := range map[report.Key]struct {
		policy         *policy.Policy
		kind, owner    string
		names, missing []string
	}{
		key(clusterPolicy, "shop"):    {clusterPolicy, "Report", "ClusterRetentionPolicy/batch", []string{"in-shop"}, []string{"staging", "of-the-team"}},
		key(clusterPolicy, "staging"): {clusterPolicy, "Report", "ClusterRetentionPolicy/batch", []string{"in-staging"}, []string{"shop"}},
		key(clusterPolicy, ""):        {clusterPolicy, "ClusterReport", "ClusterRetentionPolicy/batch", []string{`"in-"`}, []string{"shop", "staging"}},
		key(ownPolicy, "shop"):        {ownPolicy, "Report", "RetentionPolicy/own", []string{"of-the-team"}, []string{"staging", "in-shop"}},
	} {
		r, text := encoded(t, b, k, want.policy)
		expect.Equal(t, "kind", want.kind, r.Kind)
		expect.Equal(t, "owner", want.owner, r.OwnerReferences[0].Kind+"/"+r.OwnerReferences[0].Name)
		expect.Equal(t, "name", "sunset-"+string(want.policy.UID), r.Name)
		for _, name := range want.names {
			if !strings.Contains(text, name) {
				t.Errorf("%+v does not have %s: %s", k, name, text)
			}
		}
		for _, name := range append(want.missing, "the content of the object") {
			if strings.Contains(text, name) {
				t.Errorf("%+v has %s: %s", k, name, text)
			}
		}
	}
	expect.Equal(t, "reports", 4, len(b.Keys()))
}

func TestResults(t *testing.T) {
	for name, test := range map[string]struct {
		flags    policy.Flags
		obstacle string
		option   func(*policy.Evaluation)
		due      time.Duration
		result   openreports.Result
		severity openreports.ResultSeverity
		message  string
	}{
		"due soon":                              {0, "", nil, time.Hour, "warn", "low", "due at 2026-03-01T13:00:00Z"},
		"a fraction of a second":                {0, "", nil, time.Hour - 1, "warn", "low", "due at 2026-03-01T13:00:00Z"},
		"due within a day":                      {0, "", nil, 24 * time.Hour, "warn", "low", "due at 2026-03-02T12:00:00Z"},
		"a dry run":                             {0, "", dryRun, time.Hour, "warn", "low", "due at 2026-03-01T13:00:00Z, but kept by the dry run"},
		"held":                                  {policy.IsHeld, "", nil, time.Hour, "skip", "info", "due at 2026-03-01T13:00:00Z, but kept: Held"},
		"attempts fail":                         {0, "Denied: no permission", nil, 0, "fail", "high", "due at 2026-03-01T12:00:00Z, but not deleted: Denied: no permission"},
		"attempts of another rule in a dry run": {0, "Denied: no permission", dryRun, 0, "warn", "low", "due at 2026-03-01T12:00:00Z, but kept by the dry run"},
		"attempts failed, and now it is held":   {policy.IsHeld, "Denied: no permission", nil, 0, "skip", "info", "due at 2026-03-01T12:00:00Z, but kept: Held"},
		"an expression fails":                   {0, "", fails, 0, "error", "medium", "kept: EvaluationFailed"},
		"too many":                              {0, "", func(e *policy.Evaluation) { e.Rank.Excess = true }, time.Hour, "warn", "low", "due now, above the capacity"},
		"Argo CD manages it":                    {policy.OfArgoCD, "", nil, 0, "skip", "info", "eligible, but kept: ManagedByArgoCD"},
	} {
		t.Run(name, func(t *testing.T) {
			b := report.NewBuilder(now, nil)
			e := evaluation(clusterPolicy, test.due)
			if test.option != nil {
				test.option(&e)
			}
			add(b, subject("shop", "job", test.flags), test.obstacle, e)
			r, _ := encoded(t, b, key(clusterPolicy, "shop"), clusterPolicy)
			if len(r.Results) != 1 {
				t.Fatalf("%d results", len(r.Results))
			}
			got := r.Results[0]
			expect.Equal(t, "result", test.result, got.Result)
			expect.Equal(t, "severity", test.severity, got.Severity)
			expect.Equal(t, "message", test.message, got.Description)
			expect.Equal(t, "explain", "kubectl sunset explain job.batch/job -n shop", got.Properties["explain"])
		})
	}
}

// TestBounds: neither the number of objects nor the number of namespaces makes reports large or many.
func TestBounds(t *testing.T) {
	b := report.NewBuilder(now, nil)
	for i := range 500 {
		add(b, subject("shop", fmt.Sprintf("%03d", 499-i)), "", evaluation(clusterPolicy, time.Hour))
	}
	add(b, subject("shop", "refused"), strings.Repeat("x", 10_000), evaluation(clusterPolicy, 0))
	r, _ := encoded(t, b, key(clusterPolicy, "shop"), clusterPolicy)
	expect.Equal(t, "results", report.MaxResults+1, len(r.Results))
	expect.Equal(t, "first", "refused", r.Results[0].Subjects[0].Name)
	expect.Equal(t, "second", "000", r.Results[1].Subjects[0].Name)
	last := r.Results[report.MaxResults]
	expect.Equal(t, "last", "batch 451", last.Subjects[0].Name+" "+last.Properties["objects"])
	expect.Equal(t, "summary", openreports.ReportSummary{Fail: 1, Warn: report.MaxResults}, r.Summary) // counts the results
	expect.Equal(t, "length of a message", 300, len(r.Results[0].Description))

	existing := key(clusterPolicy, "zoo")
	b = report.NewBuilder(now, []report.Key{existing})
	for i := range 2 * report.MaxReports {
		add(b, subject(fmt.Sprint("n", i), "job"), "", evaluation(clusterPolicy, 0))
	}
	add(b, subject("zoo", "job"), "", evaluation(clusterPolicy, 0))
	expect.Equal(t, "reports", report.MaxReports, len(b.Keys()))
	encoded(t, b, existing, clusterPolicy)
}

// TestSameReport: neither the time nor the order of objects changes a report, but a change of an object does.
func TestSameReport(t *testing.T) {
	hash := func(at time.Time, names ...string) string {
		b := report.NewBuilder(at, nil)
		for _, name := range names {
			var options []func(*policy.Evaluation)
			if strings.HasPrefix(name, "excess") {
				options = append(options, func(e *policy.Evaluation) { e.Rank.Excess = true })
			}
			add(b, subject("shop", name), "", evaluation(clusterPolicy, 2*time.Hour, options...))
		}
		_, hash := b.Encode(key(clusterPolicy, "shop"), clusterPolicy)
		if _, again := b.Encode(key(clusterPolicy, "shop"), clusterPolicy); again != hash {
			t.Errorf("hashes %s and %s of the same report", hash, again)
		}
		return hash
	}
	first := hash(now, "a", "b", "excess")
	expect.Equal(t, "a minute later", first, hash(now.Add(time.Minute), "a", "b", "excess"))
	expect.Equal(t, "another order", first, hash(now, "excess", "b", "a"))
	if hash(now, "a", "b", "excess", "c") == first {
		t.Error("another object does not change the hash")
	}
}

func TestKeyOf(t *testing.T) {
	k := key(clusterPolicy, "shop")
	if got, ok := report.KeyOf("shop", k.Name()); !ok || got != k {
		t.Errorf("%+v, %v", got, ok)
	}
	if _, ok := report.KeyOf("shop", "cpol-labels"); ok {
		t.Error("a report of another program has a key")
	}
}
