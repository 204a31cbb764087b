// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/controllers/kube"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// marking returns a patch that records since when a subject has been eligible, or removes that if the subject is not eligible.
func marking(t *testing.T, s policy.Subject, eligible bool) policy.EligibleSincePatch {
	t.Helper()
	r := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "r"}, Mode: v1alpha1.Enforce, Mark: "0a1b"}
	facts := policy.Facts{Selected: true, Eligible: eligible, Marked: true, Estimated: eligible, Start: now}
	m := policy.EligibleSincePatchOf(s, []policy.Evaluation{{Rule: r, Facts: facts, Known: true}}, now)
	if !m.Valid() {
		t.Fatal("no patch")
	}
	return m
}

func TestMark(t *testing.T) {
	const annotation = "sunset-k8s.io/eligible-since"
	tests := map[string]struct {
		kind     schema.GroupVersionKind
		subject  policy.Subject
		eligible bool
		path     string
		value    any
	}{
		"eligible":           {fixture.Jobs, nightly, true, "/apis/batch/v1/namespaces/team-a/jobs/nightly", `{"0a1b":"2026-03-01T12:00:00Z"}`},
		"no longer eligible": {fixture.Jobs, nightly, false, "/apis/batch/v1/namespaces/team-a/jobs/nightly", nil},
		"core group":         {fixture.Pods, nightly, true, "/api/v1/namespaces/team-a/pods/nightly", `{"0a1b":"2026-03-01T12:00:00Z"}`},
		"cluster-scoped": {
			clusters, policy.Subject{Name: "c-1", UID: "uid-2", ResourceVersion: "5"}, true,
			"/apis/example.org/v1/clusters/c-1", `{"0a1b":"2026-03-01T12:00:00Z"}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, requests := serve(t, ok)
			o := c.Mark(t.Context(), test.kind, marking(t, test.subject, test.eligible), time.Now())
			expect.Equal(t, "result", retention.Marked, o.Result)
			expect.Equal(t, "error", nil, o.Err)
			expect.Equal(t, "requests", []asked{{
				Method: "PATCH", Path: test.path, ContentType: "application/merge-patch+json",
				Body: map[string]any{"metadata": map[string]any{
					"uid": string(test.subject.UID), "resourceVersion": test.subject.ResourceVersion,
					"annotations": map[string]any{annotation: test.value}, // null removes it
				}},
			}}, *requests)
		})
	}
}

func TestMarkSendsNothingWithoutAPatch(t *testing.T) {
	c, requests := serve(t, ok)
	o := c.Mark(t.Context(), fixture.Jobs, policy.EligibleSincePatch{}, time.Now())
	expect.Equal(t, "result", retention.Refused, o.Result)
	expect.Equal(t, "an error", true, o.Err != nil)
	expect.Equal(t, "requests", nil, *requests)
}

func TestMarkOutcomes(t *testing.T) {
	tests := map[string]struct {
		code int
		body string
		want retention.Result
	}{
		"another version":      {409, answer.StatusText(409), retention.Changed},
		"not found":            {404, `{"kind":"Status","reason":"NotFound","code":404,"message":"jobs.batch \"nightly\" not found"}`, retention.Gone},
		"busy":                 {429, "slow down", retention.Busy},
		"overloaded":           {503, "", retention.Busy},
		"not valid":            {422, answer.StatusText(422), retention.Refused},
		"refused by a webhook": {403, answer.StatusText(403), retention.Refused},
		"permission missing": {403, `{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,` +
			`"message":"jobs.batch \"nightly\" is forbidden: User \"x\" cannot patch resource \"jobs\" in API group \"batch\" in the namespace \"team-a\""}`, retention.Denied},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.code)
				_, _ = w.Write([]byte(test.body))
			})
			o := c.Mark(t.Context(), fixture.Jobs, marking(t, nightly, true), time.Now())
			expect.Equal(t, "result", test.want, o.Result)
			expect.Equal(t, "an error", true, o.Err != nil)
			expect.Equal(t, "requests", 1, len(*requests))
		})
	}
}

// teams returns a rule for all namespaces and another for team-a.
func teams(t *testing.T, everywhere, inTeamA string) retention.RuleSet {
	t.Helper()
	c := fixture.Compiler(t)
	own := map[string][]*engine.Program{"team-a": {compile(t, c, fixture.Jobs, eligible(inTeamA))}}
	return retention.NewRuleSet(fixture.Jobs, []*engine.Program{compile(t, c, fixture.Jobs, eligible(everywhere))}, own)
}

func TestNamespaceIsAskedItsOwn(t *testing.T) {
	e := fixture.Compiler(t).NewEvaluator(t.Context())
	t.Cleanup(e.Close)
	d := kube.NewDecoder(teams(t, "has(object.metadata.name)", "object.metadata.annotations.a == 'b'"), e)
	answers := func(namespace string) []bool {
		t.Helper()
		row, err := d.Object(strings.Replace(job, "team-a", namespace, 1))
		expect.NoError(t, err)
		var answers []bool
		for _, facts := range row.Facts() {
			answers = append(answers, facts.Eligible)
		}
		return answers
	}
	expect.Equal(t, "in team-a", []bool{true, true}, answers("team-a"))
	expect.Equal(t, "in team-b", []bool{true}, answers("team-b"))
	d.SetRules(teams(t, "has(object.metadata.name)", "object.status.succeeded == 1")) // no earlier rule reads this field
	expect.Equal(t, "in team-a, second rules", []bool{true, true}, answers("team-a"))
	d.SetRules(teams(t, "has(object.metadata.name)", "object.status.succeeded == 2"))
	expect.Equal(t, "in team-a, third rules", []bool{true, false}, answers("team-a"))
	d.SetRules(retention.NewRuleSet(fixture.Jobs, nil, nil))
	expect.Equal(t, "in team-a, without rules", nil, answers("team-a"))
}

// listing returns a source that receives these pages, one for each request, and its requests.
func listing(t *testing.T, q retention.RuleSet, pages ...*http.Response) (fullSource, *[]*http.Request) {
	t.Helper()
	var requests []*http.Request
	client := &http.Client{Transport: answer.Func(func(r *http.Request) (*http.Response, error) {
		requests = append(requests, r)
		if len(requests) > len(pages) {
			return nil, errors.New("no more pages")
		}
		return pages[len(requests)-1], nil
	})}
	return clusterAt(t, &rest.Config{Host: "http://server", QPS: -1}, client).Open(q).(fullSource), &requests
}

func pageOf(next string, jobs ...string) *http.Response {
	return answer.Text(200, fmt.Sprintf(`{"kind":"JobList","metadata":{"resourceVersion":"100","continue":%q},"items":[%s]}`, next, strings.Join(jobs, ",")))
}

func TestListOfANamespace(t *testing.T) {
	const path = "/apis/batch/v1/namespaces/team-a/jobs?"
	tests := map[string]struct {
		asks     string // in team-a
		pages    []*http.Response
		rows     int
		fails    bool
		requests []string
		metadata bool
	}{
		"two pages": {
			"has(object.status)", []*http.Response{pageOf("2", jobAt("a", "1")), pageOf("", jobAt("b", "2"))},
			2, false, []string{path + "limit=500", path + "continue=2&limit=500"}, false,
		},
		"empty":         {"has(object.status)", []*http.Response{pageOf("")}, 0, false, []string{path + "limit=500"}, false},
		"metadata only": {"has(object.metadata.labels)", []*http.Response{pageOf("", jobAt("a", "1"))}, 1, false, []string{path + "limit=500"}, true},
		"expired":       {"has(object.status)", []*http.Response{pageOf("2", jobAt("a", "1")), answer.Status(410)}, 0, true, nil, false},
		"forbidden":     {"has(object.status)", []*http.Response{answer.Status(403)}, 0, true, nil, false},
		"not JSON":      {"has(object.status)", []*http.Response{answer.Text(200, "<html>")}, 0, true, nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			source, requests := listing(t, teams(t, "has(object.metadata.name)", test.asks), test.pages...)
			rows, err := listed(t.Context(), source, "team-a")
			expect.Equal(t, "fails", test.fails, err != nil)
			expect.Equal(t, "rows", test.rows, len(rows))
			for _, row := range rows {
				expect.Equal(t, "facts", 2, len(row.Facts()))
			}
			var uris []string
			for _, r := range *requests {
				uris = append(uris, r.URL.RequestURI())
				expect.Equal(t, "requests only metadata", test.metadata, strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"))
			}
			if test.requests != nil {
				expect.Equal(t, "requests", test.requests, uris)
			}
		})
	}
}

func TestSourceListsClusterScopedObjects(t *testing.T) {
	blue := `{"apiVersion":"example.org/v1","kind":"Cluster","metadata":{"name":"blue","uid":"uid-3","resourceVersion":"1","creationTimestamp":"2026-03-01T12:00:00Z"}}`
	source, requests := listing(t, retention.NewRuleSet(clusters, nil, nil), pageOf("", blue))
	rows, err := listed(t.Context(), source, "")
	expect.Equal(t, "fails", false, err != nil)
	expect.Equal(t, "rows", 1, len(rows))
	expect.Equal(t, "request", "/apis/example.org/v1/clusters", (*requests)[0].URL.Path)
}

func TestNamespaceListOmitsClusterScopedObjects(t *testing.T) {
	source, requests := listing(t, retention.NewRuleSet(clusters, nil, nil))
	rows, err := listed(t.Context(), source, "team-a")
	expect.Equal(t, "error", nil, err)
	expect.Equal(t, "rows", 0, len(rows))
	expect.Equal(t, "requests", 0, len(*requests))
}

func TestListOfAKindNobodyServes(t *testing.T) {
	source, _ := listing(t, retention.NewRuleSet(schema.GroupVersionKind{Group: "x", Version: "v1", Kind: "Unknown"}, nil, nil))
	if _, err := listed(t.Context(), source, "team-a"); err == nil {
		t.Error("no error")
	}
}

func TestListEndsWithItsContext(t *testing.T) {
	source, requests := listing(t, teams(t, "true", "true"), pageOf(""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := listed(ctx, source, "team-a"); err == nil {
		t.Error("no error")
	}
	expect.Equal(t, "requests", 0, len(*requests))
}

func TestSourceIsAskedWhileItWatches(t *testing.T) {
	for way, streams := range ways {
		t.Run(way, func(t *testing.T) {
			s := &server{streams: streams, objects: []string{jobAt("a", "1")}}
			following(t, s, nil, func(t *testing.T, k *sink, source fullSource) {
				expect.Equal(t, "accepts rules", true, source.SetRules(teams(t, "has(object.status)", "has(object.spec)")))
				s.event("MODIFIED", jobAt("a", "101"))
				expect.Equal(t, "facts of the watch", 2, k.facts("a"))
				s.event("MODIFIED", strings.Replace(jobAt("b", "102"), "team-a", "team-b", 1))
				expect.Equal(t, "facts in another namespace", 1, k.facts("b"))
				time.Sleep(2 * time.Second) // a watch that ends at once counts as broken
				k.take()
				s.event("ERROR", answer.StatusText(410))
				bubble.Pass(30 * time.Second)
				expect.Equal(t, "calls", []string{"lost", "replace [a]"}, slices.DeleteFunc(k.take(), func(call string) bool { return call == "lost ListFailed" }))
				expect.Equal(t, "facts of the next listing", 2, k.facts("a"))
				rows, err := listed(t.Context(), source, "team-a")
				if err != nil || len(rows) != 1 {
					t.Fatalf("%d rows: %v", len(rows), err)
				}
				expect.Equal(t, "facts of the namespace", 2, len(rows[0].Facts()))
			})
		})
	}
}

func TestWatchOfMetadataCannotBeAskedMore(t *testing.T) {
	metadata := func(t *testing.T, c *engine.Compiler) *engine.Program {
		return compile(t, c, fixture.Jobs, eligible("has(object.metadata.labels)"))
	}
	s := &server{objects: []string{jobAt("a", "1")}}
	following(t, s, []func(*testing.T, *engine.Compiler) *engine.Program{metadata}, func(t *testing.T, k *sink, source fullSource) {
		expect.Equal(t, "accepts a rule that reads status", false, source.SetRules(teams(t, "has(object.metadata.labels)", "has(object.status)")))
		s.event("MODIFIED", jobAt("a", "101"))
		expect.Equal(t, "facts", 1, k.facts("a"))
		expect.Equal(t, "accepts a rule that reads other metadata", true, source.SetRules(teams(t, "has(object.metadata.labels)", "has(object.metadata.annotations)")))
		s.event("MODIFIED", jobAt("a", "102"))
		expect.Equal(t, "facts of the new rules", 2, k.facts("a"))
	})
}

func TestSourceCanBeAskedBeforeItRuns(t *testing.T) {
	source, _ := listing(t, teams(t, "has(object.status)", "true"), pageOf("", jobAt("a", "1")))
	expect.Equal(t, "accepts rules", true, source.SetRules(retention.NewRuleSet(fixture.Jobs, nil, nil)))
	rows, err := listed(t.Context(), source, "team-a")
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	expect.Equal(t, "facts", 0, len(rows[0].Facts()))
}
