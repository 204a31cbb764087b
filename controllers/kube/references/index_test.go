// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/long"
)

const (
	configMap references.Kind = "ConfigMap"
	secret    references.Kind = "Secret"
)

// start is when every test begins.
var start = fixture.Now

// model is a simple implementation of an Index: each lookup searches all referrers.
type model struct {
	froms    map[references.SourceID]*source
	now      time.Time
	complete map[references.Kind]time.Time   // since when, as of the last look; without kinds in doubt
	less     map[references.Target]time.Time // when a reference was last removed
}

func newModel(now time.Time) *model {
	return &model{
		froms: map[references.SourceID]*source{}, now: now, complete: map[references.Kind]time.Time{},
		less: map[references.Target]time.Time{},
	}
}

// look updates complete after a change.
func (m *model) look() {
	for _, k := range []references.Kind{configMap, secret} {
		if _, known := m.complete[k]; m.doubts(k) {
			delete(m.complete, k)
		} else if !known {
			m.complete[k] = m.now
		}
	}
}

// leaves records which targets lose a referrer when it changes from before to after.
func (m *model) leaves(before, after references.Referrer) {
	for _, t := range before.Targets {
		if refers(before, t) && !refers(after, t) {
			m.less[t] = m.now
		}
	}
}

// unread reports whether the references of a referrer to a kind are unknown.
func unread(r references.Referrer, k references.Kind) bool {
	return r.Err != nil && (r.Unread == nil || slices.Contains(r.Unread, k))
}

// refers reports whether a referrer is known to refer to a target.
func refers(r references.Referrer, t references.Target) bool {
	return slices.Contains(r.Targets, t) && !unread(r, t.Kind)
}

// replace sets all referrers of a source.
func (m *model) replace(s *source, all map[types.UID]references.Referrer) {
	for uid, before := range s.all {
		m.leaves(before, all[uid])
	}
	s.all = all
}

func (m *model) since(t references.Target) time.Time {
	if since := m.complete[t.Kind]; m.less[t].Before(since) {
		return since
	}
	return m.less[t]
}

type source struct {
	to   []references.Kind
	lost bool
	all  map[types.UID]references.Referrer
}

func (m *model) by(t references.Target) []references.Name {
	var names []references.Name
	for _, s := range m.froms {
		for _, r := range s.all {
			if refers(r, t) {
				names = append(names, r.Name)
			}
		}
	}
	slices.SortFunc(names, func(a, b references.Name) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return names
}

func (m *model) doubts(k references.Kind) bool {
	sources := 0
	for _, s := range m.froms {
		if !slices.Contains(s.to, k) {
			continue
		}
		if sources++; s.lost {
			return true
		}
		for _, r := range s.all {
			if unread(r, k) {
				return true
			}
		}
	}
	return sources == 0
}

// seen is everything that an Index returns about some targets.
type seen map[references.Target]answer

type answer struct {
	Count int
	Doubt bool
	By    []references.Name
	Since time.Time // zero if there is doubt
}

// asOf returns s without times that are more than a minute ago: an Index may forget them.
func (s seen) asOf(now time.Time) seen {
	all := maps.Clone(s)
	for t, a := range all {
		if a.Since.Before(now.Add(-time.Minute)) {
			a.Since = time.Time{}
			all[t] = a
		}
	}
	return all
}

var targets = func() (all []references.Target) {
	for _, kind := range []references.Kind{configMap, secret} {
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, references.Target{Kind: kind, Namespace: "n", Name: name})
		}
	}
	return all
}()

func (m *model) seen() seen {
	all := seen{}
	for _, t := range targets {
		by := m.by(t)
		all[t] = answer{len(by), m.doubts(t.Kind), by, time.Time{}}
		if _, known := m.complete[t.Kind]; known {
			all[t] = answer{len(by), false, by, m.since(t)}
		}
	}
	return all
}

func seenIn(x *references.Index) seen {
	all := seen{}
	for _, t := range targets {
		uses := x.Of(t)
		all[t] = answer{uses.Count, uses.Doubt != nil, x.By(t), uses.Since}
	}
	return all
}

var errUnread = errors.New("no such field")

