package references

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Kind is a kind of what is referred to: ConfigMap or Secret.
type Kind string

// Target is something that may be referred to, whether it exists or not.
type Target struct {
	Kind            Kind
	Namespace, Name string
}

// From names a source of referrers: a kind of objects and how their references are read.
type From string

// Name is what a referrer is called.
type Name struct{ Kind, Namespace, Name string }

// Referrer is an object that refers to targets, perhaps to none.
type Referrer struct {
	UID     types.UID
	Name    Name
	Targets []Target // in any order, perhaps one of them twice
	Err     error    // its references could not be read; Targets does not count then
}

// Index is who refers to what. The zero value is not usable; see New. It is safe for concurrent use.
type Index struct {
	mu      sync.Mutex
	froms   map[From]*from
	targets map[Target]*target // that something refers to
	changed map[Target]struct{}
	whole   map[Kind]struct{} // of which everything may have changed
	wake    chan struct{}     // has one element while something changed
}

// from is one source.
type from struct {
	to        []Kind
	lost      error // why it is not known completely; nil when it is
	referrers map[types.UID]*referrer
	unread    int // referrers with an error
}

type referrer struct {
	name  Name
	err   error
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
	by []back
}

type back struct {
	from *referrer
	at   int // of its counterpart in from.edges
}

// New makes an Index of no source.
func New() *Index {
	return &Index{
		froms: map[From]*from{}, targets: map[Target]*target{},
		changed: map[Target]struct{}{}, whole: map[Kind]struct{}{}, wake: make(chan struct{}, 1),
	}
}

var errUnlisted = errors.New("it has not been listed yet")

// Expect says that a source exists, which refers to targets of some kinds. Until Replace, nothing of these kinds is known
// to be unreferenced. A source that exists already stays as it is.
func (x *Index) Expect(name From, to ...Kind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.froms[name] != nil {
		return
	}
	x.froms[name] = &from{to: slices.Clone(to), lost: errUnlisted, referrers: map[types.UID]*referrer{}}
	x.touch(to)
}

// Forget says that a source exists no more. What its referrers refer to they do not by it.
func (x *Index) Forget(name From) {
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
func (x *Index) Lose(name From, why error) {
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
func (x *Index) Replace(name From, all []Referrer) {
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
func (x *Index) Put(name From, r Referrer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.froms[name]; f != nil {
		x.put(f, &r)
	}
}

// Remove says that a referrer of a source exists no more.
func (x *Index) Remove(name From, uid types.UID) {
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
}

// Of gives what is known of a target.
func (x *Index) Of(t Target) Uses {
	x.mu.Lock()
	defer x.mu.Unlock()
	u := Uses{Doubt: x.doubt(t.Kind)}
	if known := x.targets[t]; known != nil {
		u.Count = len(known.by)
	}
	return u
}

// By lists what is known to refer to a target, by kind, namespace and name. The slice is the caller's.
func (x *Index) By(t Target) []Name {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.targets[t]
	if known == nil {
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

// Doubt is why nothing of a kind is known to be unreferenced, one reason of perhaps many; nil when it is known.
func (x *Index) Doubt(kind Kind) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.doubt(kind)
}

// doubt gives the first reason by the name of its source, so that it does not change from one question to the next.
func (x *Index) doubt(kind Kind) error {
	var first From
	var why error
	for name, f := range x.froms {
		if (why == nil || name < first) && slices.Contains(f.to, kind) {
			if err := f.doubt(); err != nil {
				first, why = name, err
			}
		}
	}
	if why == nil {
		return nil
	}
	return fmt.Errorf("what refers to a %s is not known completely: %s: %w", kind, first, why)
}

func (f *from) doubt() error {
	if f.lost != nil || f.unread == 0 {
		return f.lost
	}
	var of *referrer
	for _, r := range f.referrers {
		if r.err != nil && (of == nil || less(r.name, of.name)) {
			of = r
		}
	}
	return fmt.Errorf("%s/%s: %w", of.name.Namespace, of.name.Name, of.err)
}

func less(a, b Name) bool {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
}
