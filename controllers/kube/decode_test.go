// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

const job = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"nightly","namespace":"team-a","uid":"uid-1","resourceVersion":"17",
	"creationTimestamp":"2026-03-01T12:00:00Z","annotations":{"a":"b"}},"status":{"succeeded":1}}`

// pod returns a Pod with more metadata.
func pod(metadata string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"team-a","uid":"uid-1","resourceVersion":"17","creationTimestamp":"2026-03-01T12:00:00Z"` + metadata + `}}`
}

func decoder(t *testing.T, kind schema.GroupVersionKind, expressions ...string) kube.Decoder {
	t.Helper()
	c := fixture.Compiler(t)
	e := c.NewEvaluator(t.Context())
	t.Cleanup(e.Close)
	var rules []*engine.Program
	for _, expression := range expressions {
		rules = append(rules, compile(t, c, kind, eligible(expression)))
	}
	return kube.NewDecoder(retention.NewRuleSet(kind, rules, nil), e)
}

func TestDecodeAnObject(t *testing.T) {
	d := decoder(t, fixture.Jobs, "object.status.succeeded == 1", "object.status.failed == 1")
	row, err := d.Object(job)
	expect.NoError(t, err)
	expect.Equal(t, "subject", policy.Subject{Namespace: "team-a", Name: "nightly", UID: "uid-1", ResourceVersion: "17", Created: now}, row.Subject())
	expect.Equal(t, "facts", 2, len(row.Facts()))
	expect.Equal(t, "facts of the first rule", policy.Facts{Selected: true, Eligible: true, Start: now}, row.Facts()[0])
	if err := row.Facts()[1].Err; err == nil || !strings.Contains(err.Error(), "no such key: failed") {
		t.Errorf("error of the second rule: %v", err)
	}
}

// TestKeptObjectsHaveOnlyTheRulesOfTheirNamespace: an object that does not change must not keep all rules of the time when it was read.
func TestKeptObjectsHaveOnlyTheRulesOfTheirNamespace(t *testing.T) {
	c := fixture.Compiler(t)
	e := c.NewEvaluator(t.Context())
	t.Cleanup(e.Close)
	rule := func(expression string) []*engine.Program {
		return []*engine.Program{compile(t, c, fixture.Jobs, eligible(expression))}
	}
	everywhere := rule("true")
	in := func(namespace, expression string) retention.RuleSet {
		return retention.NewRuleSet(fixture.Jobs, everywhere, map[string][]*engine.Program{namespace: rule(expression)})
	}
	q := in("team-a", "object.status.succeeded == 1")
	d := kube.NewDecoder(q, e)
	first, rules, err := d.Keep(job)
	expect.NoError(t, err)
	expect.Equal(t, "rules", 2, len(rules.About("team-a").Rules))

	other := q
	other.In = maps.Clone(q.In)
	other.In["team-b"] = in("team-b", "object.status.succeeded == 2").In["team-b"]
	d.SetRules(other)
	second, rules, err := d.Keep(job)
	expect.NoError(t, err)
	expect.Equal(t, "namespaces", 1, len(rules.In))
	expect.Equal(t, "shared after a change in another namespace", true, first == second)

	d.SetRules(in("team-a", "object.status.succeeded == 3"))
	third, rules, err := d.Keep(job)
	expect.NoError(t, err)
	expect.Equal(t, "shared after a change in the namespace", false, first == third)
	expect.Equal(t, "rules after a change in the namespace", 2, len(rules.About("team-a").Rules))
}

// TestRulesThatComeBack: a source that reads whole objects still does so after the last rule about them has ended.
func TestRulesThatComeBack(t *testing.T) {
	c := fixture.Compiler(t)
	rules := func(expression string) retention.RuleSet {
		return retention.NewRuleSet(fixture.Jobs, []*engine.Program{compile(t, c, fixture.Jobs, eligible(expression))}, nil)
	}
	whole, metadata := rules("object.status.succeeded == 1"), rules("object.metadata.name == 'a'")
	s := kube.Open(whole)
	expect.Equal(t, "accepts", []bool{true, true}, []bool{s.SetRules(metadata), s.SetRules(whole)})
	expect.Equal(t, "accepts rules that need more than is read", false, kube.Open(metadata).SetRules(whole))
}

func TestDecodeFlags(t *testing.T) {
	tests := map[string]struct {
		metadata string
		want     policy.Flags
	}{
		"none":            {``, 0},
		"held":            {`,"annotations":{"sunset-k8s.io/hold":"true"}`, policy.IsHeld},
		"hold: false":     {`,"annotations":{"sunset-k8s.io/hold":"false"}`, 0},
		"terminating":     {`,"deletionTimestamp":"2026-03-01T12:00:00Z"`, policy.IsTerminating},
		"not counted yet": {`,"finalizers":["batch.kubernetes.io/job-tracking"]`, policy.IsUncounted},
		"all": {`,"finalizers":["batch.kubernetes.io/job-tracking"],"deletionTimestamp":"2026-03-01T12:00:00Z","annotations":{"sunset-k8s.io/hold":""}`,
			policy.IsHeld | policy.IsTerminating | policy.IsUncounted},
	}
	for name, test := range tests {
		for _, as := range []string{"as a Pod", "as metadata"} {
			t.Run(name+" "+as, func(t *testing.T) {
				text := pod(test.metadata)
				if as != "as a Pod" {
					text = strings.Replace(text, `"apiVersion":"v1","kind":"Pod"`, `"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata"`, 1)
				}
				row, err := decoder(t, fixture.Pods, "true").Object(text)
				expect.NoError(t, err)
				expect.Equal(t, "flags", test.want, row.Subject().Flags)
			})
		}
	}
}