func referrer(r *rand.Rand, from references.SourceID) references.Referrer {
	n := r.IntN(6)
	made := references.Referrer{
		UID:  types.UID(fmt.Sprintf("%s-%d", from, n)),
		Name: references.Name{Kind: string(from), Namespace: "n", Name: fmt.Sprint(n)},
	}
	if r.IntN(8) == 0 {
		made.Err = errUnread
		made.Unread = [][]references.Kind{nil, {configMap}, {secret}, {secret, configMap}}[r.IntN(4)]
	}
	for range r.IntN(5) {
		made.Targets = append(made.Targets, targets[r.IntN(len(targets))])
	}
	return made
}

// TestIndexIsWhatALookAtEverythingWouldSay: after each of many random changes the index returns the same as the model, and Take
// has returned each target whose result changed.
func TestIndexIsWhatALookAtEverythingWouldSay(t *testing.T) {
	froms := []references.SourceID{"Pod", "Deployment", "Ingress"}
	to := map[references.SourceID][]references.Kind{"Pod": {configMap, secret}, "Deployment": {configMap}, "Ingress": {secret}}
	for seed := range uint64(long.Cases(50)) {
		random := rand.New(rand.NewPCG(seed, 1))
		clock := clocktesting.NewFakePassiveClock(start)
		x, m := references.New(clock), newModel(start)
		told := seenIn(x)
		for step := range 200 {
			m.now = m.now.Add(time.Duration(random.IntN(20)) * time.Second)
			clock.SetTime(m.now)
			change(random, x, m, froms[random.IntN(len(froms))], to)
			want := m.seen()
			if recent, got := want.asOf(m.now), seenIn(x).asOf(m.now); !isSame(recent, got) {
				t.Fatalf("seed %d, step %d: -model +index\n%s", seed, step, gocmp.Diff(recent, got))
			}
			if random.IntN(3) > 0 {
				continue
			}
			if missed := untold(told, want, x); len(missed) > 0 {
				t.Fatalf("seed %d, step %d: Take did not return %v", seed, step, missed)
			}
			told = want
		}
	}
}

// isSame is gocmp.Equal, which is slow, for values that are nearly always the same.
func isSame(a, b any) bool { return reflect.DeepEqual(a, b) || gocmp.Equal(a, b) }

// change makes one random change to both.
func change(r *rand.Rand, x *references.Index, m *model, from references.SourceID, to map[references.SourceID][]references.Kind) {
	defer m.look()
	s := m.froms[from]
	switch op := r.IntN(20); {
	case s == nil:
		x.Expect(from, to[from]...)
		m.froms[from] = &source{to: to[from], lost: true, all: map[types.UID]references.Referrer{}}
	case op == 0:
		x.Forget(from)
		m.replace(s, nil)
		delete(m.froms, from)
	case op == 1:
		x.Lose(from, errors.New("no permission to list"))
		s.lost = true
	case op < 5:
		all := map[types.UID]references.Referrer{}
		for range r.IntN(6) {
			made := referrer(r, from)
			all[made.UID] = made
		}
		x.Replace(from, slices.Collect(maps.Values(all)))
		s.lost = false
		m.replace(s, all)
	case op < 14:
		made := referrer(r, from)
		x.Put(from, made)
		m.leaves(s.all[made.UID], made)
		s.all[made.UID] = made
	default:
		made := referrer(r, from)
		x.Remove(from, made.UID)
		m.leaves(s.all[made.UID], references.Referrer{})
		delete(s.all, made.UID)
	}
}

// untold returns the targets whose answer changed, but which Take does not return.
func untold(before, now seen, x *references.Index) (missed []references.Target) {
	var rung bool
	select {
	case <-x.Changed():
		rung = true
	default:
	}
	changes := x.Take()
	for t, answer := range now {
		if !isSame(before[t], answer) && (!rung || !slices.Contains(changes.Targets, t) && !slices.Contains(changes.Whole, t.Kind)) {
			missed = append(missed, t)
		}
	}
	return missed
}

func TestDoubtSaysWhoCannotBeRead(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("Pod", configMap, secret)
	x.Expect("Gateway", secret)
	pod := references.Referrer{UID: "1", Name: references.Name{Kind: "Pod", Namespace: "shop", Name: "web"}, Err: errUnread}
	x.Replace("Pod", []references.Referrer{pod})
	x.Replace("Gateway", nil)
	for _, want := range []struct {
		when  string
		do    func()
		kind  references.Kind
		doubt string
	}{
		{"a Pod cannot be read", func() {}, configMap, "some references to ConfigMap objects are unknown: Pod: shop/web: no such field"},
		{"the Pod can be read", func() { pod.Err = nil; x.Put("Pod", pod) }, configMap, ""},
		{"no permission to list", func() { x.Lose("Gateway", errors.New("forbidden")) }, secret, "some references to Secret objects are unknown: Gateway: forbidden"},
		{"the other kind is known", func() {}, configMap, ""},
		{"the source is removed", func() { x.Forget("Gateway") }, secret, ""},
	} {
		want.do()
		got := ""
		if err := x.Doubt(want.kind); err != nil {
			got = err.Error()
		}
		expect.Equal(t, want.when, want.doubt, got)
	}
}

