package day_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	// lag is how long the old rules may count after new ones were written: until they are published, and what was sent before
	// has arrived.
	lag = 2 * time.Second
	// most is how wrong a clock is at most; of two processes, one that marks and one that deletes, each is.
	most = time.Second
	// settled is how long nothing may have happened that concerns an object before it must be as it should.
	settled = 75 * time.Second
)

// model is what ought to happen, in the simplest words there are: it looks at everything each time, and knows no timer, index,
// CEL or queue. The server asks it, with the lock.
type model struct {
	*testing.T
	faults int
	plans  []dated
	things func(schema.GroupVersionKind) []*thing
	open   func() int // entries of the ledger of Snapshots

	up        time.Time // since when some process has seen everything; zero while none does
	disturbed time.Time // when a watch, a request or preflight last was in trouble
	doubted   time.Time // since when preflight says no; zero while it does not
	buried    []*thing  // what went lately: it may have been taken for alive a moment ago

	spent    []time.Time // DELETEs of Snapshots
	deleted  map[string]int
	late     map[string]time.Duration // how late the latest went; what waits for others does not count
	remarked int                      // marks that were made again or removed
	taken    []time.Time              // Snapshots that users deleted: a ledger may count them too
}

// dated is a plan and since when it is wanted.
type dated struct {
	plan
	mark string // of its rule about Previews
	at   time.Time
}

func (m *model) fault(format string, args ...any) {
	m.Helper()
	if m.faults++; m.faults <= 10 {
		m.Errorf(clock(time.Now())+": "+format, args...)
	}
}

func (m *model) plan() plan { return m.plans[len(m.plans)-1].plan }

// markOf is the mark of a Preview that counts by now; zero for none.
func (m *model) markOf(o *thing) time.Time {
	return policy.ParseMarks(o.marks)[m.plans[len(m.plans)-1].mark]
}

// planned is since when the plan of now is wanted.
func (m *model) planned() time.Time { return m.plans[len(m.plans)-1].at }

// removed is told of a DELETE that removes a thing, right before.
func (m *model) removed(p *process, o *thing) {
	now := time.Now()
	m.deleted[o.kind.Kind]++
	if !m.doubted.IsZero() && now.Sub(m.doubted) > lag {
		m.fault("%s goes in doubt since %s", o, clock(m.doubted))
	}
	var why []string
	for i := len(m.plans) - 1; i >= 0; i-- {
		due, keeps := m.due(o, m.plans[i].plan)
		if keeps == "" && due.Sub(now) > m.tolerance(o) {
			keeps = "it is due at " + clock(due)
		}
		if keeps == "" {
			why = nil
			break
		}
		why = append(why, keeps)
		if now.Sub(m.plans[i].at) > lag {
			break
		}
	}
	if due, keeps := m.due(o, m.plan()); keeps == "" && now.Sub(due) > m.late[o.kind.Kind] {
		m.late[o.kind.Kind] = now.Sub(due)
	}
	if why != nil {
		m.fault("%s goes, deleted by the process of %s: %q; plan %+v", o, clock(p.began), why, m.plan())
	}
	if o.kind == snapshots {
		m.spend(now)
	}
	m.bury(o)
}

func (m *model) tolerance(o *thing) time.Duration {
	if o.kind == previews {
		return 2 * most
	}
	return most
}

// spend checks that no more Snapshots go within the window that ends now than may. What a shorter window has forgotten does not
// count for a longer one.
func (m *model) spend(now time.Time) {
	m.spent = append(m.spent, now)
	for i := len(m.plans) - 1; i >= 0; i-- {
		if m.within(now, m.shortest(i)) <= m.plans[i].most {
			return
		}
		if now.Sub(m.plans[i].at) > lag {
			break
		}
	}
	m.fault("%d Snapshots within %s, and %d may go", m.within(now, m.plan().window), m.plan().window, m.plan().most)
}

// shortest is the window of a plan, or what a shorter one before it has left of that.
func (m *model) shortest(i int) time.Duration {
	least := m.plans[i].window
	for k := i - 1; k >= 0 && time.Since(m.plans[k+1].at) < m.plans[i].window; k-- {
		least = min(least, time.Since(m.plans[k+1].at)+m.plans[k].window)
	}
	return least
}

func (m *model) within(now time.Time, window time.Duration) (n int) {
	for _, at := range m.spent {
		if now.Sub(at) < window {
			n++
		}
	}
	return n
}

func (m *model) bury(o *thing) {
	o.gone = time.Now()
	m.buried = slices.DeleteFunc(m.buried, func(o *thing) bool { return time.Since(o.gone) > lag })
	m.buried = append(m.buried, o)
}

// due is when a thing may go by a plan, or why it may not at all.
func (m *model) due(o *thing, p plan) (at time.Time, keeps string) {
	if o.held != "" && o.held != "false" {
		return at, "it is held"
	}
	switch o.kind {
	case jobs:
		return m.dueJob(o, p)
	case previews:
		switch {
		case o.labels[p.label] != "true":
			return at, "it is in use"
		case p.idle != v1alpha1.Enforce:
			return at, "nobody wants Previews to go"
		}
		return later(o.since, o.created).Add(m.own(o, p.idleTTL)), ""
	default:
		if m.isNewest(o) {
			return at, "it is among the newest"
		}
		return o.created.Add(m.own(o, snapshotTTL)), ""
	}
}

// own is the TTL of a thing where it may make it longer, and no shorter.
func (m *model) own(o *thing, ttl time.Duration) time.Duration { return max(o.ttl, ttl) }

