// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

var podKind = schema.GroupKind{Kind: "Pod"}

// ran are the fields of a Pod whose containers ran, and one of which has not started.
const ran = `,"spec":{"containers":[{"name":"main"},{"name":"never"}]},"status":{"containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":0}}},{"name":"never","state":{"waiting":{}}}]}`

// withPods makes a rule archive the Pods of Jobs.
func withPods(r *policy.Rule) {
	r.Archive = &policy.Archive{To: "history", Dependents: []schema.GroupKind{podKind}}
}

func TestDependents(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("p", withPods)
		s := h.know(r, "job")
		h.server.own(h.server.put(pods, "job-1", ran), h.server.objects["Job a/job"])
		h.server.own(h.server.put(pods, "job-2", ran), h.server.objects["Job a/job"])
		h.server.put(pods, "other", ran)
		s.attempt()
		bubble.Pass(time.Second)
		expect.Equal(t, "deleted", []string{"job"}, h.names())
		record := h.record(h.stores["mem://history"], "job")
		expect.Equal(t, "dependents", []string{"Pod job-1", "Pod job-2"}, kindsOf(t, record.Dependents))
		expect.Equal(t, "logs", nil, record.Logs)
	})
}

func TestDependentsOfDependents(t *testing.T) {
	cronJobs := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
	inBubble(t, func(h *harness) {
		r := h.rule("p", func(r *policy.Rule) {
			r.Kind = cronJobs
			r.Archive = &policy.Archive{To: "history", Dependents: []schema.GroupKind{jobs.GroupKind(), podKind}}
		})
		s := h.know(r, "nightly")
		job := h.server.own(h.server.put(jobs, "nightly-1", ""), h.server.objects["CronJob a/nightly"])
		h.server.own(h.server.put(pods, "nightly-1-x", ran), job)
		s.attempt()
		bubble.Pass(time.Second)
		expect.Equal(t, "dependents", []string{"Job nightly-1", "Pod nightly-1-x"}, kindsOf(t, h.record(h.stores["mem://history"], "nightly").Dependents))
	})
}

// TestDependentsOfManyTakeFewRequests: at most 1.02 calls for each deletion, with the DELETE itself.
func TestDependentsOfManyTakeFewRequests(t *testing.T) {
	inBubble(t, func(h *harness) {
		r, names := h.rule("p", withPods), numbered("a", 1000)
		for _, name := range names {
			s := h.know(r, name)
			_, base, _ := strings.Cut(name, "/")
			h.server.own(h.server.put(pods, "a/"+base+"-x", ran), h.server.objects["Job a/"+s.target.Name])
		}
		for _, name := range names[:150] {
			h.subjects[h.server.objects["Job "+name].target().UID].attempt()
		}
		bubble.Pass(5 * time.Second)
		for _, s := range h.subjects {
			s.attempt()
		}
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "deleted", 1000, len(h.names()))
		expect.Equal(t, "dependents", 1, len(h.record(h.stores["mem://history"], "a-0999").Dependents))
		h.server.mu.Lock()
		defer h.server.mu.Unlock()
		total := 0
		for _, n := range h.server.requests {
			total += n
		}
		if total > 20 {
			t.Errorf("%d requests: %v", total, h.server.requests)
		}
	})
}

func TestLargeDependentsAreReadForFewerTargets(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("p", withPods)
		var all []*subject
		for i := range 4 {
			s := h.know(r, fmt.Sprintf("job-%d", i))
			all = append(all, s)
			h.server.own(h.server.put(pods, s.target.Name+"-x", `,"spec":{"x":"`+strings.Repeat("x", 5<<20)+`"}`), h.server.objects["Job a/"+s.target.Name])
		}
		for _, s := range all {
			s.attempt()
		}
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "deleted", 4, len(h.names()))
	})
}

func TestRecordThatIsTooLarge(t *testing.T) {
	inBubble(t, func(h *harness) {
		s := h.know(h.rule("p", withPods), "job")
		for i := range 6 {
			h.server.own(h.server.put(pods, fmt.Sprintf("job-%d", i), `,"spec":{"x":"`+strings.Repeat("x", 5<<20)+`"}`), h.server.objects["Job a/job"])
		}
		other := h.know(h.rule("q"), "other")
		s.attempt()
		other.attempt()
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "deleted", []string{"other"}, h.names())
		if want := "archive fewer dependents"; !strings.Contains(s.problem(), want) {
			t.Errorf("problem %q, want %q", s.problem(), want)
		}
	})
}

