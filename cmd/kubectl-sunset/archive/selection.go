// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/archive"
)

// Kind is a kind as the user names it.
type Kind struct {
	Is         func(schema.GroupKind) bool
	Known      schema.GroupKind // the only one; zero if that is unknown. It makes searches faster
	Namespaced bool             // the objects of Known are in namespaces
}

// Object names objects: a kind, and a name; an empty name stands for all of the kind.
type Object struct {
	Kind
	Name     string
	Argument string // KIND/NAME as the user names it; empty without a name
}

// ParseObjects parses arguments as kubectl takes them: KIND, KIND,KIND, KIND NAME... or KIND/NAME... No arguments stand for all kinds.
func ParseObjects(args []string, find func(kind string) Kind) (objects []Object, err error) {
	if len(args) > 0 && !strings.Contains(strings.Join(args, ""), "/") {
		for kind := range strings.SplitSeq(args[0], ",") {
			if len(args) == 1 {
				objects = append(objects, Object{Kind: find(kind)})
			}
			for _, name := range args[1:] {
				objects = append(objects, Object{find(kind), name, kind + "/" + name})
			}
		}
		return objects, nil
	}
	for _, arg := range args {
		kind, name, _ := strings.Cut(arg, "/")
		if kind == "" || name == "" {
			return nil, fmt.Errorf("argument %q: name objects either as KIND NAME or as KIND/NAME, such as job/report", arg)
		}
		objects = append(objects, Object{find(kind), name, arg})
	}
	return objects, nil
}

// Selection selects records. All set fields must match.
type Selection struct {
	Objects      []Object // empty: all
	Namespace    *string  // nil: all; empty: only cluster-scoped objects, with all dependents. See inNamespace and Find for cluster-scoped objects
	Selector     labels.Selector
	Policy       string
	UID          string    // of the object of a record; empty: all
	Since, Until time.Time // of the deletion, or of the record if it has no result; see inTime for deletions of unknown time
	Kept         bool      // also records of versions that Sunset did not delete
	Restore      bool      // also such records, for LeaveOut, and the Namespace object if Namespace is set and Objects is empty; no dependents of chosen objects

	Filter    *engine.Filter // a further condition; nil for none
	Evaluator *engine.Evaluator
	Progress  func(int) // called with the number of records that the Filter has evaluated since the last call
}

// Entry is one object in the archive.
type Entry struct {
	archive.Meta
	Dependent  string    `json:"dependent,omitempty"` // KIND.GROUP/NAME: the entry is this dependent, and not the object of the record
	Result     string    `json:"result"`              // deleted, gone (it no longer existed after a request without a definite answer), absent (another client deleted it before), kept (Sunset did not delete this version), unknown, or none
	ResultTime time.Time `json:"resultTime,omitzero"` // the deletion was no later than this

	Position int `json:"-"` // of the dependent in the record: the names of several can be equal if they are in different namespaces
}

// NewEntry returns the entry of a record.
func NewEntry(m archive.Meta) Entry {
	return Entry{Meta: m, Result: cmp.Or(string(m.Result), "none"), ResultTime: m.ResultAt}
}

// OfDependent returns the entry of one of the dependents of the record.
func (e Entry) OfDependent(position int) Entry {
	e.Dependent, e.Position = e.Dependents[position], position
	return e
}

// Kind returns the kind of the object, and its name.
func (e Entry) Kind() (schema.GroupKind, string) {
	if kind, name, isDependent := strings.Cut(e.Dependent, "/"); isDependent {
		return schema.ParseGroupKind(kind), name
	}
	return e.Object.GroupKind(), e.Name
}

// Place is where the record is in the archive: SEGMENT#LINE.
func (e Entry) Place() string { return fmt.Sprintf("%s#%d", e.Segment, e.Line) }

// Find finds the records of a selection, the newest first. With a Filter, it holds the entries that match and a few parts of
// the index. That does not have the namespaces of dependents: in a namespace, Find looks for an object in the records of cluster-scoped
// objects only if the user names it and other records lack it.
func (s *Selection) Find(ctx context.Context, r *archive.Reader) ([]Entry, error) {
	found, err := s.search(ctx, r)
	missing := s.Missing(found)
	if err != nil || s.Namespace == nil || len(missing) == 0 {
		return found, err
	}
	clusterScoped := *s
	clusterScoped.Objects, clusterScoped.Namespace = missing, new("")
	more, err := clusterScoped.search(ctx, r)
	if err != nil {
		return nil, err
	}
	err = Read(ctx, r, more, func(c Content) error {
		object, err := c.Manifest()
		if err == nil && object.GetNamespace() == *s.Namespace {
			found = append(found, c.Entry)
		}
		return err
	})
	slices.SortStableFunc(found, func(a, b Entry) int { return archive.CompareNewest(a.Meta, b.Meta) })
	return found, err
}

func (s *Selection) search(ctx context.Context, r *archive.Reader) (found []Entry, err error) {
	if s.Filter == nil {
		metas, err := r.Find(ctx, s.query())
		return s.chosen(metas), err
	}
	err = r.FindEach(ctx, s.query(), func(metas []archive.Meta) error {
		matching, err := s.filter(ctx, r, s.chosen(metas))
		found = append(found, matching...)
		return err
	})
	slices.SortStableFunc(found, func(a, b Entry) int { return archive.CompareNewest(a.Meta, b.Meta) })
	return found, err
}

