// SPDX-License-Identifier: Apache-2.0

package references

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
)

// Kind is the kind of a target: ConfigMap or Secret.
type Kind string

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
	Unread  []Kind   // with Err: the kinds to which they could not be read; nil for all. Targets of these kinds do not count
}

// Index knows which objects refer to which targets. Use New; the zero value is not usable. It is safe for concurrent use.
type Index struct {
	clock clock.PassiveClock

	mu         lockorder.Mutex[lockorder.References]
	sources    map[SourceID]*from
	complete   map[Kind]time.Time // since when all sources of a kind are completely known; without kinds in doubt
	targets    map[Target]*target // targets with references, now or a short while ago
	edges      map[Kind]int       // the number of references
	tombstones []tombstone        // targets without references, and some that have references again; the oldest removal first
	changed    map[Target]struct{}
	whole      map[Kind]struct{} // kinds of which every target may have changed
	wake       wake.Signal       // has one element while there are changes
}

// from is one source.
type from struct {
	to        []Kind
	lost      error // why it is not completely known; nil if it is
	paused    bool  // changes are not reported for now
	referrers map[types.UID]*referrer
	unread    map[Kind]*unread // by each kind in to: the referrers whose references to the kind could not be read
}

type referrer struct {
	name  Name
	err   error
	blind []Kind // the kinds that err is about
	edges []edge
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
	lastRemoved nanos // when a reference was last removed; 0 if never, or longer than remembered ago
}

type backEdge struct {
	from *referrer
	at   int // index of its counterpart in from.edges
}

// New returns an Index without sources.
func New(clock clock.PassiveClock) *Index {
	return &Index{
		clock: clock, sources: map[SourceID]*from{}, complete: map[Kind]time.Time{}, targets: map[Target]*target{}, edges: map[Kind]int{},
		changed: map[Target]struct{}{}, whole: map[Kind]struct{}{},
	}
}

// ErrUnlisted is why the references of a kind are not known before its first list.
var ErrUnlisted = errors.New("it has not been listed yet")

// Expect adds a source that refers to targets of some kinds. Until Replace, no target of these kinds is known to be
// unreferenced. Expect does not change an existing source.
func (x *Index) Expect(name SourceID, to ...Kind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sources[name] != nil {
		return
	}
	f := &from{to: slices.Clone(to), lost: ErrUnlisted, referrers: map[types.UID]*referrer{}, unread: map[Kind]*unread{}}
	for _, kind := range to {
		f.unread[kind] = &unread{}
	}
	x.sources[name] = f
	x.touch(to)
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
	x.touch(f.to)
}

// Lose records that a source is no longer completely known, and why. Its known references stay until Replace.
func (x *Index) Lose(name SourceID, why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.sources[name]; f != nil {
		known := f.lost == nil
		if f.lost = why; known {
			x.touch(f.to)
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
	if f.lost != nil {
		f.lost = nil
		x.touch(f.to)
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

// Uses is what is known about the references to a target.
type Uses struct {
	// Count is the number of objects that refer to it. An object counts once for each of its sources.
	Count int
	// Doubt is why there may be more than Count; nil if there are not.
	Doubt error
	// Since is the time since which no more than Count objects have referred to it. It is the later of two times: when all sources of
	// its kind became completely known, and when a reference to it was last removed. If no reference is left, the Index may forget a
	// removal after a minute. Then Since is too early, but at least a minute ago. It is zero while there is Doubt.
	Since time.Time
}

// Of returns what is known about the references to a target.
func (x *Index) Of(t Target) Uses {
	x.mu.Lock()
	defer x.mu.Unlock()
	u := Uses{Doubt: x.doubt(t.Kind), Since: x.complete[t.Kind]}
	known := x.targets[t]
	if known == nil {
		return u
	}
	u.Count = len(known.by)
	if less := known.lastRemoved.time(); u.Doubt == nil && less.After(u.Since) {
		u.Since = less
	}
	return u
}

// By returns the known referrers of a target, sorted by kind, namespace and name. The slice is the caller's.
func (x *Index) By(t Target) []Name {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.targets[t]
	if known == nil || len(known.by) == 0 {
		return nil
	}
	names := make([]Name, len(known.by))
	for i, b := range known.by {
		names[i] = b.from.name
	}
	slices.SortFunc(names, func(a, b Name) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return names
}
