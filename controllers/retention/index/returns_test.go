// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// loop re-creates Jobs, and Sunset deletes them by a rule with a TTL of an hour. Its clock is fake.
type loop struct {
	*harness
	now    time.Time
	made   int
	answer string // what shows a deletion first; empty for the answer of the DELETE
}

func newLoop(t *testing.T) *loop { return &loop{harness: newHarness(t, oneRule()), now: now} }

func (l *loop) create(name string, works time.Duration, options ...func(*draft)) types.UID {
	l.made++
	uid := types.UID(fmt.Sprintf("%s-%d", name, l.made))
	all := append([]func(*draft){func(d *draft) { d.Name, d.Created, d.Facts[0].Start = name, l.now, l.now.Add(works) }}, options...)
	l.Apply(1, row(string(uid), l.now, all...), l.now)
	return uid
}

// expire waits until an object is due, and reports whether it was deleted; reason says why not.
func (l *loop) expire(uid types.UID) (deleted bool, reason policy.Reason) {
	if due, _, ok := l.Next(); ok && due.After(l.now) {
		l.now = due
	}
	j, known := l.Claim(uid, l.now)
	if !known || !j.Permit.Valid() {
		return false, j.Verdict.Reason
	}
	answered := func() {
		l.Deleted(j.Permit.Intent(), l.now)
		l.MarkGone(j.Permit.Subject(), l.now)
	}
	switch l.answer {
	case "": // the grace period comes after the answer
		answered()
		l.now = l.now.Add(40 * time.Second)
		l.Forget(1, uid, l.now)
	case "the watch":
		l.Forget(1, uid, l.now)
		answered()
	case "the next version":
		s := j.Permit.Subject()
		l.Apply(1, index.NewFactRow(policy.Subject{Namespace: s.Namespace, Name: s.Name, UID: uid, ResourceVersion: "2", Created: s.Created,
			Flags: policy.IsTerminating}, columns["a"], policy.Facts{Selected: true, Eligible: true, Start: j.Verdict.Start}), l.now)
		answered()
		l.Forget(1, uid, l.now)
	case "a list":
		answered()
		l.MarkIncomplete(1)
		l.Replace(l.listing, nil, l.now)
	case "nothing": // another client deletes it
		l.Release(uid, l.now)
		l.Forget(1, uid, l.now)
	}
	return true, j.Verdict.Reason
}

// turns re-creates a name n times, each time after an absence, and returns the number of deleted objects.
func (l *loop) turns(name string, n int, absence, works time.Duration, options ...func(*draft)) (deleted int, last policy.Reason) {
	for range n {
		ok, reason := l.expire(l.create(name, works, options...))
		if last = reason; !ok {
			return deleted, last
		}
		deleted++
		l.now = l.now.Add(absence)
	}
	return deleted, last
}

func TestObjectsThatAreRecreatedRepeatedlyAreKept(t *testing.T) {
	for _, first := range []string{"", "the watch", "the next version", "a list"} {
		for name, test := range map[string]struct {
			absence, works time.Duration
			want           int
		}{
			"at once":                        {0, 0, 3},
			"after a while":                  {time.Minute, 0, 3},
			"after a run of an hour":         {time.Second, time.Hour, 3},
			"a nanosecond too late":          {time.Minute + 1, 0, 20},
			"after a longer run":             {time.Second, time.Hour + 1, 20},
			"a Pod that is evicted at times": {time.Second, 100 * time.Hour, 20},
			"by hand now and then":           {5 * time.Minute, 0, 20},
		} {
			t.Run(name+", deletion shown by "+first, func(t *testing.T) {
				l := newLoop(t)
				l.answer = first
				deleted, last := l.turns("x", 20, test.absence, test.works)
				expect.Equal(t, "deleted", test.want, deleted)
				if test.want == 3 {
					expect.Equal(t, "reason", policy.KeptRecreated, last)
				}
			})
		}
	}
}

// TestRecreationCountResets also checks which events keep the count, and the object.
func TestRecreationCountResets(t *testing.T) {
	kept := func(t *testing.T) (*loop, types.UID) {
		l := newLoop(t)
		l.turns("x", 3, 0, 0)
		uid := l.create("x", 0)
		if deleted, reason := l.expire(uid); deleted || reason != policy.KeptRecreated {
			t.Fatalf("deleted: %v, %s", deleted, reason)
		}
		return l, uid
	}
	t.Run("not by time, a new version or a relist", func(t *testing.T) {
		l, uid := kept(t)
		l.now = l.now.Add(1000 * time.Hour)
		expect.Equal(t, "reason", policy.KeptRecreated, l.reason(string(uid), l.now))
		l.Apply(1, row(string(uid), l.now, at("9"), func(d *draft) { d.Name = "x" }), l.now)
		expect.Equal(t, "reason of the next version", policy.KeptRecreated, l.reason(string(uid), l.now.Add(time.Hour)))
		l.Replace(l.listing, []*index.FactRow{row(string(uid), l.now, at("9"), func(d *draft) { d.Name = "x" })}, l.now)
		expect.Equal(t, "reason after a relist", policy.KeptRecreated, l.reason(string(uid), l.now.Add(time.Hour)))
	})
	t.Run("by an edit", func(t *testing.T) {
		l, uid := kept(t)
		l.SetSnapshot(snapshotOf(fixture.Rule("a", fixture.TTL(time.Minute))), l.now)
		deleted, _ := l.expire(uid)
		expect.Equal(t, "deleted", true, deleted)
		more, _ := l.turns("x", 20, 0, 0)
		expect.Equal(t, "deleted after that", 2, more)
	})
	t.Run("not by an edit of another rule", func(t *testing.T) {
		l, uid := kept(t)
		l.SetSnapshot(snapshotOf(fixture.Rule("a"), fixture.Rule("b", fixture.TTL(time.Minute), fixture.Mode(v1alpha1.DryRun))), l.now)
		l.SetSnapshot(snapshotOf(fixture.Rule("a"), fixture.Rule("b", fixture.TTL(2*time.Minute), fixture.Mode(v1alpha1.DryRun))), l.now)
		_, reason := l.expire(uid)
		expect.Equal(t, "reason", policy.KeptRecreated, reason)
	})
	t.Run("not by changes of permission, approval or marks", func(t *testing.T) {
		l, uid := kept(t)
		for _, lacks := range []bool{true, false} {
			l.SetSnapshot(snapshotOf(fixture.Rule("a", func(r *policy.Rule) { r.Unpermitted, r.Unapproved, r.MarksSince = lacks, lacks, l.now })), l.now)
		}
		_, reason := l.expire(uid)
		expect.Equal(t, "reason", policy.KeptRecreated, reason)
	})
	t.Run("when another client deletes it", func(t *testing.T) {
		l, uid := kept(t)
		l.Forget(1, uid, l.now)
		deleted, _ := l.turns("x", 20, 0, 0)
		expect.Equal(t, "deleted", 3, deleted)
	})
}