func TestLogs(t *testing.T) {
	for name, test := range map[string]struct {
		settings policy.ArchiveLogs
		log      string
		deleted  []string
		want     []archive.Log
		problem  string
	}{
		"whole":                   {policy.ArchiveLogs{TailBytes: 100}, "hello\n", []string{"job"}, []archive.Log{{Pod: "job-1", Container: "main", Text: "hello\n"}, {Pod: "job-1", Container: "never", Missing: "the container has not started"}}, ""},
		"the end":                 {policy.ArchiveLogs{TailBytes: 5}, strings.Repeat("x", 100_000) + "hello", []string{"job"}, []archive.Log{{Pod: "job-1", Container: "main", Text: "hello", Truncated: true}, {Pod: "job-1", Container: "never", Missing: "the container has not started"}}, ""},
		"missing":                 {policy.ArchiveLogs{TailBytes: 5}, "", []string{"job"}, []archive.Log{{Pod: "job-1", Container: "main", Missing: "the kubelet does not answer"}, {Pod: "job-1", Container: "never", Missing: "the container has not started"}}, ""},
		"missing, and required":   {policy.ArchiveLogs{TailBytes: 5, Required: true}, "", nil, nil, "log of container main of Pod job-1, which archive.logs.required requires: the kubelet does not answer"},
		"there, and required too": {policy.ArchiveLogs{TailBytes: 5, Required: true}, "hello", []string{"job"}, []archive.Log{{Pod: "job-1", Container: "main", Text: "hello"}, {Pod: "job-1", Container: "never", Missing: "the container has not started"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				s := h.know(h.rule("p", withPods, func(r *policy.Rule) { r.Archive.Logs = &test.settings }), "job")
				h.server.own(h.server.put(pods, "job-1", ran), h.server.objects["Job a/job"])
				if test.log != "" {
					h.server.logs["job-1/main"] = test.log
				}
				s.attempt()
				bubble.Pass(3 * time.Second)
				expect.Equal(t, "deleted", test.deleted, h.names())
				if !strings.Contains(s.problem(), test.problem) {
					t.Errorf("problem %q, want %q", s.problem(), test.problem)
				}
				if test.want != nil {
					expect.Equal(t, "logs", test.want, h.record(h.stores["mem://history"], "job").Logs)
				}
			})
		})
	}
}

// patient is a candidate that waits for its record, also if recording fails.
type patient struct {
	*subject
	changed *atomic.Int32 // how many answers said that its object has changed or is gone
}

func (p patient) Ready() { go p.ask() }

func (p patient) ask() {
	i, _ := p.Intent()
	if o := p.Record(i, p.target, p); o != nil && o.Result != retention.Failed {
		p.changed.Add(1)
	}
}

// TestMissingLogsOfMany: objects of a listing whose records failed are not taken for missing in it.
func TestMissingLogsOfMany(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.server.page = 5
		r := h.rule("p", withPods, func(r *policy.Rule) { r.Archive.Logs = &policy.ArchiveLogs{TailBytes: 5, Required: true} })
		var changed atomic.Int32
		for _, name := range numbered("a", 20) {
			s := h.know(r, name)
			h.server.own(h.server.put(pods, name+"-1", ran), h.server.objects["Job "+name])
			patient{s, &changed}.ask()
		}
		bubble.Pass(10 * time.Second)
		if n := h.server.count("list Job"); n < 2 {
			t.Errorf("%d listings, want one and its retries", n)
		}
		expect.Equal(t, "changed", 0, int(changed.Load()))
	})
}

// TestEveryFieldOfALogIsWritten: the format has no field that Sunset never writes.
func TestEveryFieldOfALogIsWritten(t *testing.T) {
	inBubble(t, func(h *harness) {
		s := h.know(h.rule("p", withPods, func(r *policy.Rule) { r.Archive.Logs = &policy.ArchiveLogs{TailBytes: 5} }), "job")
		h.server.own(h.server.put(pods, "job-1", ran), h.server.objects["Job a/job"])
		h.server.logs["job-1/main"] = "hello world"
		s.attempt()
		bubble.Pass(3 * time.Second)
		logs := h.record(h.stores["mem://history"], "job").Logs
		for i := range reflect.TypeFor[archive.Log]().NumField() {
			if !slices.ContainsFunc(logs, func(l archive.Log) bool { return !reflect.ValueOf(l).Field(i).IsZero() }) {
				t.Errorf("no log has %s", reflect.TypeFor[archive.Log]().Field(i).Name)
			}
		}
	})
}

// TestLogsOfAnyLines: the end of a log is exact, and the API server does not send all of the log.
func TestLogsOfAnyLines(t *testing.T) {
	for name, test := range map[string]struct {
		log  string
		sent int
	}{
		"long lines":  {strings.Repeat(strings.Repeat("x", 199)+"\n", 2000), 40_000},
		"short lines": {strings.Repeat("x\n", 100_000), 40_000},
		"few lines":   {strings.Repeat("x", 99_999) + "\n", 100_000},
		"short":       {"x\ny\n", 10},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				s := h.know(h.rule("p", withPods, func(r *policy.Rule) { r.Archive.Logs = &policy.ArchiveLogs{TailBytes: 10_000} }), "job")
				h.server.own(h.server.put(pods, "job-1", ran), h.server.objects["Job a/job"])
				h.server.logs["job-1/main"] = test.log
				s.attempt()
				bubble.Pass(3 * time.Second)
				log := h.record(h.stores["mem://history"], "job").Logs[0]
				expect.Equal(t, "text", test.log[max(len(test.log)-10_000, 0):], log.Text)
				expect.Equal(t, "truncated", len(test.log) > 10_000, log.Truncated)
				if h.server.sent > test.sent {
					t.Errorf("%d bytes sent, want at most %d", h.server.sent, test.sent)
				}
			})
		})
	}
}

