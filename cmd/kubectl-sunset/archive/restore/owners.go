// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/audit"
)

func nameOf(o *unstructured.Unstructured) audit.Object {
	return audit.Object{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// setOwners keeps references to owners that live, prepares references to owners that are restored too, and removes all others:
// garbage collection would delete an object whose owners do not exist.
func (p *planner) setOwners(s *Step) {
	var kept []metav1.OwnerReference
	s.restored = map[int]types.UID{}
	for _, o := range s.Archived.GetOwnerReferences() {
		switch {
		case p.live(audit.Object{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: s.Name.Namespace, Name: o.Name}) == o.UID:
			kept = append(kept, o)
		case p.byUID[o.UID] != nil:
			s.restored[len(kept)] = o.UID
			o.UID = ""
			kept = append(kept, o)
			s.note("owner %s %s: its UID after it was restored", o.Kind, o.Name)
		default:
			s.note("owner reference removed: %s %s with UID %s does not exist, is being deleted, or you have no permission to get it", o.Kind, o.Name, o.UID)
		}
	}
	s.Object.SetOwnerReferences(kept)
}

// Linked returns the object to create, with the UIDs of owners that were restored before; created has them by their former UIDs. It
// returns an error if one of them was not created: the object must then not be created either.
func (s *Step) Linked(created map[types.UID]types.UID) (*unstructured.Unstructured, error) {
	object := s.Object.DeepCopy()
	references := object.GetOwnerReferences()
	for i, former := range s.restored {
		uid, ok := created[former]
		if !ok {
			return nil, fmt.Errorf("its owner %s %s was not created", references[i].Kind, references[i].Name)
		}
		references[i].UID = uid
	}
	object.SetOwnerReferences(references)
	return object, nil
}

// ordered returns the steps so that owners come before their dependents, unless they own each other.
func (p *planner) ordered(steps []*Step) (result []*Step) {
	done := map[*Step]bool{}
	var add func(*Step)
	add = func(s *Step) {
		if done[s] {
			return
		}
		done[s] = true
		for _, former := range s.restored {
			add(p.byUID[former])
		}
		result = append(result, s)
	}
	for _, s := range steps {
		add(s)
	}
	return result
}
