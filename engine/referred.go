// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// References are the references to an object, and of the object, as rules see them.
type References struct {
	// Count is the number of objects that refer to it.
	Count int
	// By lists these objects. It is called only for rules that read the list. nil means an empty list.
	By func() []Referrer
	// Targets is the number of objects that it refers to. Missing lists those that do not exist, as By does.
	Targets int
	Missing func() []Referrer
	// Selected is the number of objects that its label selector matches.
	Selected int
	// Incomplete is the reason why there may be more references; nil if the numbers are complete. If it is set, a rule that reads
	// references, targets or selected returns only this error. Unread is the same for targets and selected.
	Incomplete, Unread error
	// Undeclared is what neither Kubernetes nor a policy declares for the kind. Rules that read it return an error.
	Undeclared policy.Relations
	// Since is the time since when, as far as is known, at most Count objects refer to it, no more targets are missing, and at least
	// Selected objects are selected.
	Since time.Time
}

// Referrer is an object that refers to another one, or that another one refers to.
type Referrer struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

var errNotTracked = errors.New("reference tracking is disabled")

// SetReferences sets the references to the objects that are evaluated next, until the next call. By default, and after
// nil, the references are unknown, and the facts of rules that read references contain policy.ErrReferencesUnknown.
func (e *Evaluator) SetReferences(r *References) { e.references = r }

// provide sets the context variables that a rule reads.
func (e *Evaluator) provide(r *Program) error {
	if r.images {
		e.input.contextVars[nodeVar] = e.node
	}
	if !r.ReadsReferences() {
		return nil
	}
	if e.references == nil {
		return unknown(errNotTracked)
	}
	if err := e.references.Unknown(r.asks); err != nil {
		return unknown(err)
	}
	seen := e.references
	if r.kindsOnly {
		seen = seen.within(textOf(mapOf(e.input.object, "metadata"), "namespace"))
	}
	if r.asks.Has(policy.AsksReferences) {
		e.input.contextVars[referencesVar] = counted(seen.Count, "by", seen.By, r.contextFields[referencesVar])
	}
	if r.asks.Has(policy.AsksTargets) {
		e.input.contextVars[targetsVar] = counted(seen.Targets, "missing", seen.Missing, r.contextFields[targetsVar])
	}
	if r.asks.Has(policy.AsksSelected) {
		e.input.contextVars[selectedVar] = map[string]any{"count": int64(seen.Selected)}
	}
	return nil
}

// Unknown returns why rules that read some variables keep the object; nil if these are known.
func (r *References) Unknown(some policy.Relations) error {
	missing := some & r.Undeclared
	switch {
	case r.Incomplete != nil:
		return r.Incomplete
	case missing != 0:
		return missing.Undeclared()
	case some.Has(policy.AsksTargets | policy.AsksSelected):
		return r.Unread
	}
	return nil
}

// unknown returns policy.ErrReferencesUnknown with a reason, which is shortened like any other error.
func unknown(why error) error {
	return fmt.Errorf("%w: %w", policy.ErrReferencesUnknown, shorten(why.Error()))
}

// notBefore returns the earliest time at which a rule that reads references may delete an object: before that, Sunset
// may not have observed all references to the object. For any other rule it returns zero.
func (e *Evaluator) notBefore(r *Program, object map[string]any) (time.Time, error) {
	if !r.ReadsReferences() {
		return time.Time{}, nil
	}
	since, err := timeOf(mapOf(object, "metadata"), "creationTimestamp")
	if err != nil {
		return time.Time{}, fmt.Errorf("metadata.creationTimestamp: %w", err)
	}
	if e.references.Since.After(since) {
		since = e.references.Since
	}
	if since.IsZero() {
		return since, nil
	}
	return since.Add(policy.QuietPeriod).UTC(), nil
}

// listsObjects reports whether the rule may read a list, and not only its length.
func listsObjects(read *fields) bool {
	if read.whole {
		return true
	}
	for field := range read.below { // a field that is computed at run time may be any
		if field != "count" {
			return true
		}
	}
	return false
}

// within returns the references as visible from a namespace. Of objects that refer to it from other namespaces, or that have no
// namespace, only the kind is visible. Whether such targets exist is not visible: they are not missing.
func (r *References) within(namespace string) *References {
	seen := *r
	if r.By != nil {
		seen.By = func() []Referrer { return onlyKinds(r.By(), namespace) }
	}
	if r.Missing != nil {
		seen.Missing = func() []Referrer {
			return slices.DeleteFunc(slices.Clone(r.Missing()), func(one Referrer) bool { return one.Namespace != namespace })
		}
	}
	return &seen
}

func onlyKinds(by []Referrer, namespace string) []Referrer {
	all := slices.Clone(by)
	for i, one := range all {
		if one.Namespace != namespace {
			all[i] = Referrer{Kind: one.Kind}
		}
	}
	slices.SortFunc(all, func(a, b Referrer) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// counted returns a variable with a number and a list of objects. It contains the list only if the rule reads it.
func counted(count int, list string, objects func() []Referrer, read *fields) map[string]any {
	o := map[string]any{"count": int64(count), list: []any{}}
	if !listsObjects(read) || objects == nil {
		return o
	}
	all := objects()
	listed := make([]any, len(all))
	for i, one := range all {
		listed[i] = map[string]any{"kind": one.Kind, "namespace": one.Namespace, "name": one.Name}
	}
	o[list] = listed
	return o
}
