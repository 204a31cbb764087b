// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/audit"
)

func nameOf(o *unstructured.Unstructured) audit.Object {
	return audit.Object{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// addOthers adds the objects of records that are not to be restored, so that their dependents know about them.
func (p *planner) addOthers(records []Record) {
	p.others = map[types.UID]*Step{}
	for _, r := range records {
		for _, other := range r.Others {
			s := &Step{Record: other, Name: nameOf(other.Archived)}
			s.Why = p.refuseOver(s)
			p.others[other.Archived.GetUID()] = s
		}
	}
}

// managerOf returns the reference to the owner that manages an object: its controller, or its only owner; nil if there is none.
func managerOf(o *unstructured.Unstructured) *metav1.OwnerReference {
	if controller := metav1.GetControllerOf(o); controller != nil {
		return controller
	}
	if owners := o.GetOwnerReferences(); len(owners) == 1 {
		return &owners[0]
	}
	return nil
}

// settle refuses an object whose manager must not run again or is not restored: the object could run without it, and garbage collection
// would never delete it. It settles the manager first.
func (p *planner) settle(s *Step) {
	if p.settled[s] {
		return
	}
	p.settled[s] = true
	manager := managerOf(s.Archived)
	if s.Why != "" || manager == nil {
		return
	}
	owner := cmp.Or(p.byUID[manager.UID], p.refused[manager.UID], p.others[manager.UID])
	if owner == nil || p.isLive(s, *manager) {
		return
	}
	p.settle(owner)
	switch {
	case owner.Older:
		s.Older, s.Why = true, fmt.Sprintf("it belongs to an older record, that of %s %s", manager.Kind, manager.Name)
	case owner.Why != "":
		s.Why = fmt.Sprintf("its owner %s %s is not restored, and nothing else would manage or delete it; to view it: kubectl sunset archive get", manager.Kind, manager.Name)
	case metav1.GetControllerOf(s.Archived) != nil && owner.runsToCompletion() && !s.runsToCompletion():
		s.Why = fmt.Sprintf("its controller %s %s must not run again, and no field keeps this %s from running; to view it: kubectl sunset archive get",
			manager.Kind, manager.Name, s.Name.Kind)
	}
}

// isLive reports whether an owner of an object exists.
func (p *planner) isLive(s *Step, o metav1.OwnerReference) bool {
	return p.live(audit.Object{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: s.Name.Namespace, Name: o.Name}).GetUID() == o.UID
}

// setOwners keeps references to owners that live, prepares references to owners that are restored too, and removes all others:
// garbage collection would delete an object whose owners do not exist.
func (p *planner) setOwners(s *Step) {
	var kept []metav1.OwnerReference
	s.restored = map[int]types.UID{}
	for _, o := range s.Archived.GetOwnerReferences() {
		owner := p.byUID[o.UID]
		switch {
		case p.isLive(s, o):
			kept = append(kept, o)
		case owner != nil && owner.Why == "":
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
// returns an error if one of them, or the volume of a claim, was not created: the object must then not be created either.
func (s *Step) Linked(created map[types.UID]types.UID) (*unstructured.Unstructured, error) {
	if s.volume != nil && created[s.volume.Archived.GetUID()] == "" {
		return nil, fmt.Errorf("its PersistentVolume %s was not created; to create the claim with a new, empty volume, restore it without the PersistentVolume", s.volume.Name.Name)
	}
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
