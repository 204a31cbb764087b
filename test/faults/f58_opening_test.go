// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// maxInFlight is the default number of concurrent DELETE requests, which may arrive in any order.
const maxInFlight = 16

// timed deletes ConfigMaps of an environment at the time in their data.
func timed(env string) string {
	return strings.ReplaceAll(labelled(env, "Enforce", "0s"), "object.metadata.creationTimestamp", "timestamp(object.data.at)")
}

// dueAt makes a ConfigMap of timed due at a time.
func dueAt(at time.Time) func(*corev1.ConfigMap) {
	return func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"at": at.UTC().Format(time.RFC3339Nano)} }
}

// opensAt is a window that opens each day at the minute of a time.
func opensAt(at time.Time, lasts time.Duration) string {
	return fmt.Sprintf("{schedule: %q, duration: %s}", at.UTC().Format("4 15 * * *"), lasts)
}

// order returns the index of each deleted object in its name, in the order of the DELETEs.
func order(t *testing.T, deletes []proxy.Entry) (indexes []int) {
	t.Helper()
	for _, e := range deletes {
		var i int
		if _, err := fmt.Sscanf(e.Name, "cm-%d", &i); err != nil {
			t.Fatal(err)
		}
		indexes = append(indexes, i)
	}
	return indexes
}

// TestF58TheLeaderIsKilledAfterAFreeze kills the leader while it deletes what has become due in a freeze of all policies. The other
// replica continues, and deletes nothing before its time.
func TestF58TheLeaderIsKilledAfterAFreeze(t *testing.T) {
	scenario.Short(t)
	const number, lasts = 40, 10 * time.Second
	s := scenario.New(t, scenario.Options{})
	leads, _ := pair(s, scenario.Start{Failover: true})
	armed := leads.Proxy.Arm(moment{"delete", "configmaps", 10, true}.fault(leads))
	s.Expect(armed)
	from := time.Now().Truncate(time.Second).Add(time.Second)
	s.Policy("audit", fmt.Sprintf("freezes: [{from: %q, to: %q, allPolicies: true}]\n", from.UTC().Format(time.RFC3339), from.Add(lasts).UTC().Format(time.RFC3339)))
	p := s.Policy("previews", timed("preview"))
	for i := range number {
		s.ConfigMap(fmt.Sprintf("cm-%d", i), preview, dueAt(from.Add(time.Duration(i)*lasts/number)))
	}
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		c := scenario.Condition(status, v1alpha1.ConditionEnforcing)
		return cluster.Want(c.Reason == "Frozen" || time.Since(from) > lasts, "Enforcing is %s", c.Reason)
	})
	s.Eventually(func() error { return left(s, preview, 0) })
	armed.Lift()
	s.Calm()
}

// TestF58LimitsApplyAtOpenings has more deferred objects than limits allow in one opening. The soonest due are deleted first, and the others
// at the next opening, before those that became due later. A window opens in each minute with an even number.
func TestF58LimitsApplyAtOpenings(t *testing.T) {
	scenario.Long(t)
	const limit, first, second = 20, 30, 10
	s := scenario.New(t, scenario.Options{})
	r := s.Sunset(scenario.Start{})
	closed := time.Now().Truncate(2 * time.Minute).Add(3 * time.Minute)
	p := s.Policy("previews", timed("preview")+fmt.Sprintf("limits: {maxDeletions: %d, window: 1m}\nwindows: [{schedule: \"*/2 * * * *\", duration: 1m}]\n", limit))
	for i := range first + second {
		due := closed.Add(time.Duration(i) * 2 * time.Second)
		if i >= first {
			due = due.Add(time.Minute) // in the next closed time
		}
		s.ConfigMap(fmt.Sprintf("cm-%d", i), preview, dueAt(due))
	}
	opened := closed.Add(3 * time.Minute) // for the second time
	time.Sleep(time.Until(opened))
	byLedger(s, p, 2*limit)
	s.Calm()
	before := slices.IndexFunc(r.Deletes(), func(e proxy.Entry) bool { return !e.At.Before(opened) })
	between := 0
	switch {
	case before < 0, before > limit:
		t.Errorf("%d objects were deleted before the second opening, want %d", before, limit)
	case before < limit: // the machine is slow, so the second opening begins with the first objects
		t.Logf("%d objects were deleted before the second opening", before)
		between = maxInFlight
	case strings.Contains(r.Log(), "deletions in a namespace are throttled"): // the machine is slow, and the order is not exact
		between = maxInFlight
	}
	for n, i := range order(t, r.Deletes()) {
		if n/limit != i/limit && max(n-i, i-n) > between {
			t.Errorf("the object that is due as number %d was deleted as number %d", i, n)
		}
	}
}

