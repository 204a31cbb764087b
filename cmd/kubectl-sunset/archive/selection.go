// SPDX-License-Identifier: Apache-2.0

package archive

import (
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

// Object names objects as the user does: a kind or resource, and a name; an empty name stands for all of the kind.
type Object struct{ Kind, Name string }

// ParseObjects parses arguments as kubectl takes them: KIND, KIND,KIND, KIND NAME... or KIND/NAME... No arguments stand for all kinds.
func ParseObjects(args []string) ([]Object, error) {
	if len(args) == 0 {
		return nil, nil
	}
	var objects []Object
	if strings.Contains(args[0], "/") {
		for _, arg := range args {
			kind, name, ok := strings.Cut(arg, "/")
			if !ok || kind == "" || name == "" {
				return nil, fmt.Errorf("argument %q: name each object as KIND/NAME, such as job/report", arg)
			}
			objects = append(objects, Object{kind, name})
		}
		return objects, nil
	}
	for kind := range strings.SplitSeq(args[0], ",") {
		for _, name := range args[1:] {
			if strings.Contains(name, "/") {
				return nil, fmt.Errorf("argument %q: name objects either as KIND NAME or as KIND/NAME", name)
			}
			objects = append(objects, Object{kind, name})
		}
		if len(args) == 1 {
			objects = append(objects, Object{Kind: kind})
		}
	}
	return objects, nil
}

// Selection selects records. All set fields must match.
type Selection struct {
	Objects      []Object // empty: all
	Namespace    *string  // nil: all. Cluster-scoped objects match if Objects selects their kind
	Selector     labels.Selector
	Policy       string
	Since, Until time.Time
	Kept         bool // also records of versions that Sunset did not delete

	// Filter is a further condition; nil for none. Evaluator evaluates it.
	Filter    *engine.Filter
	Evaluator *engine.Evaluator
	// Whole selects the Namespace object too, if Namespace is set and Objects is empty.
	Whole bool
	// IsNamed reports whether a name in any form that kubectl accepts is that of a kind.
	IsNamed func(name string, kind schema.GroupVersionKind) bool
	// Resolve returns the only kind that has a name, and whether its objects are in namespaces. It makes searches faster.
	Resolve func(name string) (kind schema.GroupKind, namespaced, ok bool)

	kinds map[kindNamed]bool // results of IsNamed
}

type kindNamed struct {
	name string
	kind schema.GroupKind
}

// Selected are the records of a Selection, the newest first.
type Selected struct {
	Records []Entry
	Failed  int   // records on which the Filter fails; they are not selected
	Failure error // the first of these failures
}

// Entry is one object in the archive.
type Entry struct {
	archive.Meta
	Dependent string `json:"dependent,omitempty"` // KIND.GROUP/NAME: the entry is this dependent, and not the object of the record
}

// Kind returns the kind of the object, and its name.
func (e Entry) Kind() (schema.GroupKind, string) {
	if kind, name, isDependent := strings.Cut(e.Dependent, "/"); isDependent {
		return schema.ParseGroupKind(kind), name
	}
	return e.Object.GroupKind(), e.Name
}

// Find finds the records of a selection. progress is called with the number of records read.
func (s *Selection) Find(ctx context.Context, r *archive.Reader, progress func(int)) (*Selected, error) {
	found, err := r.Find(ctx, s.query())
	if err != nil {
		return nil, err
	}
	all, n := &Selected{}, 0
	found = slices.DeleteFunc(found, func(m archive.Meta) bool {
		n++
		progress(n)
		if m.Result == archive.Kept && !s.Kept || !s.inNamespace(m) || len(s.matches(m)) == 0 {
			return true
		}
		return s.Filter != nil && !s.Filter.ReadsObject() && !all.keeps(s.filter(m, nil))
	})
	if s.Filter != nil && s.Filter.ReadsObject() {
		if found, err = s.filterObjects(ctx, r, found, all); err != nil {
			return nil, err
		}
	}
	for _, m := range found {
		all.Records = append(all.Records, s.matches(m)...)
	}
	return all, nil
}

// query returns a query that matches at least what the selection does, and rejects most other records without reading them in full.
func (s *Selection) query() archive.Query {
	q := archive.Query{Selector: s.Selector, Policy: s.Policy, Since: s.Since, Until: s.Until}
	if len(s.Objects) == 0 {
		if !s.Whole {
			q.Namespace = s.Namespace
		}
		return q
	}
	first := s.Objects[0]
	if slices.ContainsFunc(s.Objects, func(o Object) bool { return o.Kind != first.Kind }) {
		return q
	}
	kind, namespaced, ok := s.Resolve(first.Kind)
	if !ok {
		return q
	}
	q.Kind = kind
	if namespaced {
		q.Namespace = s.Namespace
	}
	if len(s.Objects) == 1 {
		q.Name = first.Name
	}
	return q
}

func (s *Selection) inNamespace(m archive.Meta) bool {
	switch {
	case s.Namespace == nil, m.Namespace == *s.Namespace:
		return true
	case m.Namespace != "":
		return false
	case len(s.Objects) > 0:
		return true
	}
	return s.Whole && m.Name == *s.Namespace && m.Object.GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// matches returns the entries of a record that Objects selects: the object itself, or dependents.
func (s *Selection) matches(m archive.Meta) []Entry {
	entry := Entry{Meta: m}
	if len(s.Objects) == 0 || s.names(entry) {
		return []Entry{entry}
	}
	var found []Entry
	for _, d := range m.Dependents {
		if entry.Dependent = d; s.names(entry) {
			found = append(found, entry)
		}
	}
	return found
}

func (s *Selection) names(e Entry) bool {
	kind, name := e.Kind()
	return slices.ContainsFunc(s.Objects, func(o Object) bool { return (o.Name == "" || o.Name == name) && s.isNamed(o.Kind, kind) })
}

func (s *Selection) isNamed(name string, kind schema.GroupKind) bool {
	key := kindNamed{name, kind}
	is, known := s.kinds[key]
	if !known {
		if s.kinds == nil {
			s.kinds = map[kindNamed]bool{}
		}
		is = s.IsNamed(name, kind.WithVersion("v1"))
		s.kinds[key] = is
	}
	return is
}

// keeps counts a failure of the filter.
func (s *Selected) keeps(matches bool, err error) bool {
	if err != nil {
		if s.Failed++; s.Failure == nil {
			s.Failure = err
		}
	}
	return matches && err == nil
}

func (s *Selection) filter(m archive.Meta, object map[string]any) (bool, error) {
	matches, err := s.Evaluator.Matches(s.Filter, variables(m), object)
	if err != nil {
		return false, fmt.Errorf("%s: %w", m.Object, err)
	}
	return matches, nil
}

// filterObjects returns the records whose objects the filter matches, in their order.
func (s *Selection) filterObjects(ctx context.Context, r *archive.Reader, metas []archive.Meta, all *Selected) ([]archive.Meta, error) {
	matched := map[place]bool{}
	for found, err := range r.Each(ctx, metas) {
		if err != nil {
			return nil, err
		}
		object, err := Content{Entry{Meta: found.Meta}, found.Record}.Manifest()
		if err != nil {
			return nil, err
		}
		matched[placeOf(found.Meta)] = all.keeps(s.filter(found.Meta, object))
	}
	return slices.DeleteFunc(metas, func(m archive.Meta) bool { return !matched[placeOf(m)] }), nil
}

// variables returns the variable record of a filter.
func variables(m archive.Meta) map[string]any {
	kind := m.Object.GroupKind()
	return map[string]any{
		"apiVersion": m.APIVersion, "group": kind.Group, "kind": kind.Kind, "namespace": m.Namespace, "name": m.Name, "uid": string(m.UID),
		"resourceVersion": m.ResourceVersion, "labels": anyMap(m.Labels), "dependents": anyList(m.Dependents), "policy": m.Policy, "rule": m.Rule,
		"reason": m.Reason, "outcome": m.Outcome, "dueTime": m.Due, "archivedAt": m.ArchivedAt, "bytes": int64(m.Bytes), "result": string(m.Result),
		"segment": m.Segment,
	}
}

func anyMap(texts map[string]string) map[string]any {
	all := make(map[string]any, len(texts))
	for k, v := range texts {
		all[k] = v
	}
	return all
}

func anyList(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}
