// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Record is one archived object to restore: the object of a record of the archive, or one of its dependents.
type Record struct {
	Object     map[string]any
	Redacted   []string // paths of fields whose values are not in the archive
	Left       []string // kinds of dependents that only the record has, since they are not restored
	From       string   // where the record is: ARCHIVE/SEGMENT#LINE
	ArchivedAt time.Time
}

// Ref names an object of a cluster. The Namespace of a cluster-scoped kind does not matter.
type Ref struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// Served says how the cluster serves a kind.
type Served struct {
	Namespaced bool
	BuiltIn    bool // Kubernetes itself serves it; its controllers compute the status
}

// Live is what lives in the cluster, of what Refs names.
type Live struct {
	Objects map[Ref]types.UID // the objects that exist
	Unknown map[Ref]error     // the objects of which the cluster does not tell whether they exist
	Served  map[schema.GroupVersionKind]Served
}

// Options says what else to restore.
type Options struct {
	Redacted bool // restore objects although values of fields are not in the archive
	Finished bool // restore custom resources that ran to completion, although their controllers may run them again
}

// Step is what happens with one archived object.
type Step struct {
	Ref      Ref
	UID      types.UID      // that the archived object had
	Archived map[string]any // not changed
	From     string         // see Record
	Object   map[string]any // to create; nil if the object is not restored
	Status   map[string]any // to write to the subresource status after the object was created, if there is one; nil for none
	Why      string         // why the object is not restored; empty if it is
	Notes    []string       // what differs from the archived object, and what else the user must know

	record   Record
	restored map[int]types.UID // by position of an owner reference: the former UID of an owner that is restored before
}

// Refs returns the objects that Plan must know whether they exist: the archived ones, their owners, namespaces and volumes.
func Refs(records []Record) []Ref {
	var refs []Ref
	seen := map[Ref]bool{}
	add := func(r Ref) {
		if r.Name != "" && !seen[r] {
			seen[r] = true
			refs = append(refs, r)
		}
	}
	for _, s := range steps(records) {
		add(s.Ref)
		if s.Ref.Namespace != "" {
			add(namespaceRef(s.Ref.Namespace))
		}
		for _, o := range s.owners() {
			add(ownerRef(o, s.Ref.Namespace))
		}
		add(volumeRef(s.Archived))
	}
	return refs
}

// steps returns a Step for each record, without decisions.
func steps(records []Record) []*Step {
	all := make([]*Step, len(records))
	for i, r := range records {
		all[i] = &Step{Ref: refOf(r.Object), UID: uidOf(r.Object), Archived: r.Object, From: r.From, record: r}
	}
	return all
}

func refOf(object map[string]any) Ref {
	u := unstructured.Unstructured{Object: object}
	return Ref{u.GroupVersionKind(), u.GetNamespace(), u.GetName()}
}

func uidOf(object map[string]any) types.UID {
	u := unstructured.Unstructured{Object: object}
	return u.GetUID()
}

func (s *Step) owners() []metav1.OwnerReference {
	u := unstructured.Unstructured{Object: s.Archived}
	return u.GetOwnerReferences()
}

func ownerRef(o metav1.OwnerReference, namespace string) Ref {
	return Ref{schema.FromAPIVersionAndKind(o.APIVersion, o.Kind), namespace, o.Name}
}

func namespaceRef(name string) Ref {
	return Ref{schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", name}
}

// volumeRef names the PersistentVolume of a claim; the zero Ref for none.
func volumeRef(object map[string]any) Ref {
	if refOf(object).GroupKind() != claims {
		return Ref{}
	}
	name, _, _ := unstructured.NestedString(object, "spec", "volumeName")
	return Ref{schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}, "", name}
}