// TestDoubtIsOfTheKindThatCannotBeRead: references to other kinds count.
func TestDoubtIsOfTheKindThatCannotBeRead(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("Pod", configMap, secret)
	pod := references.Referrer{UID: "1", Targets: targets, Err: errUnread, Unread: []references.Kind{secret}}
	x.Replace("Pod", []references.Referrer{pod})
	x.Take()
	if u := x.Of(targets[0]); u.Doubt != nil || u.Count != 1 {
		t.Errorf("ConfigMap: %+v, want one reference and no doubt", u)
	}
	if x.Doubt(secret) == nil {
		t.Error("no doubt about Secrets")
	}
	x.Remove("Pod", "1")
	if c := x.Take(); !gocmp.Equal(c.Whole, []references.Kind{secret}) {
		t.Errorf("changed kinds %v, want Secret", c.Whole)
	}
}

func TestDoubtsAreAllSourcesInDoubt(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	if x.Doubt(configMap) == nil {
		t.Error("no doubt without a source")
	}
	x.Expect("Pod", configMap, secret)
	x.Expect("Job", configMap)
	x.Expect("Gateway", secret)
	x.Replace("Job", nil)
	x.Lose("Gateway", errUnread)
	var names []references.SourceID
	for _, d := range x.Doubts(secret) {
		if d.Why == nil {
			t.Errorf("%s has no reason", d.From)
		}
		names = append(names, d.From)
	}
	if diff := gocmp.Diff([]references.SourceID{"Gateway", "Pod"}, names); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	x.Replace("Pod", nil)
	if all := x.Doubts(configMap); len(all) > 0 {
		t.Errorf("doubts %v, want none", all)
	}
}

// TestExpectOfOtherKinds: a source about other kinds than before is about all of them at once. Kinds that it was about before stay in
// doubt without interruption.
func TestExpectOfOtherKinds(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("Pod", configMap, secret)
	x.Replace("Pod", nil)
	x.Expect("invalid", configMap)
	x.Lose("invalid", errUnread)
	x.Take()
	doubts := func(when string, of ...references.Kind) {
		t.Helper()
		for _, kind := range []references.Kind{configMap, secret} {
			expect.Equal(t, fmt.Sprintf("%s: doubt about %ss", when, kind), slices.Contains(of, kind), x.Doubt(kind) != nil)
		}
	}
	x.Expect("invalid", configMap, secret)
	doubts("about one more", configMap, secret)
	expect.Equal(t, "changed", []references.Kind{secret}, x.Take().Whole)
	x.Expect("invalid", configMap, secret)
	expect.Equal(t, "changed when expected again", nil, x.Take().Whole)
	x.Expect("invalid", secret)
	doubts("about one less", secret)
	x.Replace("invalid", nil)
	doubts("completely known")
	x.Expect("invalid", configMap)
	doubts("about another one, which has not been read", configMap)
}

