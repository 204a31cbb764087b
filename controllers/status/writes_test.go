// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// crowd returns ClusterRetentionPolicy p, and 20 RetentionPolicies of each namespace.
func (w *harness) crowd(namespaces ...string) (all []*policy.Policy) {
	all = []*policy.Policy{policyOf(v1alpha1.Enforce, rule("a"))}
	for _, namespace := range namespaces {
		for i := range 20 {
			all = append(all, &policy.Policy{Namespace: namespace, Name: fmt.Sprintf("%s/r-%02d", namespace, i), UID: types.UID(fmt.Sprint(namespace, i)), Generation: 3, Mode: v1alpha1.Enforce})
		}
	}
	for _, p := range all {
		w.store(p, noStatus)
	}
	return all
}

// writtenOf returns how many policies of a namespace have a status.
func (w *harness) writtenOf(namespace string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, p := range w.server {
		if strings.HasPrefix(name, namespace+"/") && len(p.Status.Conditions) > 0 {
			n++
		}
	}
	return n
}

// slowIn delays writes in namespaces with this prefix.
func slowIn(prefix string, d time.Duration) func(string) time.Duration {
	return func(name string) time.Duration {
		if strings.HasPrefix(name, prefix) {
			return d
		}
		return 10 * time.Millisecond
	}
}

// TestSlowWritesInANamespaceDelayNoOther: a webhook delays the statuses of one namespace by 10 s.
func TestSlowWritesInANamespaceDelayNoOther(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		w.slow = slowIn("bad/", 10*time.Second)
		e := compiledOf(w.crowd("bad", "good")...)
		w.set(func() { w.kinds = []retention.KindState{kindOf(e, time.Now())} })
		w.Use(e)
		bubble.Pass(2 * time.Second)
		expect.Equal(t, "Ready of the cluster policy", true, condition(w.status(), v1alpha1.ConditionReady) != "")
		expect.Equal(t, "written in the good namespace", 20, w.writtenOf("good"))
		expect.Equal(t, "written in the bad namespace", 0, w.writtenOf("bad"))

		bubble.Pass(20 * time.Second) // later changes do not wait either
		w.set(func() { w.preflightErr = errors.New("clock skew") })
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "Ready of the cluster policy", "False Stale", condition(w.status(), v1alpha1.ConditionReady))
		w.set(func() { w.preflightErr = nil })
		bubble.Pass(8 * time.Minute)
		expect.Equal(t, "written in the bad namespace", 20, w.writtenOf("bad"))
	})
}

// TestWritesInANamespaceAreOneAtATime. Only some of many slow namespaces are written at once, and other namespaces do not wait.
func TestWritesInANamespaceAreOneAtATime(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		now, most, inAll, mostInAll := map[string]int{}, 0, 0, 0
		slow := slowIn("bad", 10*time.Second)
		w.slow = func(name string) time.Duration {
			namespace, _, _ := strings.Cut(name, "/")
			count := func(n int) {
				w.set(func() {
					now[namespace] += n
					inAll += n
					most, mostInAll = max(most, now[namespace]), max(mostInAll, inAll)
				})
			}
			count(1)
			d := slow(name)
			time.AfterFunc(d-time.Millisecond, func() { count(-1) })
			return d
		}
		var names []string
		for i := range 80 {
			names = append(names, fmt.Sprintf("bad-%02d", i))
		}
		w.Use(compiledOf(w.crowd(append(names, "good")...)...))
		bubble.Pass(40 * time.Second)
		expect.Equal(t, "Ready of the cluster policy", true, condition(w.status(), v1alpha1.ConditionReady) != "")
		expect.Equal(t, "at once in a namespace", 1, most)
		if mostInAll > 65 {
			t.Errorf("%d writes at once", mostInAll)
		}
	})
}

// TestLastStatusesDoNotWaitForSlowNamespaces, however many there are, and in any alphabetical order.
func TestLastStatusesDoNotWaitForSlowNamespaces(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		ends, last := false, 0
		slow := slowIn("bad", time.Hour)
		w.slow = func(name string) time.Duration {
			w.set(func() {
				if ends && strings.HasPrefix(name, "good/") {
					last++
				}
			})
			return slow(name)
		}
		namespaces := []string{"good"}
		for i := range 12 {
			namespaces = append(namespaces, fmt.Sprintf("bad-%02d", i))
		}
		all := w.crowd(namespaces...)
		w.Use(compiledOf(all...))
		bubble.Pass(5 * time.Second)
		w.removed(3, all[0].Rules[0])
		w.set(func() { w.preflightErr, ends = errors.New("clock skew"), true })
		w.stop()
		expect.Equal(t, "written in the good namespace", 20, last)
		expect.Equal(t, "deleted by the cluster policy", 3, w.status().Deleted)
	})
}

