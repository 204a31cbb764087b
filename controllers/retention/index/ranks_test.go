// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func keep(n int) func(*policy.Rule) { return func(r *policy.Rule) { r.Keep = n } }

// room limits how many subjects stay in each namespace, and fair in all namespaces together. The TTL makes none due.
func room(n int) func(*policy.Rule) {
	return func(r *policy.Rule) { r.Capacity, r.TTL = policy.Capacity{Bounded: true, Max: n}, policy.NeverTTL }
}

func fair(n int) func(*policy.Rule) {
	return func(r *policy.Rule) {
		r.Capacity, r.TTL = policy.Capacity{Bounded: true, Max: n, Fair: true}, policy.NeverTTL
	}
}

func group(name string) func(*draft) { return func(r *draft) { r.Facts[0].Group = name } }
func failing(r *draft)               { r.Facts[0] = policy.Facts{Selected: true, Err: errFailed} }

// aged returns a row whose TTL has long passed. A greater age means an earlier start.
func aged(uid string, age int, options ...func(*draft)) *index.FactRow {
	return row(uid, now.Add(-100*time.Hour-time.Duration(age)*time.Minute), options...)
}

// reasons returns the reason of the verdict about each subject.
func (w *harness) reasons(at time.Time) map[string]policy.Reason {
	reasons := map[string]policy.Reason{}
	w.Scan(func(s policy.Subject, evaluations []policy.Evaluation) {
		verdict, _ := policy.Decide(s, evaluations, at)
		reasons[s.Name] = verdict.Reason
	})
	return reasons
}