// TestSince: each step comes a second after the previous one.
func TestSince(t *testing.T) {
	second := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	target := targets[0]
	pod := func(to ...references.Target) references.Referrer { return references.Referrer{UID: "1", Targets: to} }
	type steps []func(*references.Index)
	listed := func(all ...references.Referrer) func(*references.Index) {
		return func(x *references.Index) { x.Replace("Pod", all) }
	}
	put := func(r references.Referrer) func(*references.Index) {
		return func(x *references.Index) { x.Put("Pod", r) }
	}
	gone := func(x *references.Index) { x.Remove("Pod", "1") }
	lost := func(x *references.Index) { x.Lose("Pod", errUnread) }
	other := func(x *references.Index) { x.Expect("Job", configMap) }
	tests := map[string]struct {
		steps steps
		since time.Time // zero if unknown
	}{
		"not listed yet":                      {nil, time.Time{}},
		"listed":                              {steps{listed()}, second(1)},
		"listed twice":                        {steps{listed(), listed()}, second(1)},
		"last reference removed":              {steps{listed(pod(target)), gone}, second(2)},
		"last reference removed by a listing": {steps{listed(pod(target)), listed()}, second(2)},
		"the referrer has other references":   {steps{listed(pod(target)), put(pod(targets[1]))}, second(2)},
		"reference to another target removed": {steps{listed(pod(targets[1])), gone}, second(1)},
		"reference added and removed":         {steps{listed(), put(pod(target)), gone}, second(3)},
		"source lost":                         {steps{listed(), lost}, time.Time{}},
		"source lost and listed again":        {steps{listed(), lost, listed()}, second(3)},
		"second source":                       {steps{listed(), other}, time.Time{}},
		"second source listed":                {steps{listed(), other, func(x *references.Index) { x.Replace("Job", nil) }}, second(3)},
		"second source removed":               {steps{listed(), other, func(x *references.Index) { x.Forget("Job") }}, second(3)},
		"second source listed and removed":    {steps{listed(), other, func(x *references.Index) { x.Replace("Job", nil) }, func(x *references.Index) { x.Forget("Job") }}, second(3)},
		"a referrer cannot be read":           {steps{listed(), put(references.Referrer{UID: "1", Err: errUnread})}, time.Time{}},
		"the referrer can be read again":      {steps{listed(), put(references.Referrer{UID: "1", Err: errUnread}), put(pod())}, second(3)},
		"the unreadable referrer is deleted":  {steps{listed(), put(references.Referrer{UID: "1", Err: errUnread}), gone}, second(3)},
		"a source of Secrets is not listed":   {steps{listed(), func(x *references.Index) { x.Expect("Gateway", secret) }}, second(1)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(start)
			x := references.New(clock)
			x.Expect("Pod", configMap, secret)
			for i, step := range test.steps {
				clock.SetTime(second(i + 1))
				step(x)
			}
			if uses := x.Of(target); !uses.Since.Equal(test.since) || (uses.Doubt == nil) == test.since.IsZero() {
				t.Errorf("%+v, want %s", uses, test.since)
			}
		})
	}
}

// TestIndexForgetsTargetsWithoutReferences: a target without references for a minute uses no memory.
func TestIndexForgetsTargetsWithoutReferences(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(start)
	x := references.New(clock)
	x.Expect("Pod", configMap)
	x.Replace("Pod", nil)
	for i := range 1000 {
		clock.SetTime(clock.Now().Add(time.Second))
		target := references.Target{Kind: configMap, Namespace: "n", Name: fmt.Sprint(i)}
		x.Put("Pod", references.Referrer{UID: "1", Targets: []references.Target{target}})
	}
	if known, left := x.Remembered(); known > 70 || left > 70 {
		t.Errorf("%d targets and %d removals, want at most 70", known, left)
	}
	clock.SetTime(clock.Now().Add(2 * time.Minute))
	x.Take()
	if known, left := x.Remembered(); known != 1 || left != 0 {
		t.Errorf("%d targets and %d removals, want 1 and 0", known, left)
	}
}

// TestIndexBoundsChangesToTake: beyond the limit, all targets of the kind may have changed.
func TestIndexBoundsChangesToTake(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("Pod", configMap, secret)
	x.Replace("Pod", nil)
	x.Take()
	refer := func(to references.Kind, from, n int) {
		for i := from; i < from+n; i++ {
			target := references.Target{Kind: to, Namespace: "n", Name: fmt.Sprint(i)}
			x.Put("Pod", references.Referrer{UID: types.UID(fmt.Sprint(to, i)), Targets: []references.Target{target}})
		}
	}
	refer(configMap, 0, references.ChangedAtMost)
	if taken := x.Take(); len(taken.Targets) != references.ChangedAtMost || len(taken.Whole) > 0 {
		t.Errorf("took %d targets and kinds %v", len(taken.Targets), taken.Whole)
	}
	refer(configMap, references.ChangedAtMost, references.ChangedAtMost+1)
	refer(configMap, 0, 1) // no change
	refer(secret, 0, 1)
	expect.Equal(t, "wait", 1, x.Waiting())
	if taken := x.Take(); len(taken.Targets) != 1 || !slices.Equal(taken.Whole, []references.Kind{configMap}) {
		t.Errorf("took %d targets and kinds %v", len(taken.Targets), taken.Whole)
	}
}
