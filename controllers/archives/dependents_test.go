// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

var workflows = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Workflow"}

// ofWorkflows makes a rule about Workflows archive the Workflows that they own.
func ofWorkflows(r *policy.Rule) {
	r.Kind = workflows
	r.Archive = &policy.Archive{To: "history", Dependents: []schema.GroupKind{workflows.GroupKind()}}
}

// chain adds a Workflow that owns another one, and so on. The rule deletes the first.
func (h *harness) chain(r *policy.Rule, length int) *subject {
	s := h.know(r, "w-0")
	owner := h.server.objects["Workflow a/w-0"]
	for i := range length - 1 {
		owner = h.server.own(h.server.put(workflows, fmt.Sprintf("w-%d", i+1), ""), owner)
	}
	return s
}

func TestDependentsOfTheSameKind(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.chain(h.rule("p", ofWorkflows), 6).attempt()
		bubble.Pass(time.Second)
		expect.Equal(t, "dependents", []string{"Workflow w-1", "Workflow w-2", "Workflow w-3", "Workflow w-4", "Workflow w-5"},
			kindsOf(t, h.record(h.stores["mem://history"], "w-0").Dependents))
	})
}

func TestDependentsOnTooManyLevelsKeepTheObject(t *testing.T) {
	inBubble(t, func(h *harness) {
		s := h.chain(h.rule("p", ofWorkflows), 12)
		s.attempt()
		bubble.Pass(time.Second)
		expect.Equal(t, "deleted", nil, h.names())
		if want := "more than 8 levels deep"; !strings.Contains(s.problem(), want) {
			t.Errorf("problem %q, want %q", s.problem(), want)
		}
	})
}

// TestDependentsOfOtherNamespaces: garbage collection does not delete them.
func TestDependentsOfOtherNamespaces(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("p", withPods)
		for i := range 120 {
			h.know(r, fmt.Sprintf("n%d/job-%d", i%2, i))
		}
		h.server.own(h.server.put(pods, "n1/foreign", ran), h.server.objects["Job n0/job-0"])
		h.server.own(h.server.put(pods, "n0/own", ran), h.server.objects["Job n0/job-0"])
		for _, s := range h.subjects {
			s.attempt()
		}
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "dependents", []string{"Pod own"}, kindsOf(t, h.record(h.stores["mem://history"], "job-0").Dependents))
	})
}

func TestRequiredLogsOfPodsWithoutContainerStatus(t *testing.T) {
	const spec = `,"spec":{"containers":[{"name":"main"}]}`
	for name, test := range map[string]struct {
		pod     string
		deleted []string
		logs    []archive.Log
	}{
		"failed":            {spec + `,"status":{"phase":"Failed"}`, nil, nil},
		"without a status":  {spec, nil, nil},
		"that is scheduled": {spec + `,"status":{"phase":"Pending"}`, []string{"job"}, []archive.Log{{Pod: "job-x", Container: "main", Missing: "the container has not started"}}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				s := h.know(h.rule("p", withLogs(100, true)), "job")
				h.server.own(h.server.put(pods, "job-x", test.pod), h.server.objects["Job a/job"])
				s.attempt()
				bubble.Pass(3 * time.Second)
				expect.Equal(t, "deleted", test.deleted, h.names())
				if test.deleted == nil && !strings.Contains(s.problem(), "log of container main of Pod job-x") {
					t.Errorf("problem %q", s.problem())
				}
				if test.logs != nil {
					expect.Equal(t, "logs", test.logs, h.record(h.stores["mem://history"], "job").Logs)
				}
			})
		})
	}
}

// TestRequiredLogOfAPodThatVanishes: the Pod is deleted after it was listed, so that later listings do not have it.
func TestRequiredLogOfAPodThatVanishes(t *testing.T) {
	for name, test := range map[string]struct {
		after   func(h *harness, r *policy.Rule)
		deleted []string
	}{
		"for good":               {func(*harness, *policy.Rule) {}, nil},
		"and is back":            {func(h *harness, _ *policy.Rule) { h.ownPod() }, []string{"job"}},
		"and is not required":    {func(h *harness, r *policy.Rule) { h.set(func() { r.Archive = &policy.Archive{To: "history"} }) }, []string{"job"}},
		"and the leader changes": {func(h *harness, _ *policy.Rule) { h.end(); h.begin() }, []string{"job"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				r := h.rule("p", withLogs(100, true))
				s := h.know(r, "job")
				h.ownPod()
				h.server.refuse = func(verb, kind, _ string) error {
					if verb == "log" {
						delete(h.server.objects, keyOf(pods, "a", kind))
					}
					return nil
				}
				s.attempt()
				bubble.Pass(10 * time.Second)
				expect.Equal(t, "deleted", nil, h.names())
				if want := "log of container main of Pod job-x, which archive.logs.required requires: pods \"job-x\" not found"; !strings.Contains(s.problem(), want) {
					t.Errorf("problem %q, want %q", s.problem(), want)
				}
				h.server.refuse = nil
				test.after(h, r)
				s.attempt()
				bubble.Pass(2 * time.Minute)
				expect.Equal(t, "deleted later", test.deleted, h.names())
			})
		})
	}
}

// ownPod adds a Pod of the Job "job".
func (h *harness) ownPod() {
	h.server.own(h.server.put(pods, "job-x", ran), h.server.objects["Job a/job"])
	h.server.logs["job-x/main"] = "hello"
}

func TestManagedFieldsWithRedactedValues(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("p", func(r *policy.Rule) {
			r.Kind = workflows
			r.Archive = &policy.Archive{To: "history", Redact: []string{"spec.tokens[*]"}}
		})
		h.server.managed = `,"managedFields":[{"manager":"kubectl","fieldsV1":{"f:spec":{"f:tokens":{"v:\"s3cret\"":{}}}}}]`
		s := h.know(r, "one")
		s.set(func() { s.target = h.server.put(workflows, "one", `,"spec":{"tokens":["s3cret"]}`).target() })
		s.attempt()
		bubble.Pass(time.Second)
		record := h.record(h.stores["mem://history"], "one")
		if text := string(record.Object); strings.Contains(text, "s3cret") || !strings.Contains(text, "REDACTED") {
			t.Error(text)
		}
		expect.Equal(t, "redacted", []string{"metadata.managedFields", "spec.tokens[*]"}, record.Redacted)
	})
}
