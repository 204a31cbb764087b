// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// configured is everything that affects decisions about the Jobs of team-a: two policies, the namespace, its quota, and its
// override of p.
type configured struct {
	p, q     ruled
	ci, held bool
	override string // of p: a TTL, suspend: true, or empty
	quota    int    // -1 for none
}

// ruled is a ClusterRetentionPolicy. It does not exist if its mode is empty.
type ruled struct {
	mode    string
	hours   int
	onlyCI  bool
	byQuota bool // it deletes the Jobs beyond the quota, and has no TTL
}

func (r ruled) spec() string {
	text := spec(r.mode, fmt.Sprint(r.hours, "h"))
	if r.byQuota {
		text = strings.Replace(text, fmt.Sprintf("ttl: %dh", r.hours), "capacity: {percentOfQuota: 100}", 1)
	}
	if r.onlyCI {
		text = strings.Replace(text, "rules", "namespaceSelector: {matchLabels: {tier: ci}}, rules", 1)
	}
	return text
}

func (r ruled) hasSay(c configured) bool {
	return (r.mode == "Enforce" || r.mode == "Suspend") && (c.ci || !r.onlyCI)
}

// lets reports whether the policy allows the deletion of the nth youngest object when that is this many hours old.
func (r ruled) lets(c configured, n int, hours float64) bool {
	if r.byQuota {
		return c.quota >= 0 && n >= c.quota
	}
	return hours >= float64(r.hours)
}

// deletes is the naive model: it reports whether the nth youngest object is deleted once more time has passed. All policies
// that apply must agree.
func (c configured) deletes(age time.Duration, n int, after time.Duration) bool {
	hours := (age + after).Hours()
	p, q := c.p.hasSay(c), c.q.hasSay(c)
	switch {
	case c.held, !p && !q, p && c.p.mode == "Suspend", q && c.q.mode == "Suspend", p && c.override == "suspend: true":
		return false
	case p && c.override == "ttl: 250h" && !c.p.byQuota && hours < 250:
		return false
	case p && q && c.p.byQuota:
		return c.q.lets(c, n, hours) // a capacity does not keep objects from other rules, and waits for them
	}
	return (!p || c.p.lets(c, n, hours)) && (!q || c.q.lets(c, n, hours))
}

// apply changes on the server what differs from was.
func (c configured) apply(s *server, was *configured) {
	for name, r := range map[string][2]ruled{"p": {was.p, c.p}, "q": {was.q, c.q}} {
		switch {
		case r[0] == r[1]:
		case r[1].mode == "":
			s.removePolicy(name)
		default:
			s.policy(name, r[1].spec())
		}
	}
	if c.ci != was.ci {
		labels := map[string]string{}
		if c.ci {
			labels["tier"] = "ci"
		}
		s.namespace("team-a", labels)
	}
	if c.held != was.held {
		s.hold("team-a", map[bool]string{true: "true"}[c.held])
	}
	switch {
	case c.override == was.override:
	case c.override == "":
		s.removePolicy("team-a/own")
	default:
		s.policy("team-a/own", "{mode: Enforce, overrides: [{policy: p, "+c.override+"}]}")
	}
	switch {
	case c.quota == was.quota:
	case c.quota < 0:
		s.removeQuota("team-a/q")
	default:
		s.quota("team-a/q", hard(fmt.Sprint("count/jobs.batch=", c.quota)))
	}
}

// change returns the configuration with one part at random.
func (c configured) change(r *rand.Rand) configured {
	redraw := func(p *ruled) {
		switch r.IntN(4) {
		case 0, 1:
			p.mode = []string{"", "DryRun", "Suspend", "Enforce", "Enforce"}[r.IntN(5)]
		case 2:
			p.hours = 1 + r.IntN(300)
		default:
			p.onlyCI = !p.onlyCI
		}
	}
	switch r.IntN(7) {
	case 0, 1:
		redraw(&c.p)
	case 2:
		redraw(&c.q)
	case 3:
		c.ci = !c.ci
	case 4:
		c.held = !c.held
	case 5:
		c.override = []string{"", "suspend: true", "ttl: 250h"}[r.IntN(3)]
	default:
		c.quota = r.IntN(31) - 1
	}
	if c.p.mode == "" || c.p.byQuota {
		c.override = "" // an override would be invalid, or have no effect
	}
	return c
}