func TestEvents(t *testing.T) {
	events := schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	for name, n := range map[string]int{"of few are requested one by one": 1, "of many are listed": 10} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				r := h.rule("p", func(r *policy.Rule) { r.Archive = &policy.Archive{To: "history", Events: true} })
				for i := range n {
					s := h.know(r, fmt.Sprintf("job-%d", i))
					h.server.put(events, s.target.Name+"-created", fmt.Sprintf(`,"involvedObject":{"uid":%q},"reason":"SuccessfulCreate"`, s.target.UID))
				}
				h.server.put(events, "other", `,"involvedObject":{"uid":"another"}`)
				for _, s := range h.subjects {
					s.attempt()
				}
				bubble.Pass(time.Second)
				expect.Equal(t, "deleted", n, len(h.names()))
				expect.Equal(t, "events", []string{"Event job-0-created"}, kindsOf(t, h.record(h.stores["mem://history"], "job-0").Events))
				expect.Equal(t, "requests", 1, h.server.count("list Event"))
			})
		})
	}
}

// TestEventsAboutASharedDependent: each of its owners has them.
func TestEventsAboutASharedDependent(t *testing.T) {
	events := schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	inBubble(t, func(h *harness) {
		r := h.rule("p", withPods, func(r *policy.Rule) {
			r.Archive.Events, r.Archive.Dependents = true, []schema.GroupKind{podKind, jobs.GroupKind()}
		})
		owner, owned := h.know(r, "owner"), h.know(r, "owned")
		h.server.own(h.server.objects["Job a/owned"], h.server.objects["Job a/owner"])
		h.server.put(events, "created", fmt.Sprintf(`,"involvedObject":{"uid":%q}`, owned.target.UID))
		owner.attempt()
		owned.attempt()
		bubble.Pass(time.Second)
		for _, name := range []string{"owner", "owned"} {
			expect.Equal(t, "Events of "+name, []string{"Event created"}, kindsOf(t, h.record(h.stores["mem://history"], name).Events))
		}
	})
}

func TestRedaction(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("p", func(r *policy.Rule) {
			r.Kind = pods
			r.Archive = &policy.Archive{To: "history", Redact: []string{"spec.containers[*].env[*].value"}}
		})
		s := h.know(r, "one")
		s.set(func() {
			s.target = h.server.put(pods, "one", `,"spec":{"containers":[{"name":"main","env":[{"name":"TOKEN","value":"s3cret"}]}]}`).target()
		})
		s.attempt()
		bubble.Pass(time.Second)
		record := h.record(h.stores["mem://history"], "one")
		if text := string(record.Object); strings.Contains(text, "s3cret") || !strings.Contains(text, `"value":"REDACTED"`) {
			t.Error(text)
		}
		expect.Equal(t, "redacted", []string{"spec.containers[*].env[*].value"}, record.Redacted)
	})
}

func TestSecretsNeedEncryption(t *testing.T) {
	about := func(kind schema.GroupVersionKind, dependents ...schema.GroupKind) func(*policy.Rule) {
		return func(r *policy.Rule) { r.Kind, r.Archive = kind, &policy.Archive{To: "history", Dependents: dependents} }
	}
	for name, rule := range map[string]func(*policy.Rule){
		"of a rule about Secrets": about(secrets), "as dependents": about(jobs, schema.GroupKind{Kind: "Secret"}),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				h.add(h.rule("p", rule), "one")
				bubble.Pass(10 * time.Second)
				expect.Equal(t, "deleted", nil, h.names())
				expect.Equal(t, "reads", 0, h.server.count("get Secret")+h.server.count("list Secret"))
				h.set(func() {
					h.archives[0].Generation = 2
					encrypted(h)
				})
				unencrypted := len(h.stores["mem://history"].segments())
				bubble.Pass(20 * time.Second)
				expect.Equal(t, "deleted from the encrypted archive", []string{"one"}, h.names())
				for _, name := range h.stores["mem://history"].segments()[unencrypted:] {
					if !strings.HasSuffix(name, ".age") {
						t.Errorf("%s is not encrypted", name)
					}
				}
			})
		})
	}
}

func kindsOf(t *testing.T, objects []json.RawMessage) (all []string) {
	t.Helper()
	for _, o := range objects {
		var id struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		expect.NoError(t, json.Unmarshal(o, &id))
		all = append(all, id.Kind+" "+id.Metadata.Name)
	}
	slices.Sort(all)
	return all
}
