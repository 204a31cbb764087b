// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// withLogs makes a rule archive the Pods of Jobs, and their logs.
func withLogs(tail int64, required bool) func(*policy.Rule) {
	return func(r *policy.Rule) {
		withPods(r)
		r.Archive.Logs = &policy.ArchiveLogs{TailBytes: tail, Required: required}
	}
}

// knowJob adds a Job with a Pod that ran.
func (h *harness) knowJob(r *policy.Rule, namespace, name string) *subject {
	s := h.know(r, namespace+"/"+name)
	h.server.own(h.server.put(pods, namespace+"/"+name+"-x", ran), h.server.objects["Job "+namespace+"/"+name])
	return s
}

func attempt(all []*subject) {
	for _, s := range all {
		s.attempt()
	}
}

// TestMemoryIsBounded has logs of 90 MiB. The heap of the process is measured at each request for one.
func TestMemoryIsBounded(t *testing.T) {
	inBubble(t, func(h *harness) {
		text, most, reads := strings.Repeat("x", 1<<20), uint64(0), 0
		var all []*subject
		r := h.rule("p", withLogs(1<<20, true))
		for i := range 90 {
			all = append(all, h.knowJob(r, "a", fmt.Sprintf("job-%d", i)))
			h.server.logs[fmt.Sprintf("job-%d-x/main", i)] = text
		}
		before := heap()
		h.server.refuse = func(verb, _, _ string) error {
			if verb == "log" {
				reads++
				now := heap()
				most = max(most, now-min(before, now))
			}
			return nil
		}
		attempt(all)
		bubble.Pass(time.Minute)
		expect.Equal(t, "deleted", 90, len(h.names()))
		if most > 60<<20 || reads > 200 {
			t.Errorf("%d MiB, %d logs read", most>>20, reads)
		}
	})
}

// TestSmallObjectsAfterLargeOnes: small objects do not hold the buffers of large ones, which are more than what they count as.
func TestSmallObjectsAfterLargeOnes(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would free the buffers
	inBubble(t, func(h *harness) {
		h.server.managed = `,"annotations":{"text":"` + strings.Repeat("x", 60<<10) + `"}`
		h.add(h.rule("large"), numbered("large", 250)...)
		bubble.Pass(10 * time.Second)
		h.server.managed = ""
		var used uint64
		h.server.refuse = func(verb, kind, _ string) error {
			if verb == "list" && kind == "Pod" {
				used = max(used, heap())
			}
			return nil
		}
		h.add(h.rule("small", withPods), numbered("small", 500)...)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted", 750, len(h.names()))
		heap() // the first collection of garbage leaves the buffers
		if used -= min(used, heap()); used > 8<<20 {
			t.Errorf("500 small objects have %d MiB", used>>20)
		}
	})
}

// heap is how many bytes of the heap are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestLogThatIsLargerThanTheShareOfANamespace(t *testing.T) {
	inBubble(t, func(h *harness) {
		r := h.rule("p", withLogs(16<<20, true))
		all := []*subject{h.knowJob(r, "a", "one"), h.knowJob(r, "a", "two"), h.knowJob(r, "b", "three")}
		for _, name := range []string{"one", "two", "three"} {
			h.server.logs[name+"-x/main"] = strings.Repeat("x", 17<<20)
		}
		attempt(all)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted", []string{"one", "three", "two"}, h.names())
		log := h.record(h.stores["mem://history"], "one").Logs[0]
		expect.Equal(t, "bytes of the log", 16<<20, len(log.Text))
		expect.Equal(t, "truncated", true, log.Truncated)
	})
}

// TestSlowNamespaceDelaysNoOther has a namespace with many rules whose logs cannot be read.
func TestSlowNamespaceDelaysNoOther(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.server.hang = func(verb, _, namespace string) bool { return verb == "log" && namespace == "slow" }
		var all []*subject
		for i := range 40 {
			r := h.rule(fmt.Sprintf("slow-%d", i), withLogs(int64(1000+i), true))
			for j := range 3 {
				all = append(all, h.knowJob(r, "slow", fmt.Sprintf("job-%d-%d", i, j)))
			}
		}
		attempt(all)
		bubble.Pass(5 * time.Second)
		good := h.knowJob(h.rule("good", withLogs(100, true)), "good", "job")
		h.server.logs["job-x/main"] = "hello"
		good.attempt()
		bubble.Pass(time.Second)
		expect.Equal(t, "deleted", []string{"job"}, h.names())
	})
}

