// SPDX-License-Identifier: Apache-2.0

package references

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/engine/builtin"
)

// Uses is what is known about the references of an object and to it.
type Uses struct {
	// Count is the number of objects that refer to it. An object counts once for each of its sources.
	Count int
	// Targets is the number of objects that it refers to, and Selected the number of objects that its selectors match.
	Targets, Selected int
	// Doubt is why the rest may be incomplete; nil if it is not.
	Doubt error
	// Unread is why Targets, Selected and Missing are not known although Doubt is nil: the object was just created.
	Unread error
	// Since is the time since which no more than Count objects have referred to it, none of its targets has gone missing, and no
	// fewer than Selected objects were selected. It is the later of two times: when all sources about its kind became completely
	// known, and when something of this last changed. If no reference is left, the Index may forget a removal after a minute. Then
	// Since is too early, but at least a minute ago. It is zero while there is Doubt.
	Since time.Time
}

var errUnread = errors.New("what the object refers to has not been read yet")

// Of returns what is known about an object, whether it exists or not.
func (x *Index) Of(t Target) Uses {
	x.mu.Lock()
	defer x.mu.Unlock()
	u := Uses{Doubt: x.doubt(t.Kind), Since: x.complete[t.Kind], Unread: errUnread}
	known := x.targets[t]
	if known == nil {
		return u
	}
	u.Count = len(known.by)
	if known.is != nil && known.is.object.version != "" {
		u.Unread = nil
		u.Targets = len(x.targetsOf(known.is))
		for _, s := range known.is.object.selections {
			u.Selected += s.count
		}
	}
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
	slices.SortFunc(names, Name.compare)
	return names
}

// Missing returns the targets of an object that do not exist, sorted by kind, namespace and name. The slice is the caller's.
func (x *Index) Missing(t Target) (names []Name) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.targets[t]
	if known == nil || known.is == nil {
		return nil
	}
	for to, exists := range x.targetsOf(known.is) {
		if !exists {
			names = append(names, Name{to.Kind.GroupKind().Kind, to.Namespace, to.Name})
		}
	}
	slices.SortFunc(names, Name.compare)
	return names
}

// targetsOf returns the targets of a referrer, and whether they exist. A bare name of a kind that may be cluster-scoped leads to
// two targets, of which one can exist: they count as one.
func (x *Index) targetsOf(r *referrer) map[Target]bool {
	all := make(map[Target]bool, len(r.edges))
	for _, e := range r.edges {
		t := e.to.Target
		if t.Namespace == "" && !builtin.Referred.Has(t.Kind.GroupKind()) {
			t.Namespace = r.name.Namespace
		}
		all[t] = all[t] || e.to.is != nil
	}
	return all
}

// Behind returns why what the object refers to may be older than a version of the object; nil if it is not.
func (x *Index) Behind(t Target, version string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.targets[t]; known != nil && known.is != nil && known.is.object.version != "" && known.is.object.version != version {
		return fmt.Errorf("what %s %s/%s refers to is being read again", t.Kind, t.Namespace, t.Name)
	}
	return nil
}

func (n Name) compare(o Name) int {
	return cmp.Or(cmp.Compare(n.Kind, o.Kind), cmp.Compare(n.Namespace, o.Namespace), cmp.Compare(n.Name, o.Name))
}