// TestRecreationCountIgnoresOtherClients: if other clients delete and re-create an object, that does not count.
func TestRecreationCountIgnoresOtherClients(t *testing.T) {
	l := newLoop(t)
	l.answer = "nothing"
	deleted, _ := l.turns("x", 20, 0, 0)
	expect.Equal(t, "deleted", 20, deleted)
}

// TestOwnerThatComesBack: the owner that is deleted instead has the same name each time, and the subject another one.
func TestOwnerThatComesBack(t *testing.T) {
	l := newLoop(t)
	l.SetSnapshot(snapshotOf(fixture.Rule("a", func(r *policy.Rule) { r.Owner = true })), l.now)
	deleted, reason := 0, policy.Reason("")
	for n := range 20 {
		owner := &policy.Owner{Kind: fixture.Jobs, Name: "owner", UID: types.UID(fmt.Sprint("owner-", n))}
		uid := l.create(fmt.Sprint("w", n), 0, func(d *draft) { d.Facts[0].Owner = owner })
		// Another subject of the same owner is deleted with it.
		other := l.create(fmt.Sprint("v", n), 0, func(d *draft) { d.Facts[0].Owner = owner })
		var ok bool
		if ok, reason = l.expire(uid); !ok {
			break
		}
		l.Forget(1, other, l.now)
		deleted++
	}
	expect.Equal(t, "deleted", 3, deleted)
	expect.Equal(t, "reason", policy.KeptRecreated, reason)
}

// TestOrdinaryTurnoverIsNoLoop: CronJobs and Deployments create objects with different names, and these are never kept.
func TestOrdinaryTurnoverIsNoLoop(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	l := newLoop(t)
	for n := range 20_000 {
		l.answer = []string{"", "the watch", "the next version"}[random.Intn(3)]
		uid := l.create(fmt.Sprint("job-", n), time.Duration(random.Intn(100))*time.Second, in([]string{"team-a", "team-b"}[random.Intn(2)]))
		if deleted, reason := l.expire(uid); !deleted {
			t.Fatalf("job-%d is kept: %s", n, reason)
		}
		l.now = l.now.Add(time.Duration(random.Intn(3)) * time.Second)
	}
}

// TestSameNameInAnotherNamespaceDoesNotCount: objects of one name in several namespaces are not a loop.
func TestSameNameInAnotherNamespaceDoesNotCount(t *testing.T) {
	l := newLoop(t)
	for n := range 6 {
		uid := l.create("x", 0, in([]string{"team-a", "team-b"}[n%2]))
		deleted, _ := l.expire(uid)
		expect.Equal(t, "deleted", true, deleted)
	}
}

// TestMemoryForNamesIsBounded: after a hundred thousand names only the latest are remembered. A loop is then detected
// later.
func TestMemoryForNamesIsBounded(t *testing.T) {
	l := newLoop(t)
	l.answer = "the watch"
	for n := range 100_000 {
		if deleted, reason := l.expire(l.create(fmt.Sprint("job-", n), 0)); !deleted {
			t.Fatal(reason)
		}
	}
	if n := l.Departures(); n > 2*8192 {
		t.Errorf("%d names in memory", n)
	}
	deleted, _ := l.turns("x", 20, 0, 0)
	expect.Equal(t, "deleted in a loop after that", 3, deleted)
}

// TestLoopBesideManyNames: the half with older names counts too, while the other half is empty.
func TestLoopBesideManyNames(t *testing.T) {
	l := newLoop(t)
	l.answer = "the watch"
	l.turns("x", 1, 0, 0)
	all := []types.UID{l.create("x", 0)}
	for n := range 8191 {
		all = append(all, l.create(fmt.Sprint("job-", n), 0))
	}
	for _, uid := range append(all, l.create("last", 0)) {
		deleted, _ := l.expire(uid)
		expect.Equal(t, "deleted", true, deleted)
	}
	l.Forget(1, l.create("last", 0), l.now) // another client deletes it
	deleted, reason := l.turns("x", 20, 0, 0)
	expect.Equal(t, "deleted after two turns", 1, deleted)
	expect.Equal(t, "reason", policy.KeptRecreated, reason)
}