func TestRulesWithEqualSettingsAreRecordedTogether(t *testing.T) {
	inBubble(t, func(h *harness) {
		for i := range 12 {
			h.add(h.rule(fmt.Sprintf("p-%d", i)), baseNames(numbered(fmt.Sprintf("p%d", i), 10))...)
		}
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "deleted", 120, len(h.names()))
		expect.Equal(t, "single reads", 0, h.server.count("get Job"))
		expect.Equal(t, "listings", 1, h.server.count("list Job"))
	})
}

// TestSegmentThatTheStoreNeverTakes has one record that the store refuses, among others.
func TestSegmentThatTheStoreNeverTakes(t *testing.T) {
	inBubble(t, func(h *harness) {
		b := h.stores["mem://history"]
		b.set(func() { b.poison = "job-7" })
		r := h.rule("p")
		var all []*subject
		for i := range 60 {
			all = append(all, h.know(r, fmt.Sprintf("job-%d", i)))
		}
		attempt(all)
		bubble.Pass(2 * time.Minute)
		expect.Equal(t, "deleted", 59, len(h.names()))
		if want := "the store refuses the record: AccessDenied"; !strings.Contains(all[7].problem(), want) {
			t.Errorf("problem %q, want %q", all[7].problem(), want)
		}
		expect.Equal(t, "ready", "True Available", h.condition("history", v1alpha1.ArchiveReady))
		for i := range 20 {
			h.add(r, fmt.Sprintf("later-%d", i))
			bubble.Pass(time.Second)
			expect.Equal(t, "deleted", 60+i, len(h.names()))
		}
		b.set(func() { b.poison = "" })
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "deleted in the end", 80, len(h.names()))
	})
}

// TestObjectThatChangesAllTheTime changes whenever it would be deleted.
func TestObjectThatChangesAllTheTime(t *testing.T) {
	inBubble(t, func(h *harness) {
		h.answer = func(s *subject) *retention.Outcome {
			s.target = h.server.put(jobs, s.target.Name, `,"spec":{}`).target()
			return &retention.Outcome{Result: retention.Changed}
		}
		s := h.add(h.rule("p"), "one")[0]
		for range 600 {
			bubble.Pass(time.Second)
			s.attempt()
		}
		if n := len(h.stores["mem://history"].segments()); n < 3 || n > 6 {
			t.Errorf("%d records in 10 minutes", n)
		}
		if want := "times and not deleted"; !strings.Contains(s.problem(), want) {
			t.Errorf("problem %q, want %q", s.problem(), want)
		}
		h.set(func() { h.answer = nil })
		bubble.Pass(15 * time.Minute)
		expect.Equal(t, "deleted", []string{"one"}, h.names())
	})
}

// late is a subject whose turn to be deleted comes a while after its record, because of rate limits.
type late struct {
	*subject
	turn time.Duration
}

// Ready implements retention.Candidate.
func (l late) Ready() { time.AfterFunc(l.turn, l.attempt) }

func (l late) attempt() {
	i, ok := l.Intent()
	if !ok {
		return
	}
	if receipt, ok := l.Lookup(i, l.target); ok {
		l.delete(i, receipt)
	} else if l.Record(i, l.target, l) != nil {
		time.AfterFunc(retryAfter, l.attempt)
	}
}

// TestReceiptsExpireBeforeTheTurnOfTheirObjects: each object is deleted in the end, and is recorded a few times until then.
func TestReceiptsExpireBeforeTheTurnOfTheirObjects(t *testing.T) {
	withEvents := func(r *policy.Rule) { r.Archive.Events = true }
	for name, test := range map[string]struct {
		change        func(*policy.Rule)
		turn, deleted time.Duration
		records       int
	}{
		"before the receipt expires":                    {withEvents, 50 * time.Second, time.Minute, 1},
		"after a minute":                                {withEvents, 100 * time.Second, 4 * time.Minute, 2},
		"after half an hour":                            {withEvents, 30 * time.Minute, 4 * time.Hour, 6},
		"after hours, with a record of the object only": {func(*policy.Rule) {}, 5 * time.Hour, 25 * time.Hour, 4},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(h *harness) {
				late{h.know(h.rule("p", test.change), "one"), test.turn}.attempt()
				bubble.Pass(test.deleted)
				expect.Equal(t, "deleted", []string{"one"}, h.names())
				expect.Equal(t, "records", test.records, len(h.stores["mem://history"].segments()))
			})
		})
	}
}
