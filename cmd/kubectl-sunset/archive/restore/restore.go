// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/archive/redact"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Record is one archived object to restore: the object of a record of the archive, or one of its dependents.
type Record struct {
	Archived   *unstructured.Unstructured // never changed
	Outcome    string                     // of the archived object, as the rule said; or empty
	Redacted   []string                   // paths of fields whose values the record lacks, in this object or another one
	Left       int                        // number of dependents that only the record has, since they are never restored
	From       string                     // where the record is: ARCHIVE/SEGMENT#LINE
	ArchivedAt time.Time
	Snapshot   string   // the name of the VolumeSnapshot with the data of a claim; empty if Sunset made none
	Foreign    string   // why the object is not one that the record can have, or that the user has selected; empty if it is
	Others     []Record // further objects of the same record of the archive, which are not to be restored: owners may be among them
}

// Options says how to restore.
type Options struct {
	Redacted   bool // restore objects although values of fields are not in the archive
	Finished   bool // restore custom resources that ran to completion, although their controllers may run them again
	Finalizers bool // restore finalizers, although nothing may remove them when the object is deleted
	// Unread is when the newest record of each object that cannot be read was archived, by the String of its name. No older record is restored.
	Unread map[string]time.Time
	// BuiltIn reports whether Kubernetes itself serves a group, so that its controllers compute the status.
	BuiltIn func(group string) bool
}

// Step is what happens with one archived object.
type Step struct {
	Record
	Name   audit.Object               // without UID and resourceVersion
	Object *unstructured.Unstructured // to create; nil if the object is not restored
	Status map[string]any             // to write to the subresource status after the object was created, if there is one; nil for none
	Why    string                     // why the object is not restored; empty if it is
	Older  bool                       // not restored, because a newer record has the object of this name
	Failed bool                       // the object was created, but its status was not written
	Before bool                       // an earlier restore of the same record created it; Object is nil then
	Notes  []string                   // what differs from the archived object, and what else the user must know

	volume   *Step             // of a claim: its volume, which is restored before; nil for none
	restored map[int]types.UID // by position of an owner reference: the former UID of an owner that is restored before
}

// Live returns the object of the cluster with a name; an empty one if there is none, it is being deleted, or the user has no
// permission to get it. The namespace of a cluster-scoped object does not matter.
type Live func(name audit.Object) *unstructured.Unstructured

// Plan returns the steps that restore records, in the order in which to carry them out: namespaces, CustomResourceDefinitions,
// ServiceAccounts, other cluster-scoped objects, those of each namespace by group, kind and name, and in any case owners before their
// dependents.
func Plan(records []Record, live Live, options Options) []*Step {
	p := &planner{live: live, options: options, seen: map[string]bool{}, byUID: map[types.UID]*Step{}, refused: map[types.UID]*Step{}, settled: map[*Step]bool{}, volumes: map[string]*Step{}}
	steps := sorted(records)
	for _, s := range steps {
		if s.Why = p.refuse(s); s.Why == "" {
			p.byUID[s.Archived.GetUID()] = s
		} else {
			p.refused[s.Archived.GetUID()] = s
		}
	}
	p.addOthers(records)
	for _, s := range steps {
		p.settle(s)
	}
	p.noteVolumes(steps)
	for _, s := range steps {
		if s.Why == "" {
			p.prepare(s)
		}
	}
	return p.ordered(steps)
}

// sorted returns a Step for each record. Of records of one name, the newest comes first.
func sorted(records []Record) []*Step {
	steps := make([]*Step, len(records))
	for i, r := range records {
		steps[i] = &Step{Record: r, Name: nameOf(r.Archived)}
	}
	rank := func(s *Step) int {
		switch s.Name.GroupKind() {
		case namespaces:
			return 0
		case definitions:
			return 1
		case serviceAccounts: // the token controller deletes Secrets of ServiceAccounts that do not exist
			return 2
		}
		return 3
	}
	slices.SortStableFunc(steps, func(a, b *Step) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Name.Namespace, b.Name.Namespace), cmp.Compare(a.Name.GroupKind().Group, b.Name.GroupKind().Group),
			cmp.Compare(a.Name.Kind, b.Name.Kind), cmp.Compare(a.Name.Name, b.Name.Name), b.ArchivedAt.Compare(a.ArchivedAt))
	})
	return steps
}