// with returns the names of the subjects with a reason, sorted.
func (w *harness) with(reason policy.Reason) []string {
	var names []string
	for name, r := range w.reasons(now) {
		if r == reason {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestNewestStay(t *testing.T) {
	override := func(n int) *policy.Snapshot {
		return policy.NewSnapshot([]*policy.Policy{policyOf(fixture.Rule("a"), ""), {Name: "team-b/own", Namespace: "team-b", Mode: v1alpha1.Enforce,
			Overrides: []*policy.Override{{From: "team-b/own", Policy: "a", Keep: &n, InForce: true}}}}, namespaces, policy.DefaultProtection())
	}
	tests := map[string]struct {
		more   []*index.FactRow // besides 1, 2, 3 and 4 of team-a, the newest first
		change func(w *harness)
		kept   []string // among the newest two
		due    []string
	}{
		"two of four":                                       {nil, nil, []string{"1", "2"}, []string{"3", "4"}},
		"one of another group":                              {[]*index.FactRow{aged("0", 0, group("x"))}, nil, []string{"0", "1", "2"}, []string{"3", "4"}},
		"one of another namespace":                          {[]*index.FactRow{aged("0", 0, in("team-b"))}, nil, []string{"0", "1", "2"}, []string{"3", "4"}},
		"a held subject counts":                             {[]*index.FactRow{aged("0", 0, flags(policy.IsHeld))}, nil, []string{"1"}, []string{"2", "3", "4"}},
		"one is terminating":                                {[]*index.FactRow{aged("0", 0, flags(policy.IsTerminating))}, nil, []string{"1", "2"}, []string{"3", "4"}},
		"one is not eligible":                               {[]*index.FactRow{aged("0", 0, notEligible)}, nil, []string{"1", "2"}, []string{"3", "4"}},
		"one with an evaluation error":                      {[]*index.FactRow{aged("0", 0, failing)}, nil, []string{"1", "2"}, []string{"3", "4"}},
		"one with an evaluation error in another namespace": {[]*index.FactRow{aged("0", 0, failing, in("team-b"))}, nil, []string{"1", "2"}, []string{"3", "4"}},
		"one of the same age, ordered by UID":               {[]*index.FactRow{aged("20", 2)}, nil, []string{"1", "2"}, []string{"20", "3", "4"}},
		"a new subject is added":                            {nil, func(w *harness) { w.Apply(1, aged("0", 0), now) }, []string{"0", "1"}, []string{"2", "3", "4"}},
		"the newest is deleted":                             {nil, func(w *harness) { w.Forget(1, "1", now) }, []string{"2", "3"}, []string{"4"}},
		"Sunset deletes the newest":                         {nil, func(w *harness) { w.MarkGone(aged("1", 1).Subject(), now) }, []string{"2", "3"}, []string{"4"}},
		"the newest is no longer eligible":                  {nil, func(w *harness) { w.Apply(1, aged("1", 1, at("2"), notEligible), now) }, []string{"2", "3"}, []string{"4"}},
		"one changes groups":                                {nil, func(w *harness) { w.Apply(1, aged("2", 2, at("2"), group("x")), now) }, []string{"1", "2", "3"}, []string{"4"}},
		"one gets an evaluation error":                      {nil, func(w *harness) { w.Apply(1, aged("4", 4, at("2"), failing), now) }, []string{"1", "2"}, []string{"3"}},
		"the start of one is before its creation":           {[]*index.FactRow{aged("0", 99, func(r *draft) { r.Created = now.Add(-99 * time.Hour) })}, nil, []string{"0", "1"}, []string{"2", "3", "4"}},
		"more may stay":                                     {nil, func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", keep(3))), now) }, []string{"1", "2", "3"}, []string{"4"}},
		"fewer may stay":                                    {nil, func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", keep(1))), now) }, []string{"1"}, []string{"2", "3", "4"}},
		"the rule keeps none":                               {nil, func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a")), now) }, nil, []string{"1", "2", "3", "4"}},
		"another rule replaces it": {nil, func(w *harness) {
			w.SetSnapshot(snapshotOf(fixture.Rule("b", keep(3), func(r *policy.Rule) { r.Key = "a" })), now)
		}, []string{"1", "2", "3"}, []string{"4"}},
		"one namespace keeps more": {[]*index.FactRow{aged("b", 9, in("team-b"))}, func(w *harness) { w.SetSnapshot(override(1), now) }, []string{"b"}, []string{"1", "2", "3", "4"}},
		"listed again": {nil, func(w *harness) {
			w.Replace(index.Listing{ID: 2, Kind: fixture.Jobs, Layout: columns["a"]}, []*index.FactRow{aged("3", 3), aged("4", 4), aged("5", 5)}, now)
		}, []string{"3", "4"}, []string{"5"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(keep(2)), append(test.more, aged("1", 1), aged("2", 2), aged("3", 3), aged("4", 4))...)
			if test.change != nil {
				test.change(w)
			}
			expect.Equal(t, "kept", test.kept, w.with(policy.KeptNewest))
			taken := w.take(now)
			slices.Sort(taken)
			expect.Equal(t, "due", test.due, taken)
		})
	}
}

func TestCapacityMakesExcessSubjectsDue(t *testing.T) {
	tests := map[string]struct {
		rule   []func(*policy.Rule)
		more   []*index.FactRow // besides 1, 2, 3 and 4 of team-a, the newest first
		change func(w *harness)
		due    []string
	}{
		"two may stay":                                {[]func(*policy.Rule){room(2)}, nil, nil, []string{"3", "4"}},
		"four may stay":                               {[]func(*policy.Rule){room(4)}, nil, nil, nil},
		"each namespace has its own limit":            {[]func(*policy.Rule){room(2)}, []*index.FactRow{aged("b", 9, in("team-b"))}, nil, []string{"3", "4"}},
		"groups do not matter":                        {[]func(*policy.Rule){room(2)}, []*index.FactRow{aged("0", 0, group("x"))}, nil, []string{"2", "3", "4"}},
		"held subjects count":                         {[]func(*policy.Rule){room(2)}, []*index.FactRow{aged("0", 0, flags(policy.IsHeld))}, nil, []string{"2", "3", "4"}},
		"one with an evaluation error does not count": {[]func(*policy.Rule){room(2)}, []*index.FactRow{aged("0", 0, failing)}, nil, []string{"3", "4"}},
		"the newest stay beyond it":                   {[]func(*policy.Rule){room(1), keep(3)}, nil, nil, []string{"4"}},
		"before their TTL":                            {[]func(*policy.Rule){room(3), fixture.TTL(1000 * time.Hour)}, nil, nil, []string{"4"}},
		"another subject is added":                    {[]func(*policy.Rule){room(4)}, nil, func(w *harness) { w.Apply(1, aged("0", 0), now) }, []string{"4"}},
		"another client deletes one":                  {[]func(*policy.Rule){room(3)}, nil, func(w *harness) { w.Forget(1, "1", now) }, nil},
		"the limit is lowered":                        {[]func(*policy.Rule){room(4)}, nil, func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", room(3))), now) }, []string{"4"}},
		"fair: the largest namespace gives up places": {[]func(*policy.Rule){fair(3)}, []*index.FactRow{aged("b", 9, in("team-b"))}, nil, []string{"3", "4"}},
		"fair: one is added in another namespace":     {[]func(*policy.Rule){fair(4)}, nil, func(w *harness) { w.Apply(1, aged("b", 9, in("team-b")), now) }, []string{"4"}},
		"fair: one is deleted in another namespace":   {[]func(*policy.Rule){fair(4)}, []*index.FactRow{aged("b", 9, in("team-b"))}, func(w *harness) { w.Forget(1, "b", now) }, nil},
		"fair: another namespace joins": {[]func(*policy.Rule){fair(4)}, []*index.FactRow{aged("b", 9, in("team-b"))}, func(w *harness) {
			joined := func(selects string) *policy.Snapshot {
				return policy.NewSnapshot([]*policy.Policy{policyOf(fixture.Rule("a", fair(4)), selects)}, namespaces, policy.DefaultProtection())
			}
			w.SetSnapshot(joined("ci"), now) // only team-a
			expect.Equal(w.t, "due with one namespace", never, w.take(now))
			w.SetSnapshot(joined(""), now)
		}, []string{"4"}},
		"fair, then per namespace": {[]func(*policy.Rule){fair(2)}, nil, func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", room(3))), now) }, []string{"4"}},
		"per namespace, then fair": {[]func(*policy.Rule){room(4)}, nil, func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", fair(3))), now) }, []string{"4"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(test.rule...), append(test.more, aged("1", 1), aged("2", 2), aged("3", 3), aged("4", 4))...)
			if test.change != nil {
				test.change(w)
			}
			expect.Equal(t, "over capacity", test.due, w.with(policy.OverCapacity))
			taken := w.take(now)
			slices.Sort(taken)
			expect.Equal(t, "due", test.due, taken)
		})
	}
}

// TestSubjectBeingDeletedIsNotRanked: the newest two of four stay. Subject 4 is being deleted when the event happens.
func TestSubjectBeingDeletedIsNotRanked(t *testing.T) {
	tests := map[string]struct {
		then func(w *harness)
		kept []string
	}{
		"no event":               {func(*harness) {}, []string{"1", "2"}},
		"the newest is deleted":  {func(w *harness) { w.Forget(1, "1", now) }, []string{"2", "3"}},
		"all others are deleted": {func(w *harness) { w.Forget(1, "1", now); w.Forget(1, "2", now); w.Forget(1, "3", now) }, nil},
		"its deletion failed, all others are deleted": {func(w *harness) {
			w.Release("4", now)
			w.Forget(1, "1", now)
			w.Forget(1, "2", now)
			w.Forget(1, "3", now)
		}, []string{"4"}},
		"it is no longer due":                           {func(w *harness) { w.Forget(1, "1", now); w.Forget(1, "2", now); w.Reconsider("4", now) }, []string{"3", "4"}},
		"it changes":                                    {func(w *harness) { w.Apply(1, aged("4", 0, at("2")), now) }, []string{"1", "2"}},
		"it changes, and its deletion failed":           {func(w *harness) { w.Apply(1, aged("4", 0, at("2")), now); w.Release("4", now) }, []string{"1", "4"}},
		"it changes, and the old version was deleted":   {func(w *harness) { w.Apply(1, aged("4", 0, at("2")), now); w.MarkGone(aged("4", 4).Subject(), now) }, []string{"1", "4"}},
		"it was deleted, and a newer version appears":   {func(w *harness) { w.MarkGone(aged("4", 4).Subject(), now); w.Apply(1, aged("4", 0, at("2")), now) }, []string{"1", "4"}},
		"it is listed again":                            {func(w *harness) { w.Replace(w.listing, []*index.FactRow{aged("4", 0, at("2")), aged("3", 3)}, now) }, []string{"3"}},
		"the rules change":                              {func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", keep(4))), now) }, []string{"1", "2", "3"}},
		"the rules change, and then its deletion fails": {func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", keep(4))), now); w.Release("4", now) }, []string{"1", "2", "3", "4"}},
		"the deletion of an unknown subject fails":      {func(w *harness) { w.Release("unknown", now) }, []string{"1", "2"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(keep(2)), aged("1", 1), aged("2", 2), aged("3", 3), aged("4", 4))
			w.take(now)
			if j, _ := w.Claim("4", now); !j.Permit.Valid() {
				t.Fatalf("4 is %+v", j.Verdict)
			}
			test.then(w)
			expect.Equal(t, "kept", test.kept, w.with(policy.KeptNewest))
		})
	}
}

// TestDeletingEndsAtTheCapacity: each deletion in flight frees a place for another subject over capacity.
func TestDeletingEndsAtTheCapacity(t *testing.T) {
	w := newHarness(t, oneRule(room(2)), aged("1", 1), aged("2", 2), aged("3", 3), aged("4", 4))
	expect.Equal(t, "due", []string{"3", "4"}, w.with(policy.OverCapacity))
	w.Forget(1, "1", now) // by another client, with 3 and 4 in the queue
	j, _ := w.Claim("4", now)
	expect.Equal(t, "the oldest", policy.OverCapacity, j.Verdict.Reason)
	j, _ = w.Claim("3", now)
	expect.Equal(t, "the second oldest", policy.WithinCapacity, j.Verdict.Reason)
	w.Release("4", now)
	j, _ = w.Claim("4", now)
	expect.Equal(t, "the oldest, again", policy.OverCapacity, j.Verdict.Reason)
}

// herd is a set of subjects on a server, with an index of them and deletions in flight.
type herd struct {
	*rand.Rand
	*harness
	live     map[string]int // versions, by UID
	queue    []string
	underWay []policy.DeletePermit
	births   int
}

// step performs a random event. It returns the UID that was deleted, if any.
func (h *herd) step() (deleted string) {
	switch h.Intn(6) {
	case 0:
		h.births++
		uid := fmt.Sprintf("n%03d", h.births)
		h.live[uid] = 1
		h.Apply(1, aged(uid, -h.Intn(200)), now)
	case 1: // a subject changes and starts again; the watch reports it at once
		for uid := range h.live {
			h.live[uid]++
			h.Apply(1, aged(uid, -h.Intn(200), at(fmt.Sprint(h.live[uid]))), now)
			break
		}
	case 2, 3:
		h.queue = append(h.queue, h.take(now)...)
		h.work()
	default:
		if len(h.underWay) > 0 {
			return h.settle(h.Intn(len(h.underWay)))
		}
	}
	return ""
}

// work claims the first queued subject without a deletion in flight: no subject has two at a time.
func (h *herd) work() {
	i := slices.IndexFunc(h.queue, func(uid string) bool {
		return !slices.ContainsFunc(h.underWay, func(w policy.DeletePermit) bool { return string(w.Subject().UID) == uid })
	})
	if i < 0 {
		return
	}
	uid := types.UID(h.queue[i])
	h.queue = slices.Delete(h.queue, i, i+1)
	if j, ok := h.Claim(uid, now); ok && j.Permit.Valid() {
		h.underWay = append(h.underWay, j.Permit)
	} else {
		h.Reconsider(uid, now)
	}
}

// settle ends a deletion in flight.
func (h *herd) settle(i int) (deleted string) {
	s := h.underWay[i].Subject()
	h.underWay = slices.Delete(h.underWay, i, i+1)
	uid := string(s.UID)
	if h.Intn(3) == 0 || fmt.Sprint(h.live[uid]) != s.ResourceVersion { // no answer, or a conflict
		h.Release(s.UID, now)
		h.queue = append(h.queue, uid)
		return ""
	}
	delete(h.live, uid)
	h.MarkGone(s, now)
	if h.Intn(2) == 0 {
		h.Forget(1, s.UID, now)
	}
	return uid
}

// TestNeverFewerThanThatRemain: many deletions may be in flight, fail and be retried. No deletion leaves fewer subjects
// than must stay.
func TestNeverFewerThanThatRemain(t *testing.T) {
	const least = 3
	for name, option := range map[string]func(*policy.Rule){"newest": keep(least), "room": room(least), "fair": fair(least)} {
		t.Run(name, func(t *testing.T) {
			deleted := 0
			for seed := range int64(200) {
				h := &herd{Rand: rand.New(rand.NewSource(seed)), harness: newHarness(t, oneRule(option)), live: map[string]int{}}
				for range 300 {
					uid := h.step()
					if uid == "" {
						continue
					}
					if deleted++; len(h.live) < least {
						t.Fatalf("%d subjects left after the deletion of %s, seed %d", len(h.live), uid, seed)
					}
				}
			}
			if deleted < 1000 {
				t.Errorf("only %d deletions", deleted)
			}
		})
	}
}
