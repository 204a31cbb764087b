package references

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
)

// Kind is a kind of what is referred to: ConfigMap or Secret.
type Kind string

// Target is something that may be referred to, whether it exists or not.
type Target struct {
	Kind            Kind
	Namespace, Name string
}

// SourceID names a source of referrers: a kind of objects and how their references are read.
type SourceID string

// Name is what a referrer is called.
type Name struct{ Kind, Namespace, Name string }

// Referrer is an object that refers to targets, perhaps to none.
type Referrer struct {
	UID     types.UID
	Name    Name
	Targets []Target // in any order, perhaps one of them twice
	Err     error    // its references could not be read
	Unread  []Kind   // those of these kinds, where there is Err; nil for all. Targets of them do not count
}

// Index is who refers to what. The zero value is not usable; see New. It is safe for concurrent use.
type Index struct {
	clock clock.PassiveClock

	mu       lockorder.Mutex[lockorder.References]
	froms    map[SourceID]*from
	complete map[Kind]time.Time // since when all sources of a kind are known completely; those in doubt are not there
	targets  map[Target]*target // that something refers to, or did a short while ago
	edges    map[Kind]int       // how many references there are
	left     []tombstones       // the latter, and some that are referred to again, the first to be forgotten first
	changed  map[Target]struct{}
	whole    map[Kind]struct{} // of which everything may have changed
	wake     chan struct{}     // has one element while something changed
}

// from is one source.
type from struct {
	to        []Kind
	lost      error // why it is not known completely; nil when it is
	paused    bool  // what happens is not told for now
	referrers map[types.UID]*referrer
	unread    map[Kind]*unread // of each in to, the referrers of which what they refer to of it could not be read
}

type referrer struct {
	name  Name
	err   error
	blind []Kind // of what err is about
	edges []edge
}

// edge is a reference, seen from who refers.
type edge struct {
	to *target
	at int // of its counterpart in to.by
}

// target is what is referred to, seen from there.
type target struct {
	Target
	by   []back
	less nanos // when a reference last went away; 0 when none did, or longer than remembered ago
}

type back struct {
	from *referrer
	at   int // of its counterpart in from.edges
}

// New makes an Index of no source.
func New(clock clock.PassiveClock) *Index {
	return &Index{
		clock: clock, froms: map[SourceID]*from{}, complete: map[Kind]time.Time{}, targets: map[Target]*target{}, edges: map[Kind]int{},
		changed: map[Target]struct{}{}, whole: map[Kind]struct{}{}, wake: make(chan struct{}, 1),
	}
}

var errUnlisted = errors.New("it has not been listed yet")

// Expect says that a source exists, which refers to targets of some kinds. Until Replace, nothing of these kinds is known
// to be unreferenced. A source that exists already stays as it is.
func (x *Index) Expect(name SourceID, to ...Kind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.froms[name] != nil {
		return
	}
	f := &from{to: slices.Clone(to), lost: errUnlisted, referrers: map[types.UID]*referrer{}, unread: map[Kind]*unread{}}
	for _, kind := range to {
		f.unread[kind] = &unread{}
	}
	x.froms[name] = f
	x.touch(to)
}

// Forget says that a source exists no more. What its referrers refer to they do not by it.
func (x *Index) Forget(name SourceID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.froms[name]
	if f == nil {
		return
	}
	for uid := range f.referrers {
		x.remove(f, uid)
	}
	delete(x.froms, name)
	x.touch(f.to)
}

// Lose says that a source is not known completely any more, and why. What it has told stays until Replace.
func (x *Index) Lose(name SourceID, why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.froms[name]; f != nil {
		known := f.lost == nil
		if f.lost = why; known {
			x.touch(f.to)
		}
	}
}

// Replace gives all referrers of a source, which is known completely from now on.
func (x *Index) Replace(name SourceID, all []Referrer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.froms[name]
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

// Put gives a referrer of a source as it is now.
func (x *Index) Put(name SourceID, r Referrer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.froms[name]; f != nil {
		x.put(f, &r)
	}
}

// Remove says that a referrer of a source exists no more.
func (x *Index) Remove(name SourceID, uid types.UID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.froms[name]; f != nil {
		x.remove(f, uid)
	}
}

// Uses is what is known of a target.
type Uses struct {
	// Count is how many objects refer to it. An object that does so by several sources counts once for each.
	Count int
	// Doubt is why there may be more than Count; nil when there are not.
	Doubt error
	// Since is since when no more than Count are known to: the later of when all sources of its kind became known completely
	// and when a reference to it last went away. What went away longer than a minute ago may be forgotten where nothing is
	// left: Since is too early then, but at least a minute ago. It is zero while there is Doubt.
	Since time.Time
}

// Of gives what is known of a target.
func (x *Index) Of(t Target) Uses {
	x.mu.Lock()
	defer x.mu.Unlock()
	u := Uses{Doubt: x.doubt(t.Kind), Since: x.complete[t.Kind]}
	known := x.targets[t]
	if known == nil {
		return u
	}
	u.Count = len(known.by)
	if less := known.less.time(); u.Doubt == nil && less.After(u.Since) {
		u.Since = less
	}
	return u
}

// By lists what is known to refer to a target, by kind, namespace and name. The slice is the caller's.
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
