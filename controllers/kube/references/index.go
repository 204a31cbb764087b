// SPDX-License-Identifier: Apache-2.0

package references

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
)

// Target is an object that other objects may refer to, whether it exists or not.
type Target struct {
	Kind            Kind
	Namespace, Name string
}

// SourceID identifies a source of referrers: a kind of objects, and how their references are read.
type SourceID string

// Name identifies a referrer in messages.
type Name struct{ Kind, Namespace, Name string }

// Referrer is an object that refers to targets, perhaps to none.
type Referrer struct {
	UID     types.UID
	Name    Name
	Targets []Target // in any order, possibly with duplicates
	Err     error    // why its references could not be read
	Unread  []Kind   // with Err: the kinds about which something could not be read; nil for all. Targets of these kinds do not count
	Object  *Object  // nil if rules ask nothing about the object itself
}

// Object is what rules ask about a referrer besides its references.
type Object struct {
	Kind      Kind       // the object counts as an existing target of this kind; empty if no rule asks whether it exists
	Version   string     // its resourceVersion; empty if no rule asks what it refers to or selects
	Selectors []Selector // which objects it selects
	Labels    []Labels   // which labels selectors may find in it
}

// Index knows which objects refer to which targets. Use New; the zero value is not usable. It is safe for concurrent use.
type Index struct {
	clock clock.PassiveClock

	mu         lockorder.Mutex[lockorder.References]
	sources    map[SourceID]*from
	undeclared Asked              // by neither Kubernetes nor a policy
	complete   map[Kind]time.Time // since when all sources of a kind are completely known; without kinds in doubt
	targets    map[Target]*target // objects that exist or that others refer to, now or a short while ago
	edges      map[Kind]int       // the number of references
	labels     map[kindInNamespace]*labelIndex
	tombstones []tombstone // targets without references, and some that have references again; the oldest removal first
	changed    map[Target]struct{}
	whole      map[Kind]struct{} // kinds of which every target may have changed
	wake       wake.Signal       // has one element while there are changes
}

// from is one source.
type from struct {
	about     []Kind
	lost      error // why it is not completely known; nil if it is
	paused    bool  // changes are not reported for now
	referrers map[types.UID]*referrer
	unread    map[Kind]*unread // by each kind in about: the referrers of which something about it could not be read
}

type referrer struct {
	name    Name
	failure *failure // nil if its references could be read
	edges   []edge
	object  *object // nil if rules ask nothing about it
}

// failure is why references could not be read.
type failure struct {
	err   error
	about []Kind
}

// edge is a reference on the side of the referrer.
type edge struct {
	to *target
	at int // index of its counterpart in to.by
}

// target is a target and its references on this side.
type target struct {
	Target
	by          []backEdge
	is          []*referrer // the object, once for each source; empty if it does not exist, or if no rule asks whether it does
	lastRemoved nanos       // when a reference to it was last removed, or its own targets or selected objects last changed; 0 if never or long ago
}

type backEdge struct {
	from *referrer
	at   int // index of its counterpart in from.edges
}

// New returns an Index without sources.
func New(clock clock.PassiveClock) *Index {
	return &Index{
		clock: clock, sources: map[SourceID]*from{}, complete: map[Kind]time.Time{}, targets: map[Target]*target{}, edges: map[Kind]int{},
		labels:  map[kindInNamespace]*labelIndex{},
		changed: map[Target]struct{}{}, whole: map[Kind]struct{}{},
	}
}

// ErrUnlisted is why the references of a kind are not known before its first list.
var ErrUnlisted = errors.New("it has not been listed yet")

// Expect adds a source that some kinds depend on: it may refer to objects of these kinds, or their references lead to it. Until
// Replace, no object of these kinds is known to be unreferenced. If other kinds depended on an existing source, these do from then on;
// kinds that were in doubt stay in doubt without interruption. Otherwise Expect does not change an existing source.
func (x *Index) Expect(name SourceID, about ...Kind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.sources[name]
	switch {
	case f == nil:
		f = &from{referrers: map[types.UID]*referrer{}, unread: map[Kind]*unread{}}
		x.sources[name] = f
	case slices.Equal(f.about, about):
		return
	}
	stays := func(k Kind) bool { return f.lost != nil && slices.Contains(f.about, k) && slices.Contains(about, k) }
	changed := slices.DeleteFunc(slices.Concat(f.about, about), stays)
	if f.lost == nil {
		f.lost = ErrUnlisted
	}
	f.concern(about)
	x.touch(changed)
}

// concern sets the kinds that depend on a source.
func (f *from) concern(about []Kind) {
	f.about = slices.Clone(about)
	for _, kind := range about {
		if f.unread[kind] == nil {
			f.unread[kind] = &unread{}
		}
	}
}

// SetUndeclared sets what rules ask although neither Kubernetes nor a policy declares it.
func (x *Index) SetUndeclared(all Asked) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, kind := range slices.Concat(all.Kinds(), x.undeclared.Kinds()) {
		if all[kind] != x.undeclared[kind] {
			x.whole[kind] = struct{}{}
			x.wake.Send()
		}
	}
	x.undeclared = all
}

// Forget removes a source and its references. References from other sources stay.
func (x *Index) Forget(name SourceID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.sources[name]
	if f == nil {
		return
	}
	for uid := range f.referrers {
		x.remove(f, uid)
	}
	delete(x.sources, name)
	x.touch(f.about)
}

// Lose records that a source is no longer completely known, and why. Its known references stay until Replace.
func (x *Index) Lose(name SourceID, why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.sources[name]; f != nil {
		known := f.lost == nil
		if f.lost = why; known {
			x.touch(f.about)
		}
	}
}

// Replace sets all referrers of a source, which is completely known from then on.
func (x *Index) Replace(name SourceID, all []Referrer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.sources[name]
	if f == nil {
		return
	}
	x.putAll(f, all)
	if f.lost != nil {
		f.lost = nil
		x.touch(f.about)
	}
}

// Succeed is Replace for a source that takes the place of another one, and that some kinds depend on from then on. References that
// both have stay without interruption. If the other source is unknown, it is an ordinary Replace.
func (x *Index) Succeed(name, before SourceID, about []Kind, all []Referrer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f, old := x.sources[name], x.sources[before]
	if f == nil {
		return
	}
	changed := f.about // what both read in the same way does not change
	if old != nil {
		for uid := range f.referrers { // a watch may have reported some after its listing was lost
			x.remove(f, uid)
		}
		f.referrers, f.unread = old.referrers, old.unread
		delete(x.sources, before)
		changed = append(slices.Clone(changed), slices.DeleteFunc(slices.Clone(old.about), func(k Kind) bool { return old.lost == nil && slices.Contains(about, k) })...)
	}
	f.concern(about)
	f.lost = nil
	x.putAll(f, all)
	x.touch(changed)
}

// putAll sets all referrers of a source.
func (x *Index) putAll(f *from, all []Referrer) {
	there := make(map[types.UID]bool, len(all))
	for i := range all {
		there[all[i].UID] = true
		x.put(f, &all[i])
	}
	for uid := range f.referrers {
		if !there[uid] {
			x.remove(f, uid)
		}
	}
}

// Put adds or updates a referrer of a source.
func (x *Index) Put(name SourceID, r Referrer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.sources[name]; f != nil {
		x.put(f, &r)
	}
}

// Remove removes a referrer of a source that no longer exists.
func (x *Index) Remove(name SourceID, uid types.UID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.sources[name]; f != nil {
		x.remove(f, uid)
	}
}
