// SPDX-License-Identifier: Apache-2.0

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
	// lag is how long old rules may still apply after an edit: until the new ones are published and the requests sent before have
	// arrived.
	lag = 2 * time.Second
	// most is the largest error of a clock. One process marks and another one may delete, each with its own error.
	most = time.Second
	// settled is how long an object must be undisturbed before the model checks it.
	settled = 75 * time.Second
)

// model is the expected behaviour, as simply as possible: it reads everything each time and has no timer, index, CEL or queue.
// The server calls it with the lock held.
type model struct {
	*testing.T
	faults int
	plans  []dated
	things func(schema.GroupVersionKind) []*thing
	open   func() int // number of open entries in the ledger of Snapshots

	recorded func(*thing) bool // whether the archive has a record of the current version of a Snapshot
	removals map[version]bool  // the versions of Snapshots that Sunset has deleted

	up        time.Time // since when a process has seen everything; zero if none has
	disturbed time.Time // time of the last error of a watch, a request or preflight
	doubted   time.Time // since when preflight fails; zero if it succeeds
	deletions []*thing  // recent deletions, which a process may still see as existing

	spent    []time.Time // times of the DELETEs of Snapshots
	deleted  map[string]int
	late     map[string]time.Duration // longest delay of a deletion; it excludes time spent waiting for others
	remarked int                      // marks that were rewritten or removed
	waited   int                      // deletions that windows or freezes have deferred
	known    map[opening][]span
	taken    []time.Time // when users deleted Snapshots: a ledger may count these deletions too
}

// dated is a plan and the time since which it applies.
type dated struct {
	plan
	mark string // key of the mark of its Preview rule
	at   time.Time
}

func (m *model) fault(format string, args ...any) {
	m.Helper()
	if m.faults++; m.faults <= 10 {
		m.Errorf(clock(time.Now())+": "+format, args...)
	}
}

func (m *model) plan() plan { return m.plans[len(m.plans)-1].plan }

// markOf returns the mark of a Preview that applies under the current plan; zero for none.
func (m *model) markOf(o *thing) time.Time {
	return policy.ParseMarks(o.marks)[m.plans[len(m.plans)-1].mark]
}

// planned returns the time since which the current plan applies.
func (m *model) planned() time.Time { return m.plans[len(m.plans)-1].at }

// removed checks a DELETE right before it removes a thing.
func (m *model) removed(p *process, o *thing) {
	now := time.Now()
	m.deleted[o.kind.Kind]++
	if !m.doubted.IsZero() && now.Sub(m.doubted) > lag {
		m.fault("%s is deleted although preflight fails since %s", o, clock(m.doubted))
	}
	var why []string
	for i := len(m.plans) - 1; i >= 0; i-- {
		due, keeps := m.due(o, m.plans[i].plan)
		switch {
		case keeps != "":
		case due.Sub(now) > m.tolerance(o):
			keeps = "it is due at " + clock(due)
		case !m.isOpen(o, m.plans[i].plan, now.Add(-lag)) && !m.isOpen(o, m.plans[i].plan, now.Add(most)):
			keeps = "windows or freezes do not allow deletions"
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
	if due, keeps := m.due(o, m.plan()); keeps == "" {
		m.late[o.kind.Kind] = max(m.late[o.kind.Kind], now.Sub(due))
		if at, _ := m.due(o, m.plan().alwaysOpen()); due.After(at) {
			m.waited++
		}
	}
	if why != nil {
		m.fault("%s is deleted by the process that started at %s: %q; plan %+v", o, clock(p.began), why, m.plan())
	}
	if o.kind == snapshots {
		m.spend(now)
		if m.removals[versionOf(o)] = true; !m.recorded(o) {
			m.fault("%s is deleted without a record", o)
		}
	}
	m.recordDeletion(o)
}

func (m *model) tolerance(o *thing) time.Duration {
	if o.kind == previews {
		return 2 * most
	}
	return most
}

// spend checks that the deletions of Snapshots within the window do not exceed the limit. A longer window does not count
// deletions that a shorter window has already forgotten.
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
	m.fault("%d Snapshots deleted within %s; the limit is %d", m.within(now, m.plan().window), m.plan().window, m.plan().most)
}

// shortest returns the window of a plan, or the part of it that shorter windows before it have kept.
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

func (m *model) recordDeletion(o *thing) {
	o.gone = time.Now()
	m.deletions = slices.DeleteFunc(m.deletions, func(o *thing) bool { return time.Since(o.gone) > lag })
	m.deletions = append(m.deletions, o)
}

// due returns when a thing may be deleted under a plan, or why it must be kept.
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
			return at, "the Preview rule is not in mode Enforce"
		}
		return m.deferred(later(o.since, o.created).Add(m.own(o, p.idleTTL)), p, opening{}, p.freeze.all), ""
	default:
		if m.isNewest(o) {
			return at, "it is among the newest"
		}
		return m.deferred(o.created.Add(m.own(o, snapshotTTL)), p, p.snapshotsOpen, p.freeze.all), ""
	}
}

