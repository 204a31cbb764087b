// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/archive/redact"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Plan returns the steps that restore records, in the order in which to carry them out: namespaces and what others need, and owners
// before their dependents. It does not change the records.
func Plan(records []Record, live Live, options Options) []*Step {
	p := &planner{live: live, options: options, steps: sorted(steps(records)), byUID: map[types.UID]*Step{}, namespaces: map[string]bool{}}
	p.findNewest()
	for _, s := range p.steps { // namespaces first
		p.decide(s)
	}
	for _, s := range p.steps {
		if s.Why == "" {
			p.prepare(s)
		}
	}
	return p.ordered()
}

// planner holds what the decisions about one object need to know about the others.
type planner struct {
	live       Live
	options    Options
	steps      []*Step
	newest     map[Ref]*Step       // the newest record of each name
	byUID      map[types.UID]*Step // that are restored, by their former UIDs
	namespaces map[string]bool     // that are restored
}

// decide sets why an object is not restored, or remembers what its restoration means for others.
func (p *planner) decide(s *Step) {
	if s.Why = p.refuse(s); s.Why != "" {
		return
	}
	if s.UID != "" {
		p.byUID[s.UID] = s
	}
	if s.Ref.GroupKind() == namespaces {
		p.namespaces[s.Ref.Name] = true
	}
}

// findNewest finds the newest record of each name: an object of which the archive has several can be restored once.
func (p *planner) findNewest() {
	p.newest = map[Ref]*Step{}
	for _, s := range p.steps {
		if other := p.newest[s.Ref.withoutVersion()]; other == nil || s.record.ArchivedAt.After(other.record.ArchivedAt) {
			p.newest[s.Ref.withoutVersion()] = s
		}
	}
}

func (r Ref) withoutVersion() Ref {
	r.Version = ""
	return r
}

// refuse returns why an object cannot be restored; empty if it can.
func (p *planner) refuse(s *Step) string {
	uid, exists := p.live.Objects[s.Ref]
	_, unknown := p.live.Unknown[s.Ref]
	served, isServed := p.live.Served[s.Ref.GroupVersionKind]
	switch {
	case s.Ref.Kind == "" || s.Ref.Name == "":
		return "the record has no kind or no name"
	case exists && uid == s.UID:
		return "it still exists: it was not deleted"
	case exists:
		return "another object of this name exists, and restore never replaces an object; delete or rename that one first"
	case viewOnly[s.Ref.GroupKind()] != "":
		return viewOnly[s.Ref.GroupKind()]
	case p.newest[s.Ref.withoutVersion()] != s:
		return "the selection has a newer record of an object of this name"
	case !isServed:
		return fmt.Sprintf("the cluster does not serve %s %s; install or restore its CustomResourceDefinition first", s.Ref.GroupVersion(), s.Ref.Kind)
	case unknown:
		return fmt.Sprintf("cannot tell whether it exists: %v", p.live.Unknown[s.Ref])
	case len(s.record.Redacted) > 0 && !p.options.Redacted:
		return fmt.Sprintf("values are not in the archive: %s; to restore it without them, use --redacted", strings.Join(s.record.Redacted, ", "))
	case !served.BuiltIn && !s.RunsToCompletion() && finishedBy(s.Archived) != "" && !p.options.Finished:
		return fmt.Sprintf("it ran to completion (%s), and its controller may run it again; to restore it nevertheless, use --finished", finishedBy(s.Archived))
	case served.Namespaced && !p.hasNamespace(s.Ref.Namespace):
		return fmt.Sprintf("namespace %s does not exist; create it first: kubectl create namespace %[1]s", s.Ref.Namespace)
	}
	return ""
}

// hasNamespace reports whether a namespace exists or is restored too. If that is unknown, the API server decides.
func (p *planner) hasNamespace(name string) bool {
	_, exists := p.live.Objects[namespaceRef(name)]
	_, unknown := p.live.Unknown[namespaceRef(name)]
	return exists || unknown || p.namespaces[name]
}

// generated are the fields of metadata that only the API server sets.
var generated = []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"}

// prepare sets the object to create.
func (p *planner) prepare(s *Step) {
	s.Object = runtime.DeepCopyJSON(s.Archived)
	for _, field := range generated {
		unstructured.RemoveNestedField(s.Object, "metadata", field)
	}
	if finalizers := s.object().GetFinalizers(); len(finalizers) > 0 {
		s.object().SetFinalizers(nil)
		s.note("finalizers removed: %s", strings.Join(finalizers, ", "))
	}
	if len(s.record.Redacted) > 0 {
		s.note("values are not in the archive, and are %s or missing: %s", redact.Redacted, strings.Join(s.record.Redacted, ", "))
	}
	p.setOwners(s)
	s.setStatus(p)
	s.stop()
	s.unbind(p.live)
	s.releaseAddress()
	if len(s.record.Left) > 0 {
		s.note("its dependents are only in the record: %s; to view them: kubectl sunset archive get", strings.Join(s.record.Left, ", "))
	}
	s.setOrigin()
}

func (s *Step) object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: s.Object}
}

func (s *Step) note(format string, values ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, values...))
}

// setStatus copies the status of a custom resource for a request of its own: the API server ignores it on creation if it is a subresource. Controllers of Kubernetes compute that of its own kinds.
// An object that must not run again gets none: its controller would read it, and could delete the finished object.
func (s *Step) setStatus(p *planner) {
	status, _ := s.Object["status"].(map[string]any)
	served := p.live.Served[s.Ref.GroupVersionKind]
	switch {
	case len(status) == 0:
	case s.RunsToCompletion():
		delete(s.Object, "status")
		s.note("its status is only in the record; to view it: kubectl sunset archive get")
	case served.BuiltIn:
		delete(s.Object, "status")
	default:
		s.Status = status
	}
}

// setOrigin holds the object, and says where it comes from.
func (s *Step) setOrigin() {
	annotations := s.object().GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, v1alpha1.EligibleSinceAnnotation) // its time to live would go on from before
	if annotations[lastApplied] == redact.Redacted {
		delete(annotations, lastApplied)
	}
	annotations[v1alpha1.HoldAnnotation] = "restored from an archive"
	annotations[v1alpha1.RestoredFromAnnotation] = s.From
	if s.UID != "" {
		annotations[v1alpha1.RestoredUIDAnnotation] = string(s.UID)
	}
	s.object().SetAnnotations(annotations)
}