// TestNamespaceThatRecoversIsWrittenAtOnce: one fast write ends the delay.
func TestNamespaceThatRecoversIsWrittenAtOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		end := time.Now().Add(15 * time.Second)
		w.slow = func(string) time.Duration { return max(0, time.Until(end)) }
		w.Use(compiledOf(w.crowd("bad")...))
		bubble.Pass(34 * time.Second) // the write has taken 15 s, and the next one begins 15 s later
		expect.Equal(t, "written", 20, w.writtenOf("bad"))
		expect.Equal(t, "writes", 21, w.patches)
	})
}

// atOnce makes each write take 100 ms. The result returns how many there were at the same time.
func (w *harness) atOnce() (most func() int) {
	now, highest := 0, 0
	w.slow = func(string) time.Duration {
		w.set(func() { now++; highest = max(highest, now) })
		time.AfterFunc(99*time.Millisecond, func() { w.set(func() { now-- }) })
		return 100 * time.Millisecond
	}
	return func() int { return highest }
}

// TestLargeStatusesAreWrittenFewAtATime: each one loads the API server for a long time, and delays other requests.
func TestLargeStatusesAreWrittenFewAtATime(t *testing.T) {
	for name, test := range map[string]struct {
		rules, want int
	}{
		"small": {1, 16},
		"large": {400, 1},
	} {
		runInBubble(t, name, nil, func(t *testing.T, w *harness) {
			most := w.atOnce()
			var all []*policy.Policy
			for i := range 40 {
				all = append(all, team(w, fmt.Sprint("team-", i), v1alpha1.DryRun, test.rules))
			}
			w.Use(compiledOf(all...))
			bubble.Pass(10 * time.Second)
			expect.Equal(t, "at once", test.want, most())
			expect.Equal(t, "written", 1, w.writtenOf("team-39"))
		})
	}
}

// TestClusterPoliciesAreWrittenEightAtATime, because deletions may wait for the statuses of a thousand of them.
func TestClusterPoliciesAreWrittenEightAtATime(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		most := w.atOnce()
		var all []*policy.Policy
		for i := range 200 {
			p := &policy.Policy{Name: fmt.Sprintf("p-%03d", i), UID: types.UID(fmt.Sprint("uid-", i)), Generation: 3, Mode: v1alpha1.DryRun}
			w.store(p, noStatus)
			all = append(all, p)
		}
		w.Use(compiledOf(all...))
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "at once", 8, most())
		expect.Equal(t, "generation of the last", 3, w.statusOf("p-199").ObservedGeneration)
	})
}

// TestSmallStatusIsWrittenBeforeLargeOnes of policies that were edited earlier.
func TestSmallStatusIsWrittenBeforeLargeOnes(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		var all []*policy.Policy
		for i := range 30 {
			all = append(all, team(w, fmt.Sprint("team-", i), v1alpha1.DryRun, 400))
		}
		all = append(all, team(w, "z", v1alpha1.DryRun, 1))
		w.Use(compiledOf(all...))
		bubble.Pass(time.Minute)
		w.set(func() { w.slow = func(string) time.Duration { return 300 * time.Millisecond } })
		for i, p := range all {
			edited := *p
			edited.Generation++
			all[i] = &edited
		}
		w.Use(compiledOf(all...))
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "generation in status", 4, w.statusOf("z/r").ObservedGeneration)
		bubble.Pass(time.Minute)
		expect.Equal(t, "generation of a large one", 4, w.statusOf("team-9/r").ObservedGeneration)
	})
}

// team stores a policy without a status in a namespace, with a number of rules.
func team(w *harness, namespace string, mode v1alpha1.Mode, rules int) *policy.Policy {
	p := &policy.Policy{Namespace: namespace, Name: namespace + "/r", UID: types.UID(namespace), Generation: 3, Mode: mode}
	for k := range rules {
		p.Rules = append(p.Rules, &policy.Rule{ID: policy.RuleID{Policy: p.Name, Rule: fmt.Sprint("r", k)}, Namespace: namespace, Kind: fixture.Jobs, Mode: p.Mode})
	}
	w.store(p, noStatus)
	return p
}

// TestNamespaceThatWaitedLongestIsWrittenFirst, and not the first one in alphabetical order.
func TestNamespaceThatWaitedLongestIsWrittenFirst(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		var order []string
		w.slow = func(name string) time.Duration {
			namespace, _, _ := strings.Cut(name, "/")
			w.set(func() { order = append(order, namespace) })
			return 100 * time.Millisecond
		}
		var busy []string
		for i := range 30 {
			busy = append(busy, fmt.Sprintf("busy-%02d", i))
		}
		w.Use(compiledOf(w.crowd("quiet")...))
		bubble.Pass(10 * time.Second)
		w.Use(compiledOf(w.crowd(append(busy, "quiet")...)...))
		bubble.Pass(time.Minute)
		w.set(func() { w.preflightErr, order = errors.New("clock skew"), nil })
		bubble.Pass(time.Minute)
		if at := slices.Index(order, "quiet"); at < 0 || at >= 16+1 {
			t.Errorf("the quiet namespace comes after %d others", at)
		}
	})
}