// own returns the TTL of a thing where its own TTL may extend the rule's, but not shorten it.
func (m *model) own(o *thing, ttl time.Duration) time.Duration { return max(o.ttl, ttl) }

func (m *model) dueJob(o *thing, p plan) (at time.Time, keeps string) {
	if o.finished.IsZero() {
		return at, "it has not finished"
	}
	start, isAudited := later(o.finished, o.created), o.labels["audit"] == "true"
	byJobs, byAudit := p.jobsEnforced(), isAudited && p.auditEnforced()
	switch {
	case p.jobs == v1alpha1.Suspend, isAudited && p.audit == v1alpha1.Suspend:
		return at, "a rule is suspended"
	case byJobs:
		ttl := p.jobsTTL
		if o.ttl > 0 {
			ttl = min(max(o.ttl, shortestJobs), longestJobs)
		}
		at = start.Add(ttl)
	}
	if byAudit {
		at = later(at, start.Add(m.own(o, auditTTL)))
	}
	if at.IsZero() {
		return at, "no Job rule is in mode Enforce"
	}
	return m.deferredJob(at, p, byJobs, byAudit), ""
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isNewest reports whether a Snapshot is among the newest of its app. Recent deletions count as if the object still existed.
func (m *model) isNewest(o *thing) bool {
	newer := 0
	for _, other := range slices.Concat(m.things(o.kind), m.deletions) {
		if other.kind == o.kind && other.namespace == o.namespace && other.labels["app"] == o.labels["app"] && other != o &&
			cmp.Or(other.created.Compare(o.created), cmp.Compare(o.uid, other.uid)) > 0 && time.Since(other.gone) > lag {
			newer++
		}
	}
	return newer < newestKept
}

// marked checks a PATCH of marks right before it is applied.
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
		m.fault("%s is marked %s although the Preview rule is not in mode Enforce", o, marks)
	}
	if isIdle := o.labels[m.plan().label] == "true"; isLate && isIdle != (len(after) == 1) {
		m.fault("%s is marked %s", o, marks)
	}
	for _, at := range after {
		if early := later(o.since, o.created).Sub(at); early > most || at.Sub(now) > most+time.Second {
			m.fault("%s is marked %s, but counts as idle since %s", o, marks, clock(o.since))
		}
		if was, ok := before[m.plans[len(m.plans)-1].mark]; ok {
			if !at.Equal(was) && was.After(later(o.remark, m.planned()).Add(most+lag+time.Second)) && m.disturbed.Before(was.Add(-lag)) {
				m.fault("the time of %s starts again: %s, although nothing has happened since %s", o, marks, clock(o.remark))
			}
		}
	}
}

// check checks all objects.
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
		if isOpen := m.isOpen(o, m.plan(), now.Add(-settled)) && m.isOpen(o, m.plan(), now); isOpen && keeps == "" && now.Sub(due) >= settled && now.Sub(m.deletableSince(o, due, free)) >= settled {
			m.fault("%s still exists, due since %s; undisturbed since %s", o, clock(due), clock(calm))
		}
	}
}

// deletableSince returns the time since which a thing could have been deleted.
func (m *model) deletableSince(o *thing, due, free time.Time) time.Time {
	switch o.kind {
	case previews: // A Preview counts as idle from the time of its mark.
		if at := m.markOf(o); !at.IsZero() {
			return at.Add(m.own(o, m.plan().idleTTL))
		}
		return time.Now()
	case snapshots: // A Snapshot may wait for the limit, and for newer Snapshots.
		return later(free, m.pushedOut(o))
	}
	return due
}

// free returns the time since which the limit allows one more deletion of a Snapshot.
func (m *model) free() time.Time {
	// A ledger allows for the clock error, and counts in parts of a window.
	window := m.plan().window + m.plan().window/60 + 10*time.Second + settled
	left := max(0, m.plan().most-m.open()) // entries whose outcome is unknown count too
	counted := append(slices.Clone(m.spent[max(0, len(m.spent)-left):]), m.taken[max(0, len(m.taken)-left):]...)
	switch slices.SortFunc(counted, time.Time.Compare); {
	case left <= 0:
		return time.Now()
	case len(counted) < left:
		return time.Time{}
	}
	return counted[len(counted)-left].Add(window)
}

// pushedOut returns the time since which a Snapshot is not among the newest.
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
		m.fault("the mark of %s is wrong", o)
	}
}

// sum summarizes what the model has checked.
func (m *model) sum() string {
	return fmt.Sprintf("%v deleted, %d of them deferred, %d marks rewritten or removed, %d edits of the plan", m.deleted, m.waited, m.remarked, len(m.plans)-1)
}
