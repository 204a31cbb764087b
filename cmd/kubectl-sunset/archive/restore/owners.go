// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// setOwners keeps references to owners that live, prepares references to owners that are restored too, and removes all others:
// garbage collection would delete an object whose owners do not exist.
func (p *planner) setOwners(s *Step) {
	var kept []metav1.OwnerReference
	for _, o := range s.owners() {
		ref := ownerRef(o, s.Ref.Namespace)
		uid, exists := p.live.Objects[ref]
		switch restored := p.byUID[o.UID]; {
		case exists && uid == o.UID:
			kept = append(kept, o)
		case restored != nil && !p.owns(s, restored):
			if s.restored == nil {
				s.restored = map[int]types.UID{}
			}
			s.restored[len(kept)] = o.UID
			o.UID = ""
			kept = append(kept, o)
			s.note("owner %s %s: its UID after it was restored", o.Kind, o.Name)
		case exists:
			s.note("owner reference removed: %s %s exists, but is not the owner: its UID differs", o.Kind, o.Name)
		case p.live.Unknown[ref] != nil:
			s.note("owner reference removed: cannot tell whether %s %s exists: %v", o.Kind, o.Name, p.live.Unknown[ref])
		default:
			s.note("owner reference removed: %s %s does not exist", o.Kind, o.Name)
		}
	}
	s.object().SetOwnerReferences(kept)
}

// owns reports whether s owns another object, directly or not, or is it. References in a circle cannot be restored.
func (p *planner) owns(s, other *Step) bool {
	seen := map[*Step]bool{}
	var above func(*Step) bool
	above = func(o *Step) bool {
		if o == nil || seen[o] {
			return false
		}
		seen[o] = true
		return o == s || slices.ContainsFunc(owners(o), func(uid types.UID) bool { return above(p.byUID[uid]) })
	}
	return above(other)
}

func owners(s *Step) []types.UID {
	var uids []types.UID
	for _, o := range s.owners() {
		uids = append(uids, o.UID)
	}
	return uids
}

// Link sets the UIDs of owners that were restored before; created has them by their former UIDs. It returns an error if one of them
// was not created: the object must then not be created either.
func (s *Step) Link(created map[types.UID]types.UID) error {
	references := s.object().GetOwnerReferences()
	for i, former := range s.restored {
		uid, ok := created[former]
		if !ok {
			return fmt.Errorf("its owner %s %s was not created", references[i].Kind, references[i].Name)
		}
		references[i].UID = uid
	}
	if len(s.restored) > 0 {
		s.object().SetOwnerReferences(references)
	}
	return nil
}

// sorted sorts steps by kind, those that others need first, and then by name.
func sorted(all []*Step) []*Step {
	slices.SortStableFunc(all, func(a, b *Step) int {
		return cmp.Or(cmp.Compare(rank(a.Ref.GroupKind()), rank(b.Ref.GroupKind())), cmp.Compare(a.Ref.Namespace, b.Ref.Namespace),
			cmp.Compare(a.Ref.Group, b.Ref.Group), cmp.Compare(a.Ref.Kind, b.Ref.Kind), cmp.Compare(a.Ref.Name, b.Ref.Name), a.record.ArchivedAt.Compare(b.record.ArchivedAt))
	})
	return all
}

// ordered returns the steps so that owners come before their dependents.
func (p *planner) ordered() (result []*Step) {
	done := map[*Step]bool{}
	var add func(*Step)
	add = func(s *Step) {
		if s == nil || done[s] {
			return
		}
		done[s] = true
		for _, former := range s.restored {
			add(p.byUID[former])
		}
		result = append(result, s)
	}
	for _, s := range p.steps {
		add(s)
	}
	return result
}