func drawn(r *rand.Rand) configured {
	c := configured{p: ruled{mode: "Enforce", hours: 1 + r.IntN(300), byQuota: r.IntN(4) == 0}, q: ruled{hours: 1 + r.IntN(300)}, quota: -1}
	for range 6 {
		c = c.change(r)
	}
	return c
}

// started returns a reconciler with all policies counted and in force.
func (c configured) started(t *testing.T) *harness {
	s := newServer()
	s.quota("team-a/other", hard("pods=5")) // so that quotas are known
	c.apply(s, &configured{quota: -1})
	l := newHarness(t, s)
	l.allowed("team-a")
	for _, p := range l.snapshot().Policies() {
		l.counted(p.Name)
	}
	return l
}

// reported writes the counts of a leader to the statuses of policies.
func (l *harness) reported(all objects) {
	for _, p := range l.snapshot().Policies() {
		status := all.enforced(l, p.Name)
		status.Previews[0].ObservedTime = status.Enforced.ObservedTime
		if p.Mode != v1alpha1.Enforce {
			status.Enforced = nil
		}
		l.report(p.Name, status)
	}
}

// waits returns the largest count of pending objects among some policies; -1 if none waits.
func (all objects) waits(l *harness, policies ...*policy.Policy) int64 {
	most := int64(-1)
	for _, p := range policies {
		switch b := all.count(l, p.Name); {
		case p.Gate == nil:
		case p.Gate.Recount != nil:
			most = max(most, p.Gate.Recount.More(b, nil).Week)
		default:
			most = max(most, b.Week)
		}
	}
	return most
}

// agree fails if the rules in force and the model disagree about a deletion.
func (c configured) agree(l *harness, all objects, story string) {
	l.t.Helper()
	subjects, evaluations := all.rulings(l, l.snapshot())
	for n, age := range all {
		v, _ := policy.Decide(subjects[n], evaluations[n], l.clock.Now())
		if want := c.deletes(age, n, 0); (v.Action == policy.Delete) != want {
			l.t.Fatalf("%s: object %d, %s old: the model deletes it: %v, the rules say %v", story, n, age, want, v)
		}
	}
}

// TestWhateverAChangeMakesDueIsCounted compares random changes with a model. Either a running leader observes the change, or
// the next one. The model decides about each object under both configurations at the same moment. Objects that become due only
// because time passes are never counted.
func TestWhateverAChangeMakesDueIsCounted(t *testing.T) {
	all := make(objects, 30) // the nth youngest
	for i := range all {
		all[i] = time.Duration(i)*11*time.Hour + time.Hour/2
	}
	counted := 0
	for seed := range uint64(700) {
		r := rand.New(rand.NewPCG(seed, 0))
		was := drawn(r)
		is := was.change(r)
		restarts, down := r.IntN(2) == 0, time.Duration(0)
		if r.IntN(3) == 0 {
			down = time.Duration(r.IntN(400)) * time.Hour
		}
		story := fmt.Sprintf("seed %d: from %+v to %+v, restart %v after %s", seed, was, is, restarts, down)
		l := was.started(t)
		next := func() {
			if restarts {
				l = l.restart()
			}
			l.refresh()
			l.allowed("team-a")
		}
		l.reported(all)
		l.later(down)
		now := all.older(down)
		next()
		if n := now.waits(l, l.snapshot().Policies()...); n > 0 || n == 0 && !restarts {
			t.Fatalf("%s: %d wait before anything has changed", story, n)
		}
		for _, p := range l.snapshot().Policies() {
			l.counted(p.Name)
		}
		was.agree(l, now, story)
		l.later(3 * time.Second)
		l.reported(now)
		is.apply(l.server, &was)
		next()

		var atOnce, inAWeek, newlyDue int64
		for n, age := range now {
			soon := is.deletes(age, n, 0) && !was.deletes(age, n, 0)
			later := is.deletes(age, n, policy.Week) && !was.deletes(age, n, policy.Week)
			for count, is := range map[*int64]bool{&atOnce: soon, &inAWeek: later, &newlyDue: soon || later} {
				if is {
					*count++
				}
			}
		}
		if restarts {
			newlyDue = max(atOnce, inAWeek) // the previous leader has left no more than two numbers
		}
		if is.previewed(was) {
			continue
		}
		if n := now.waits(l, l.snapshot().Policies()...); newlyDue > max(n, 0) {
			t.Fatalf("%s: %d objects are newly due within 7 days, and %d wait", story, newlyDue, n)
		}
		if newlyDue > 0 {
			counted++
		}
		page, evaluations := now.rulings(l, l.snapshot())
		for n, age := range now {
			if v, _ := policy.Decide(page[n], evaluations[n], l.clock.Now()); v.Action == policy.Delete && !was.deletes(age, n, 3*time.Second) {
				t.Fatalf("%s: object %d, %s old, is deleted, and was not deleted before", story, n, age)
			}
		}
	}
	if counted < 20 {
		t.Errorf("only %d changes made anything due", counted)
	}
}