// planner holds what the decisions about one object need to know about the others.
type planner struct {
	live    Live
	options Options
	seen    map[string]bool     // names, without versions
	byUID   map[types.UID]*Step // that nothing but their owners can refuse, by their former UIDs
	refused map[types.UID]*Step // the same of others
	others  map[types.UID]*Step // that are not to be restored
	settled map[*Step]bool
	volumes map[string]*Step // the volumes that are restored, by name
}

// refuse returns why an object cannot be restored; empty if it can.
func (p *planner) refuse(s *Step) string {
	hasNewer := p.seen[s.Name.String()]
	p.seen[s.Name.String()] = hasNewer || s.Foreign == ""
	switch {
	case IsViewOnly(s.Archived):
		return viewOnly[s.Name.GroupKind()]
	case s.Foreign != "":
		return s.Foreign
	case hasNewer:
		s.Older = true
		return "the selection has a newer record of an object of this name"
	case p.options.Unread[s.Name.String()].After(s.ArchivedAt):
		s.Older = true
		return "a newer record of an object of this name cannot be read"
	case len(s.Redacted) > 0 && !p.options.Redacted:
		return fmt.Sprintf("values are not in the record: %s; to restore it without them, use --redacted", strings.Join(s.Redacted, ", "))
	case s.Snapshot != "" && p.live(s.snapshot()).GetUID() != "":
		return fmt.Sprintf("VolumeSnapshot %s has its data; to restore it with the data: kubectl sunset restore pvc/%s -n %s --from %[1]s", s.Snapshot, s.Name.Name, s.Name.Namespace)
	}
	return p.refuseOver(s)
}

// refuseOver returns why an object would run again, or report the past; empty if it would not.
func (p *planner) refuseOver(s *Step) string {
	switch {
	case IsViewOnly(s.Archived):
		return viewOnly[s.Name.GroupKind()]
	case !p.options.Finished && !p.options.BuiltIn(s.Name.GroupKind().Group) && !s.runsToCompletion() && s.finishedBy() != "":
		return fmt.Sprintf("it ran to completion (%s), and its controller may run it again; to restore it nevertheless, use --finished", s.finishedBy())
	}
	return ""
}

var generated = []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"}

// RemoveGenerated removes the fields of metadata that only the API server sets.
func RemoveGenerated(o *unstructured.Unstructured) {
	for _, field := range generated {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
}

// prepare sets the object to create.
func (p *planner) prepare(s *Step) {
	s.Object = s.Archived.DeepCopy()
	RemoveGenerated(s.Object)
	if finalizers := s.Object.GetFinalizers(); len(finalizers) > 0 && !p.options.Finalizers {
		s.remove("metadata", "finalizers")
		s.note("finalizers removed: %s; to restore them, use --finalizers", strings.Join(finalizers, ", "))
	}
	if len(s.Redacted) > 0 {
		s.note("values are not in the record, and are %s or missing: %s", redact.Redacted, strings.Join(s.Redacted, ", "))
	}
	p.setOwners(s)
	p.setStatus(s)
	s.setOrigin()
	p.unbind(s)
	s.renewToken()
	s.stop()
	if s.Left > 0 {
		s.note("dependents only in the record: %d; to view them: kubectl sunset archive get --record", s.Left)
	}
}

func (s *Step) note(format string, values ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, values...))
}

func (s *Step) remove(path ...string) { unstructured.RemoveNestedField(s.Object.Object, path...) }

