// SPDX-License-Identifier: Apache-2.0

package references

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy"
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
	// Undeclared is what rules ask although neither Kubernetes nor a policy declares it for the kind.
	Undeclared policy.Relations
	// Since is the time since which no more than Count objects have referred to it, none of its targets has gone missing, and no
	// fewer than Selected objects were selected. It is the later of two times: when all sources about its kind became completely
	// known, and when something of this last changed. If no reference is left, the Index may forget a removal after a minute. Then
	// Since is too early, but at least a minute ago. It is zero while there is Doubt.
	Since time.Time
}

var errUnread = errors.New("the references of this object have not been read yet; Sunset retries")

// Of returns what is known about an object, whether it exists or not.
func (x *Index) Of(t Target) Uses {
	x.mu.Lock()
	defer x.mu.Unlock()
	u := Uses{Doubt: x.doubt(t.Kind), Since: x.complete[t.Kind], Unread: errUnread, Undeclared: x.undeclared[t.Kind]}
	known := x.targets[t]
	if known == nil {
		return u
	}
	u.Count = len(known.by)
	if read := known.read(); len(read) > 0 {
		u.Unread, u.Targets = nil, len(targetsOf(read))
		for _, r := range read {
			for _, s := range r.object.selections {
				u.Selected += s.count
			}
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

// Missing returns the targets of an object that do not exist, sorted by kind, namespace and name. A target that the object names without
// a namespace has none, if it may be an object of its namespace or a cluster-scoped one. The slice is the caller's.
func (x *Index) Missing(t Target) (names []Name) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.targets[t]
	if known == nil {
		return nil
	}
	for to, one := range targetsOf(known.read()) {
		if one.anyScope {
			to.Namespace = ""
		}
		if !one.exists {
			names = append(names, Name{to.Kind.GroupKind().Kind, to.Namespace, to.Name})
		}
	}
	slices.SortFunc(names, Name.compare)
	return names
}

// read returns the object as each source has read it that tells what it refers to and selects.
func (t *target) read() []*referrer {
	return slices.DeleteFunc(slices.Clone(t.is), func(r *referrer) bool { return r.object.version == "" })
}

// referred is how an object refers to another one.
type referred struct {
	exists   bool
	anyScope bool // by a name without a namespace, of an object in its namespace or of a cluster-scoped one
}

// targetsOf returns the targets of an object, as one or several sources have read it. A bare name of a kind that may be cluster-scoped
// leads to two targets, of which one can exist: they count as one. Names of objects that need not exist are left out.
func targetsOf(read []*referrer) map[Target]referred {
	all := map[Target]referred{}
	for _, r := range read {
		possible := possibleKinds[r.object.node.Kind]
		for _, e := range r.edges {
			if possible.Has(e.to.Kind) {
				continue
			}
			to, anyScope := e.to.Target, e.to.Namespace == "" && !referredKinds.Has(e.to.Kind)
			if anyScope {
				to.Namespace = r.name.Namespace
			}
			known := all[to]
			all[to] = referred{known.exists || len(e.to.is) > 0, known.anyScope || anyScope}
		}
	}
	return all
}

// Behind returns why what the object refers to may be older than a version of the object; nil if it is not.
func (x *Index) Behind(t Target, version string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.targets[t]
	if known == nil || !slices.ContainsFunc(known.read(), func(r *referrer) bool { return r.object.version != version }) {
		return nil
	}
	return fmt.Errorf("the references of %s %q are from another version of the object; Sunset waits for the watch", t.Kind, pathOf(t.Namespace, t.Name))
}

// pathOf returns how messages name an object.
func pathOf(namespace, name string) string { return strings.TrimPrefix(namespace+"/"+name, "/") }

func (n Name) compare(o Name) int {
	return cmp.Or(cmp.Compare(n.Kind, o.Kind), cmp.Compare(n.Namespace, o.Namespace), cmp.Compare(n.Name, o.Name))
}