// previewed reports whether a policy becomes enforced that was suspended, or counted as a dry run: this needs no approval.
func (c configured) previewed(was configured) bool {
	comes := func(was, is ruled) bool {
		same := is
		same.mode = was.mode
		return was == same && is.mode == "Enforce" && (was.mode == "DryRun" || was.mode == "Suspend")
	}
	return comes(was.p, c.p) || comes(was.q, c.q)
}

// TestDryRunIsCountedAgainAfterOtherChanges enforces a dry run together with a random change, or right after it. It compares
// the result with a model of what the dry run would have deleted without the change, as counted. Further due objects wait, also
// if the change is made while no leader runs.
func TestDryRunIsCountedAgainAfterOtherChanges(t *testing.T) {
	all := make(objects, 30)
	for i := range all {
		all[i] = time.Duration(i)*11*time.Hour + time.Hour/2
	}
	freed, unchanged := map[bool]int{}, map[bool]int{} // by whether the leader changes
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		was := drawn(r)
		was.p.mode, was.p.byQuota = "DryRun", false // a capacity is not counted before all quotas have been read
		changed := was.change(r)
		if p := was.p; changed.p != p {
			changed.p = p // another version is counted anyway
		}
		is := changed
		is.p.mode = "Enforce"
		counted := was
		counted.p.mode = "Enforce"
		first, recounted, restarts := r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(2) == 0
		story := fmt.Sprintf("seed %d: from %+v to %+v, the change first %v, recounted %v, restart %v", seed, was, is, first, first && recounted, restarts)
		l := was.started(t)
		l.reported(all)
		l.later(3 * time.Second)
		before := was
		restart := func() {
			if restarts {
				l, restarts = l.restart(), false
			}
		}
		restarted := restarts
		if first {
			changed.apply(l.server, &was)
			restart()
			l.refresh()
			l.allowed("team-a")
			if recounted {
				l.counted("p")
				counted = is // as a dry run of the configuration in force
			}
			before = changed
			l.later(3 * time.Second)
		}
		is.apply(l.server, &before)
		restart()
		l.refresh()
		l.allowed("team-a")

		went := func(n int, age, later time.Duration) bool {
			return was.deletes(age, n, later) || counted.deletes(age, n, later)
		}
		var atOnce, inAWeek, newlyDue int64
		for n, age := range all {
			soon, later := is.deletes(age, n, 0) && !went(n, age, 0), is.deletes(age, n, policy.Week) && !went(n, age, policy.Week)
			for count, is := range map[*int64]bool{&atOnce: soon, &inAWeek: later, &newlyDue: soon || later} {
				if is {
					*count++
				}
			}
		}
		if restarted {
			newlyDue = max(atOnce, inAWeek) // the previous leader has left no more than two numbers
		}
		waits := max(0, all.waits(l, l.snapshot().Policies()...))
		switch {
		case newlyDue > waits:
			t.Fatalf("%s: %d objects are due that were not counted, and %d wait", story, newlyDue, waits)
		case newlyDue > 0:
			freed[restarted]++
		case is == counted:
			unchanged[restarted]++
			if waits := all.waits(l, l.named("p")); waits > 0 {
				t.Fatalf("%s: %d objects wait although they were counted", story, waits)
			}
		}
		page, evaluations := all.rulings(l, l.snapshot())
		for n, age := range all {
			if v, _ := policy.Decide(page[n], evaluations[n], l.clock.Now()); v.Action == policy.Delete && !went(n, age, 3*time.Second) {
				t.Fatalf("%s: object %d, %s old, is deleted, and was not counted", story, n, age)
			}
		}
	}
	for _, restarted := range []bool{true, false} {
		if freed[restarted] < 20 || unchanged[restarted] < 20 {
			t.Errorf("restart %v: %d changes made anything due, and %d changed nothing", restarted, freed[restarted], unchanged[restarted])
		}
	}
}
