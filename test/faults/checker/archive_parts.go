// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

var (
	podKind   = schema.GroupKind{Kind: "Pod"}
	eventKind = schema.GroupKind{Kind: "Event"}
)

// making is a record of a version by a rule, and when Sunset made it: after that version existed, and before it had read the record
// back.
type making struct {
	history.Record
	rule  *rule
	of    *history.State
	paths [][]step // of archive.redact
	window
}

// misrecorded says how a record differs from what its rule asks for; empty if it does not.
func (j *checker) misrecorded(r *rule, record history.Record, s *history.State) string {
	paths, err := stepsOf(r.Archive.Redact)
	if err != nil {
		return "has the invalid " + err.Error()
	}
	m := &making{Record: record, rule: r, of: s, paths: paths, window: window{s.Revision, j.Log.Revision}}
	if !record.Verified.IsZero() {
		m.to = j.before(record.Verified)
	}
	for _, check := range []func(*making) string{
		func(m *making) string { return contentWrong(m.Object, m.of, m.paths) }, j.dependentsWrong, j.eventsWrong, j.logsWrong,
	} {
		if why := check(m); why != "" {
			return why
		}
	}
	return ""
}

// dependentsWrong says which object among the dependents of a record was none, and which dependent is missing that existed for the whole
// time in which the record was made.
func (j *checker) dependentsWrong(m *making) string {
	kinds := m.kinds()
	for i, d := range m.Dependents {
		s := j.current(d, m.window)
		switch same := func(o unstructured.Unstructured) bool { return o.GetUID() == d.GetUID() }; {
		case s == nil:
			return "has dependent " + titleOf(d) + ", which had another version or did not exist"
		case !slices.Contains(kinds, s.GroupVersionKind().GroupKind()):
			return "has dependent " + titleOf(d) + " of a kind that the rule does not archive"
		case slices.ContainsFunc(m.Dependents[:i], same):
			return "has dependent " + titleOf(d) + " twice"
		case !m.owns(d):
			return "has dependent " + titleOf(d) + ", which belongs to another object"
		}
		if why := contentWrong(d, s, m.paths); why != "" {
			return "has dependent " + titleOf(d) + ", which " + why
		}
	}
	for _, s := range j.dependents(m.of, kinds, m.window) {
		if !slices.ContainsFunc(m.Dependents, func(d unstructured.Unstructured) bool { return d.GetUID() == s.GetUID() }) {
			return "lacks dependent " + nameOf(s)
		}
	}
	return ""
}

// kinds reads archive.dependents: KIND or KIND.GROUP.
func (m *making) kinds() (all []schema.GroupKind) {
	for _, name := range m.rule.Archive.Dependents {
		kind, group, _ := strings.Cut(name, ".")
		all = append(all, schema.GroupKind{Group: group, Kind: kind})
	}
	return all
}

// owns reports whether the object of a record, or one of its dependents, owns an object.
func (m *making) owns(o unstructured.Unstructured) bool {
	return isOwned(o, m.of.Unstructured) || slices.ContainsFunc(m.Dependents, func(d unstructured.Unstructured) bool { return isOwned(o, d) })
}

func isOwned(o, by unstructured.Unstructured) bool {
	if by.GetNamespace() != "" && by.GetNamespace() != o.GetNamespace() {
		return false
	}
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == by.GetUID() {
			return true
		}
	}
	return false
}

// current returns the stored version of an archived object, if it was the present one at a revision of a window; otherwise nil.
func (j *checker) current(o unstructured.Unstructured, w window) *history.State {
	s := j.Log.Version(o.GetUID(), o.GetResourceVersion())
	if s == nil || s.Revision > w.to {
		return nil
	}
	for _, c := range j.Log.Of(s.Key) {
		if c.Before == s && c.Revision <= w.from {
			return nil
		}
	}
	return s
}

// dependents returns the dependents of an object that belonged to it in the whole of a window, and theirs. Pods of Pods are left out:
// records do not have them.
func (j *checker) dependents(of *history.State, kinds []schema.GroupKind, w window) (all []*history.State) {
	for owners := []*history.State{of}; len(owners) > 0; owners = owners[1:] {
		for _, kind := range kinds {
			if kind == podKind && owners[0].GroupVersionKind().GroupKind() == podKind {
				continue
			}
			for _, s := range j.Log.Kind(kind, w.from) {
				belongs := func(s *history.State) bool { return isOwned(s.Unstructured, owners[0].Unstructured) }
				if s.GetUID() != of.GetUID() && !slices.Contains(all, s) && j.always(s, w, belongs) {
					all, owners = append(all, s), append(owners, s)
				}
			}
		}
	}
	return all
}

// always reports whether an object existed in the whole of a window, and all its versions are so.
func (j *checker) always(s *history.State, w window, is func(*history.State) bool) bool {
	for _, c := range j.Log.Of(s.Key) {
		if c.Revision > w.from && c.Revision <= w.to && (c.After == nil || c.After.GetUID() != s.GetUID() || !is(c.After)) {
			return false
		}
	}
	return is(s)
}

// eventsWrong says which Event of a record is not about its objects, and which Event about them is missing that existed for the whole
// time in which the record was made.
func (j *checker) eventsWrong(m *making) string {
	about := map[types.UID]bool{m.Object.GetUID(): true}
	for _, d := range m.Dependents {
		about[d.GetUID()] = true
	}
	concerns := func(event map[string]any) bool {
		uid, _ := mapIn(event, "involvedObject")["uid"].(string)
		return about[types.UID(uid)]
	}
	has := map[types.UID]bool{}
	for _, e := range m.Events {
		s := j.current(e, m.window)
		switch has[e.GetUID()] = true; {
		case !m.rule.Archive.Events:
			return "has Events, which the rule does not archive"
		case s == nil:
			return "has Event " + e.GetName() + ", which had another version or did not exist"
		case !concerns(e.Object):
			return "has Event " + e.GetName() + " about another object"
		}
		if why := contentWrong(e, s, nil); why != "" {
			return "has Event " + e.GetName() + ", which " + why
		}
	}
	for _, s := range j.Log.Kind(eventKind, m.from) {
		is := func(s *history.State) bool { return concerns(s.Object) }
		if m.rule.Archive.Events && !has[s.GetUID()] && j.always(s, m.window, is) {
			return "lacks Event " + s.GetName()
		}
	}
	return ""
}

func titleOf(o unstructured.Unstructured) string { return o.GetKind() + " " + o.GetName() }