func TestMetadataAloneIsSeenAsItsKind(t *testing.T) {
	d := decoder(t, fixture.Jobs, "object.kind == 'Job' && object.apiVersion == 'batch/v1'")
	row, err := d.Object(strings.Replace(job, `"apiVersion":"batch/v1","kind":"Job"`, `"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata"`, 1))
	expect.NoError(t, err)
	expect.Equal(t, "eligible", true, row.Facts()[0].Eligible)
}

func TestBallastIsDropped(t *testing.T) {
	const applied = "kubectl.kubernetes.io/last-applied-configuration"
	text := strings.Replace(job, `"a":"b"}`, `"a":"b","`+applied+`":"{}"},"managedFields":[{"manager":"x"}]`, 1)
	tests := map[string]struct {
		expression string
		want       bool
	}{
		"managedFields":                            {"has(object.metadata.managedFields)", false},
		"managedFields, by index":                  {"'managedFields' in object.metadata", false},
		"managedFields, in all":                    {"object.metadata.exists(k, k == 'managedFields')", false},
		"one of the managedFields":                 {"object.metadata.managedFields[0].manager == 'x'", false},
		"the last applied configuration":           {"'" + applied + "' in object.metadata.annotations", false},
		"the last applied configuration, read":     {"object.metadata.annotations['" + applied + "'] == '{}'", false},
		"the last applied configuration, optional": {"object.metadata.annotations[?'" + applied + "'].hasValue()", false},
		"all annotations":                          {"object.metadata.annotations.exists(k, k.startsWith('kubectl'))", false},
		"another annotation":                       {"object.metadata.annotations.a == 'b'", true},
		"another annotation, in all":               {"object.metadata.annotations.exists(k, k == 'a')", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			row, err := decoder(t, fixture.Jobs, test.expression).Object(text)
			expect.NoError(t, err)
			expect.Equal(t, "found", test.want, row.Facts()[0].Eligible)
		})
	}
}

func TestMirrorPodIsNoSubject(t *testing.T) {
	tests := map[string]struct {
		kind  schema.GroupVersionKind
		text  string
		isRow bool
	}{
		"a mirror Pod": {fixture.Pods, pod(`,"annotations":{"kubernetes.io/config.mirror":"x"}`), false},
		"a Job with the annotation of mirror Pods": {fixture.Jobs, strings.Replace(job, `"a":"b"`, `"kubernetes.io/config.mirror":"x"`, 1), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			row, err := decoder(t, test.kind, "true").Object(test.text)
			expect.NoError(t, err)
			expect.Equal(t, "is a row", test.isRow, row != nil)
		})
	}
}

func TestDecodeFails(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON":                 `{`,
		"not an object":            `[]`,
		"no name":                  `{"metadata":{"uid":"x"}}`,
		"no UID":                   strings.Replace(job, `"uid":"uid-1",`, "", 1),
		"a Status":                 `{"kind":"Status","apiVersion":"v1","status":"Failure","code":410}`,
		"an invalid creation time": strings.Replace(job, "2026-03-01T12:00:00Z", "yesterday", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if row, err := decoder(t, fixture.Jobs, "true").Object(text); err == nil {
				t.Errorf("decoded %v", row)
			}
		})
	}
}

func TestSameErrorIsHeldOnce(t *testing.T) {
	d := decoder(t, fixture.Jobs, "object.status.failed == 1")
	var rows []*index.FactRow
	for range 2 {
		row, err := d.Object(job)
		expect.NoError(t, err)
		rows = append(rows, row)
	}
	if rows[0].Facts()[0].Err != rows[1].Facts()[0].Err {
		t.Error("two errors with the same message, want one")
	}
}

func TestDecoderReadsNoFactsOfDeletedObjects(t *testing.T) {
	row, err := decoder(t, fixture.Jobs, "object.status.succeeded == 1").Deleted(job)
	expect.NoError(t, err)
	expect.Equal(t, "name", "nightly", row.Subject().Name)
	expect.Equal(t, "facts", 0, len(row.Facts()))
}

// TestDecoderReadsNothingAfterClose: a read after the end returns an error, and no partial facts.
func TestDecoderReadsNothingAfterClose(t *testing.T) {
	d := decoder(t, fixture.Jobs, "object.status.succeeded == 1")
	began, done := make(chan struct{}), make(chan error)
	go func() {
		for n := 0; ; n++ {
			row, err := d.Object(job)
			if err != nil {
				done <- err
				return
			}
			if !row.Facts()[0].Eligible {
				done <- fmt.Errorf("facts %+v", row.Facts()[0])
				return
			}
			if n == 10 {
				close(began)
			}
		}
	}()
	<-began
	d.Close()
	if err := <-done; !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	if row, err := d.Object(job); err == nil {
		t.Errorf("read %v", row.Subject())
	}
	d.Close()
}

// TestNewQuestionsDoNotWaitForAnEvaluation: the live check before a deletion waits for the caller of Ask.
func TestNewQuestionsDoNotWaitForAnEvaluation(t *testing.T) {
	d := decoder(t, fixture.Pods, "true")
	end := d.Busy()
	d.SetRules(retention.NewRuleSet(fixture.Pods, nil, nil))
	end()
	row, err := d.Object(pod(""))
	if err != nil || len(row.Facts()) != 0 {
		t.Errorf("the next object has facts %v, %v; want the facts of the new rules", row.Facts(), err)
	}
}