// setStatus takes the status of a custom resource for a request of its own: the API server ignores it on creation if it is a
// subresource. An object that must not run again gets none: its controller would read it, and could
// delete the finished object.
func (p *planner) setStatus(s *Step) {
	status, _, _ := unstructured.NestedMap(s.Object.Object, "status")
	switch {
	case len(status) == 0:
	case s.runsToCompletion():
		s.remove("status")
		s.note("its status is only in the record; to view it: kubectl sunset archive get")
	case p.options.BuiltIn(s.Name.GroupKind().Group):
		s.remove("status")
	default:
		s.Status = status
	}
}

// setOrigin holds the object, and says where it comes from.
func (s *Step) setOrigin() {
	annotations := s.Object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, v1alpha1.EligibleSinceAnnotation) // its time to live would go on from before
	if annotations[v1alpha1.LastAppliedAnnotation] == redact.Redacted {
		delete(annotations, v1alpha1.LastAppliedAnnotation) // where a rule redacts anything, it redacts this copy as a whole
	}
	annotations[v1alpha1.HoldAnnotation] = "restored from " + s.source()
	annotations[v1alpha1.RestoredFromAnnotation] = s.From
	annotations[v1alpha1.RestoredUIDAnnotation] = string(s.Archived.GetUID())
	s.Object.SetAnnotations(annotations)
}

// source says what a restored object comes from.
func (s *Step) source() string {
	if strings.HasPrefix(s.From, snapshotPrefix) {
		return "a VolumeSnapshot"
	}
	return "an archive"
}

// Refuse says that an object is not restored after all.
func (s *Step) Refuse(why string) { s.Object, s.Status, s.Why = nil, nil, why }

// SetRestored reports whether a live object was restored from this record before. If so, the step has nothing to create.
func (s *Step) SetRestored(live *unstructured.Unstructured) bool {
	origin := live.GetAnnotations()
	s.Before = place(origin[v1alpha1.RestoredFromAnnotation]) == place(s.From) && origin[v1alpha1.RestoredUIDAnnotation] == string(s.Archived.GetUID()) &&
		live.GetUID() != "" && live.GetDeletionTimestamp() == nil
	if s.Before {
		s.Object, s.Notes = nil, nil
	}
	return s.Before
}

// place returns the part of Record.From that identifies the record: an archive can have a name and several URLs, and the name of the
// segment has a digest.
func place(from string) string {
	return from[max(0, strings.LastIndex(from, archive.SegmentPrefix)):]
}

// Write writes a paragraph about each object in the order of the steps, and the numbers. Without created, the steps are a plan.
func Write(w io.Writer, steps []*Step, created bool) error {
	style := text.StyleOf(w)
	verb := "would be restored"
	if created {
		verb = "restored"
	}
	var b strings.Builder
	n, before := 0, 0
	for _, s := range steps {
		name := text.EscapeLine(s.Name.String())
		switch {
		case s.Before:
			before++
			fmt.Fprintf(&b, "%s %s\n", name, style.Good("was restored before"))
		case s.Object == nil:
			fmt.Fprintf(&b, "%s %s: %s\n", name, style.Warning("not restored"), text.EscapeLine(s.Why))
			continue
		default:
			n++
			fmt.Fprintf(&b, "%s %s\n", name, style.Good(verb))
		}
		for _, note := range s.Notes {
			fmt.Fprintf(&b, "  %s\n", text.EscapeLine(note))
		}
	}
	fmt.Fprintf(&b, "\n%s %s", preview.Count(n, "object"), verb)
	if before > 0 {
		fmt.Fprintf(&b, ", %d before", before)
	}
	if refused := len(steps) - n - before; refused > 0 {
		fmt.Fprintf(&b, ", %d not", refused)
	}
	switch {
	case n == 0:
		b.WriteString(".\n")
	case created:
		b.WriteString(". Each has a hold: to let policies delete it again, run kubectl sunset unhold.\n")
	default:
		b.WriteString(" (dry run). Each gets a hold. To create them, use --yes; to see how they differ, use --diff.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