func (m *model) dueJob(o *thing, p plan) (at time.Time, keeps string) {
	if o.finished.IsZero() {
		return at, "it has not finished"
	}
	start, isAudited := later(o.finished, o.created), o.labels["audit"] == "true"
	switch {
	case p.jobs == v1alpha1.Suspended, isAudited && p.audit == v1alpha1.Suspended:
		return at, "a rule is suspended"
	case p.jobs == v1alpha1.Enforce:
		ttl := p.jobsTTL
		if o.ttl > 0 {
			ttl = min(max(o.ttl, shortestJobs), longestJobs)
		}
		at = start.Add(ttl)
	}
	if isAudited && p.audit == v1alpha1.Enforce {
		at = later(at, start.Add(m.own(o, auditTTL)))
	}
	if at.IsZero() {
		return at, "nobody wants Jobs to go"
	}
	return at, ""
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isNewest reports whether a Snapshot is among the newest of its app. What went a moment ago counts as if it were there.
func (m *model) isNewest(o *thing) bool {
	newer := 0
	for _, other := range slices.Concat(m.things(o.kind), m.buried) {
		if other.kind == o.kind && other.namespace == o.namespace && other.labels["app"] == o.labels["app"] && other != o &&
			cmp.Or(other.created.Compare(o.created), cmp.Compare(o.uid, other.uid)) > 0 && time.Since(other.gone) > lag {
			newer++
		}
	}
	return newer < newestKept
}

// marked is told of a PATCH of marks, right before.
func (m *model) marked(o *thing, marks string) {
	now := time.Now()
	before, after := policy.ParseMarks(o.marks), policy.ParseMarks(marks)
	if o.kind != previews || len(after) > 1 {
		m.fault("%s is marked %s", o, marks)
	}
	if len(before) > 0 {
		m.remarked++
	}
	isLate := now.Sub(m.planned()) > lag
	if isLate && m.plan().idle != v1alpha1.Enforce {
		m.fault("%s is marked %s though nobody wants Previews to go", o, marks)
	}
	if isIdle := o.labels[m.plan().label] == "true"; isLate && isIdle != (len(after) == 1) {
		m.fault("%s is marked %s", o, marks)
	}
	for _, at := range after {
		if early := later(o.since, o.created).Sub(at); early > most || at.Sub(now) > most+time.Second {
			m.fault("%s is marked %s, and counts as idle since %s", o, marks, clock(o.since))
		}
		if was, ok := before[m.plans[len(m.plans)-1].mark]; ok {
			if !at.Equal(was) && was.After(later(o.remark, m.planned()).Add(most+lag+time.Second)) && m.disturbed.Before(was.Add(-lag)) {
				m.fault("the time of %s starts anew: %s, and nothing has happened since %s", o, marks, clock(o.remark))
			}
		}
	}
}

// check looks at everything there is.
func (m *model) check() {
	now := time.Now()
	if m.up.IsZero() {
		return
	}
	calm := slices.MaxFunc([]time.Time{m.up, m.disturbed, m.planned()}, time.Time.Compare).Add(settled)
	if now.Before(calm) || !m.doubted.IsZero() {
		return
	}
	free := m.free()
	for _, o := range slices.Concat(m.things(jobs), m.things(previews), m.things(snapshots)) {
		if now.Sub(o.changed) < settled {
			continue
		}
		if o.kind == previews && m.plan().idle == v1alpha1.Enforce {
			m.checkMarks(o)
		}
		due, keeps := m.due(o, m.plan())
		if keeps == "" && now.Sub(due) >= settled && now.Sub(m.mayGoSince(o, due, free)) >= settled {
			m.fault("%s is still there, due since %s; calm since %s", o, clock(due), clock(calm))
		}
	}
}

// mayGoSince is since when nothing but time has been in the way of a thing.
func (m *model) mayGoSince(o *thing, due, free time.Time) time.Time {
	switch o.kind {
	case previews: // it counts as idle from its mark on
		if at := m.markOf(o); !at.IsZero() {
			return at.Add(m.own(o, m.plan().idleTTL))
		}
		return time.Now()
	case snapshots: // it may have to wait until others are long gone, and until newer ones have come
		return later(free, m.pushedOut(o))
	}
	return due
}

// free is since when a further Snapshot might have gone.
func (m *model) free() time.Time {
	// What a ledger counts with: other clocks, and parts of a window.
	window := m.plan().window + m.plan().window/60 + 10*time.Second + settled
	left := max(0, m.plan().most-m.open()) // what nobody knows the end of takes room
	counted := append(slices.Clone(m.spent[max(0, len(m.spent)-left):]), m.taken[max(0, len(m.taken)-left):]...)
	switch slices.SortFunc(counted, time.Time.Compare); {
	case left <= 0:
		return time.Now()
	case len(counted) < left:
		return time.Time{}
	}
	return counted[len(counted)-left].Add(window)
}

// pushedOut is since when a Snapshot has not been among the newest.
func (m *model) pushedOut(o *thing) time.Time {
	var newer []time.Time
	for _, other := range m.things(o.kind) {
		if other.namespace == o.namespace && other.labels["app"] == o.labels["app"] && other.created.After(o.created) {
			newer = append(newer, other.created)
		}
	}
	slices.SortFunc(newer, time.Time.Compare)
	if len(newer) < newestKept {
		return time.Now()
	}
	return newer[newestKept-1]
}

func (m *model) checkMarks(o *thing) {
	if isIdle := o.labels[m.plan().label] == "true"; isIdle == m.markOf(o).IsZero() {
		m.fault("%s is not marked as it should be", o)
	}
}

// sum says what has been checked.
func (m *model) sum() string {
	return fmt.Sprintf("%v deleted, %d marks made anew or removed, %d edits of the plan", m.deleted, m.remarked, len(m.plans)-1)
}
