// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Plan returns the steps that restore records, in the order in which to carry them out: namespaces, definitions of kinds, and owners
// before their dependents. It does not change the records.
func Plan(records []Record, live Live, options Options) []*Step {
	all := steps(records)
	p := &planner{live: live, options: options, steps: all, byUID: map[types.UID]*Step{}, defined: definitions(all)}
	newest := p.newest()
	for _, s := range all {
		if s.Why = p.refuse(s, newest); s.Why == "" && s.UID != "" {
			p.byUID[s.UID] = s
		}
	}
	p.refuseOrphans()
	for _, s := range all {
		if s.Why == "" {
			p.prepare(s)
		}
	}
	return ordered(all, p.byUID)
}

// planner holds what the decisions about one object need to know about the others.
type planner struct {
	live    Live
	options Options
	steps   []*Step
	byUID   map[types.UID]*Step // that are restored, by their former UIDs
	defined map[string]Served   // kinds whose CustomResourceDefinitions are among the records, as APIVERSION/KIND
}

// newest returns the newest record of each name. An object of which the archive has several can only be restored once.
func (p *planner) newest() map[Ref]*Step {
	newest := map[Ref]*Step{}
	for _, s := range p.steps {
		name := s.Ref
		name.Version = ""
		if other := newest[name]; other == nil || s.archivedAt.After(other.archivedAt) {
			newest[name] = s
		}
	}
	return newest
}

// refuse returns why an object cannot be restored; empty if it can.
func (p *planner) refuse(s *Step, newest map[Ref]*Step) string {
	name := s.Ref
	name.Version = ""
	uid, exists := p.live.Objects[s.Ref]
	_, unknown := p.live.Unknown[s.Ref]
	served, isServed := p.served(s)
	switch {
	case s.Ref.Kind == "" || s.Ref.Name == "":
		return "the record has no kind or no name"
	case exists && uid == s.UID:
		return "it still exists: it was not deleted"
	case exists:
		return "another object of this name exists, and restore never replaces an object; delete or rename that one first"
	case viewOnly[s.Ref.GroupKind()] != "":
		return viewOnly[s.Ref.GroupKind()]
	case newest[name] != s:
		return "the selection has a newer record of an object of this name"
	case !isServed:
		return fmt.Sprintf("the cluster does not serve %s %s; install its CustomResourceDefinition first", s.Ref.GroupVersion(), s.Ref.Kind)
	case unknown:
		return fmt.Sprintf("cannot tell whether it exists: %v", p.live.Unknown[s.Ref])
	case len(s.redacted) > 0 && !p.options.Redacted:
		return fmt.Sprintf("values are not in the archive: %s; to restore it without them, use --redacted", strings.Join(s.redacted, ", "))
	case served.Namespaced && !p.hasNamespace(s.Ref.Namespace):
		return fmt.Sprintf("namespace %s does not exist; create it first: kubectl create namespace %[1]s", s.Ref.Namespace)
	}
	return ""
}

// served returns how the cluster serves the kind of an object, now or after its definition was restored.
func (p *planner) served(s *Step) (Served, bool) {
	if served, ok := p.live.Served[s.Ref.GroupVersionKind]; ok {
		return served, true
	}
	served, ok := p.defined[kindName(s.Ref.GroupVersionKind)]
	return served, ok
}

// hasNamespace reports whether a namespace exists, or is restored too.
func (p *planner) hasNamespace(name string) bool {
	namespace := namespaceRef(name)
	if _, exists := p.live.Objects[namespace]; exists {
		return true
	}
	if _, unknown := p.live.Unknown[namespace]; unknown {
		return true // the API server refuses the object if the namespace does not exist
	}
	return slices.ContainsFunc(p.steps, func(s *Step) bool { return s.Ref == namespace })
}

// refuseOrphans refuses objects whose namespace or definition is among the records, but is not restored.
func (p *planner) refuseOrphans() {
	for _, s := range p.steps {
		if s.Why != "" || s.Ref.Namespace == "" {
			continue
		}
		namespace := namespaceRef(s.Ref.Namespace)
		if _, exists := p.live.Objects[namespace]; exists {
			continue
		}
		for _, n := range p.steps {
			if n.Ref == namespace && n.Why != "" {
				s.Why = fmt.Sprintf("namespace %s is not restored: %s", n.Ref.Name, n.Why)
				delete(p.byUID, s.UID)
			}
		}
	}
}

// generated are the fields of metadata that only the API server sets.
var generated = []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"}

// prepare sets the object to create.
func (p *planner) prepare(s *Step) {
	s.Object = runtime.DeepCopyJSON(s.Archived)
	for _, field := range generated {
		unstructured.RemoveNestedField(s.Object, "metadata", field)
	}
	if finalizers := s.object().GetFinalizers(); len(finalizers) > 0 && !p.options.Finalizers {
		s.object().SetFinalizers(nil)
		s.note("finalizers removed: %s; to keep them, use --finalizers", strings.Join(finalizers, ", "))
	}
	p.setOwners(s)
	s.setRedacted()
	s.setStatus(p)
	for _, change := range []func(*Step, Live){dontRun, prepareVolume, prepareService} {
		change(s, p.live)
	}
	s.setOrigin()
}

func (s *Step) object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: s.Object}
}

func (s *Step) note(format string, values ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, values...))
}

func (s *Step) setRedacted() {
	if len(s.redacted) > 0 {
		s.note("values are not in the archive, and are REDACTED or missing: %s", strings.Join(s.redacted, ", "))
	}
}

// setStatus moves the status of a custom resource to a request of its own. Controllers of Kubernetes compute the status of its own
// kinds; the status of a finished Job would also make the TTL controller delete it.
func (s *Step) setStatus(p *planner) {
	status, _ := s.Object["status"].(map[string]any)
	served, _ := p.served(s)
	switch {
	case len(status) == 0:
	case isBuiltIn(s.Ref.Group):
		delete(s.Object, "status")
	case served.Status:
		s.Status = status
		delete(s.Object, "status")
	}
}

// isBuiltIn reports whether Kubernetes itself serves a group. The groups of CustomResourceDefinitions have a dot; those of
// Kubernetes that have one end in k8s.io, as do some of its SIGs.
func isBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") && !strings.HasSuffix(group, ".x-k8s.io") && strings.Count(group, ".") == 2
}

// setOrigin holds the object, and says where it comes from.
func (s *Step) setOrigin() {
	annotations := s.object().GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, v1alpha1.EligibleSinceAnnotation) // its time to live would go on from before
	annotations[v1alpha1.HoldAnnotation] = "restored from an archive"
	annotations[FromAnnotation] = s.From
	if s.UID != "" {
		annotations[UIDAnnotation] = string(s.UID)
	}
	s.object().SetAnnotations(annotations)
}