// chosen returns the entries of the records that the selection selects, apart from the Filter.
func (s *Selection) chosen(metas []archive.Meta) (found []Entry) {
	for _, m := range metas {
		if s.inNamespace(m) && s.inTime(m) && (s.Kept || s.Restore || m.Result != archive.Kept) {
			found = append(found, s.entries(m)...)
		}
	}
	return found
}

// longestWait is more than the time from a record to the deletion that it permits.
const longestWait = 24 * time.Hour

// query returns a query that matches at least what the selection does, and rejects most other records without reading them in full.
func (s *Selection) query() archive.Query {
	q := archive.Query{Selector: s.Selector, Policy: s.Policy, UID: s.UID, Until: s.Until}
	if !s.Since.IsZero() {
		q.Since = s.Since.Add(-longestWait)
	}
	if len(s.Objects) == 0 {
		if !s.Restore {
			q.Namespace = s.Namespace
		}
		return q
	}
	first := s.Objects[0]
	if first.Known.Empty() || slices.ContainsFunc(s.Objects, func(o Object) bool { return o.Known != first.Known }) {
		return q
	}
	q.Kind = first.Known
	if first.Namespaced {
		q.Namespace = s.Namespace
	}
	if len(s.Objects) == 1 {
		q.Name = first.Name
	}
	return q
}

// inTime reports whether the deletion was between Since and Until, or may have been: an object that is gone or absent was deleted
// between the time of its record and that of the result, which can be long after it.
func (s *Selection) inTime(m archive.Meta) bool {
	first, last := m.ArchivedAt, m.ArchivedAt
	switch m.Result {
	case archive.Deleted:
		first, last = m.ResultAt, m.ResultAt
	case archive.Gone, archive.Absent:
		last = m.ResultAt
	}
	return !last.Before(s.Since) && (s.Until.IsZero() || first.Before(s.Until))
}

// inNamespace reports whether a record is of the namespace, or of a cluster-scoped object whose kind Objects may select.
func (s *Selection) inNamespace(m archive.Meta) bool {
	switch {
	case s.Namespace == nil, m.Namespace == *s.Namespace:
		return true
	case m.Namespace != "":
		return false
	}
	return len(s.Objects) > 0 || s.Restore && m.Name == *s.Namespace && m.Object.GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// entries returns the entries of a record that Objects selects: the object itself, and dependents.
func (s *Selection) entries(m archive.Meta) (found []Entry) {
	names := func(e Entry) bool { return slices.ContainsFunc(s.Objects, e.is) }
	e := NewEntry(m)
	if len(s.Objects) == 0 || names(e) {
		found = append(found, e)
	}
	isWhole := len(s.Objects) == 0 || s.Restore && len(found) > 0
	if isWhole || s.Namespace != nil && *s.Namespace != m.Namespace { // the namespaces of its dependents are only in the record
		return found
	}
	for i := range m.Dependents {
		if d := e.OfDependent(i); names(d) {
			found = append(found, d)
		}
	}
	return found
}

// Missing returns the objects that the user names and that the entries lack.
func (s *Selection) Missing(entries []Entry) (missing []Object) {
	for _, o := range s.Objects {
		has := func(e Entry) bool { return e.is(o) || s.Restore && e.Dependent == "" && e.includes(o) }
		if o.Name != "" && !slices.ContainsFunc(entries, has) {
			missing = append(missing, o)
		}
	}
	return missing
}

// includes reports whether o names a dependent in the record.
func (e Entry) includes(o Object) bool {
	for i := range e.Dependents {
		if e.OfDependent(i).is(o) {
			return true
		}
	}
	return false
}

// is reports whether o names the object.
func (e Entry) is(o Object) bool {
	kind, name := e.Kind()
	return (o.Name == "" || o.Name == name) && o.Is(kind)
}

// filter returns the entries that the Filter matches. It reads the records only if the Filter reads their objects.
func (s *Selection) filter(ctx context.Context, r *archive.Reader, entries []Entry) (matching []Entry, err error) {
	evaluate := func(e Entry, object map[string]any) error {
		matches, err := s.Evaluator.Matches(s.Filter, variables(e.Meta), object)
		if err != nil {
			return fmt.Errorf("--cel fails on %s: %w", e.Object, err)
		}
		if matches {
			matching = append(matching, e)
		}
		s.Progress(1)
		return nil
	}
	if !s.Filter.ReadsObject() {
		for i := 0; i < len(entries) && err == nil; i++ {
			err = evaluate(entries[i], nil)
		}
		return matching, err
	}
	err = Read(ctx, r, entries, func(c Content) error {
		object, err := c.decode(c.Record.Object)
		if err != nil {
			return err
		}
		return evaluate(c.Entry, object.Object)
	})
	return matching, err
}

// variables returns the variable record of a filter.
func variables(m archive.Meta) map[string]any {
	kind := m.Object.GroupKind()
	return map[string]any{
		"apiVersion": m.APIVersion, "group": kind.Group, "kind": kind.Kind, "namespace": m.Namespace, "name": m.Name, "uid": string(m.UID),
		"resourceVersion": m.ResourceVersion, "labels": m.Labels, "dependents": m.Dependents, "policy": m.Policy, "rule": m.Rule,
		"reason": m.Reason, "outcome": m.Outcome, "dueTime": m.Due, "archivedAt": m.ArchivedAt, "bytes": int64(m.Bytes), "result": NewEntry(m).Result,
		"segment": m.Segment,
	}
}