// TestF58ACrowdAtAnOpening defers the crowd of F36, with due times within two and a half minutes before a window opens. It is deleted in
// the order of the due times, no object before its time in the spread, and other objects do not wait for it. How late the objects are
// depends on the machine, and is only logged: on a slow one, the window may open before all policies are in force.
func TestF58ACrowdAtAnOpening(t *testing.T) {
	scenario.Long(t)
	const (
		gap  = 4 * time.Minute  // from the closing of the first window; it is spread over as long
		lead = 90 * time.Second // of the gap: to create everything
	)
	s := scenario.New(t, scenario.Options{Alone: true, Own: true})
	closed := time.Now().Truncate(time.Minute)
	opens := closed.Add(gap)
	c := &crowd{Scenario: s, narrow: sort{80, 100}, wide: sort{20, 100}}
	c.more = fmt.Sprintf("windows: [%s, %s]\n", opensAt(closed.Add(-time.Minute), time.Minute), opensAt(opens, 12*time.Hour))
	c.due = func(share float64) time.Time { return closed.Add(lead + time.Duration(share*float64(gap-lead))) }
	s.Policy("few", labelled("few", "Enforce", "0s"))
	c.assemble(100)
	t.Logf("created in %s", time.Since(closed).Round(time.Second))
	places := c.places(closed, opens)
	r := s.Sunset(scenario.Start{Flags: []string{"--leader-elect=false"}})
	c.settle(func(status v1alpha1.RetentionPolicyStatus, each int64) bool {
		return status.Matched == each && status.ObservedGeneration > 0 || time.Now().After(opens)
	})

	time.Sleep(time.Until(opens))
	few := c.few()
	c.drained(r, opens, few)
	deletes := placed(r.Deletes(), places)
	spread := inSpread(deletes, places)
	t.Logf("%d objects are late by %s at the median, %s at p99 and %s at most; at most %d in a second; out of order by %s at most",
		len(spread.late), at(spread.late, 50), at(spread.late, 99), at(spread.late, 100), spread.most, spread.disorder)
	if len(spread.late) != len(places) || spread.late[0] < 0 {
		t.Errorf("%d of %d objects were deleted, the first %s after its time", len(spread.late), len(places), at(spread.late, 0))
	}
	if n := at(preceded(deletes, places), 90); n > maxInFlight { // retries may be later
		t.Errorf("one of ten objects was deleted after %d objects of its policy with a later time", n)
	}
	c.counts(r.Deletes(), few)
	expectPreconditions(t, r.Deletes())
	s.Calm()
	s.End()
	if n := s.Report().Removed; n != c.size()+len(few) {
		t.Errorf("%d removals were checked, want %d", n, c.size()+len(few))
	}
}

// places returns when each object of a crowd without limits is deleted, by namespace and name. The spread is as long as the gap from the
// closing to the opening, and both are mapped to it. Afterwards, objects are deleted when they are due.
func (c *crowd) places(closed, opens time.Time) map[string]time.Time {
	c.Helper()
	all := &corev1.ConfigMapList{}
	if err := c.List(c.Context(), all, client.MatchingLabels{inCrowd: ""}); err != nil {
		c.Fatal(err)
	}
	places := map[string]time.Time{}
	for _, cm := range all.Items {
		var wide int
		if _, err := fmt.Sscanf(cm.Labels["env"], "wide-%d", &wide); err == nil && limitedTo(wide) != "" {
			continue
		}
		due, err := time.Parse(time.RFC3339Nano, cm.Data["at"])
		if err != nil {
			c.Fatal(err)
		}
		if due.Before(cm.CreationTimestamp.Time) {
			due = cm.CreationTimestamp.Time
		}
		places[cm.Namespace+"/"+cm.Name] = due
		if gap := opens.Sub(closed); due.Before(opens.Add(gap)) {
			places[cm.Namespace+"/"+cm.Name] = opens.Add(due.Sub(closed) / 2)
		}
	}
	return places
}

// spreading is how deletions were spread.
type spreading struct {
	late     []time.Duration // after the time in the spread, in order
	most     int             // in a second
	disorder time.Duration   // by how much an object with an earlier time was deleted after one with a later time, at the maximum
}

// placed returns the first DELETE of each object with a place that the API server did not refuse. Sunset repeats one without an answer.
func placed(deletes []proxy.Entry, places map[string]time.Time) (first []proxy.Entry) {
	known := map[string]bool{}
	for _, e := range deletes {
		name := e.Namespace + "/" + e.Name
		if _, ok := places[name]; ok && e.Answered < 300 && !known[name] {
			known[name], first = true, append(first, e)
		}
	}
	return first
}

// inSpread returns how objects with a place were deleted.
func inSpread(deletes []proxy.Entry, places map[string]time.Time) (s spreading) {
	seconds := map[int64]int{}
	var latest time.Time
	for _, e := range deletes {
		place := places[e.Namespace+"/"+e.Name]
		s.late = append(s.late, e.At.Sub(place).Round(time.Millisecond))
		seconds[e.At.Unix()]++
		s.most = max(s.most, seconds[e.At.Unix()])
		s.disorder = max(s.disorder, latest.Sub(place).Round(time.Millisecond))
		if place.After(latest) {
			latest = place
		}
	}
	slices.Sort(s.late)
	return s
}

// preceded returns for each object of a narrow policy how many of its objects with a later time were deleted before it, in order.
func preceded(deletes []proxy.Entry, places map[string]time.Time) (all []int) {
	before := map[string][]time.Time{} // by namespace
	for _, e := range deletes {
		if !strings.HasPrefix(e.Name, "narrow-") {
			continue
		}
		place, by := places[e.Namespace+"/"+e.Name], 0
		for _, other := range before[e.Namespace] {
			if other.After(place) {
				by++
			}
		}
		all = append(all, by)
		before[e.Namespace] = append(before[e.Namespace], place)
	}
	slices.Sort(all)
	return all
}

// at returns a percentile of sorted values; zero for none.
func at[T any](sorted []T, percent int) (value T) {
	if len(sorted) == 0 {
		return value
	}
	return sorted[(len(sorted)-1)*percent/100]
}
