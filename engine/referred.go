// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// References are the references to a ConfigMap or Secret, as rules see them.
type References struct {
	// Count is the number of objects that refer to it.
	Count int
	// By lists these objects. It is called only for rules that read the list. nil means an empty list.
	By func() []Referrer
	// Incomplete is the reason why there may be more references; nil if Count is complete. If it is set, a rule that reads
	// references returns only this error.
	Incomplete error
	// Since is the time since when, as far as is known, at most Count objects refer to it.
	Since time.Time
}

// Referrer is an object that refers to another one.
type Referrer struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// isReferredTo reports whether Sunset tracks references to the objects of a target.
func isReferredTo(t v1alpha1.Target) bool {
	return t.APIVersion == "v1" && (t.Kind == "ConfigMap" || t.Kind == "Secret")
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
	if e.references.Incomplete != nil {
		return unknown(e.references.Incomplete)
	}
	seen := e.references
	if r.kindsOnly {
		seen = seen.within(textOf(mapOf(e.input.object, "metadata"), "namespace"))
	}
	e.input.contextVars[referencesVar] = seen.object(r.contextFields[referencesVar])
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

// listsReferrers reports whether the rule may read the list, and not only its length.
func listsReferrers(read *fields) bool {
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

// within returns the references as visible from a namespace. Objects of other namespaces, and objects without a
// namespace, have only their kind.
func (r *References) within(namespace string) *References {
	if r.By == nil {
		return r
	}
	seen := *r
	seen.By = func() []Referrer {
		all := slices.Clone(r.By())
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
	return &seen
}

// object returns the variable references. It contains the list only if the rule reads it.
func (r *References) object(read *fields) map[string]any {
	o := map[string]any{"count": int64(r.Count)}
	if !listsReferrers(read) || r.By == nil {
		o["by"] = []any{}
		return o
	}
	by := r.By()
	list := make([]any, len(by))
	for i, one := range by {
		list[i] = map[string]any{"kind": one.Kind, "namespace": one.Namespace, "name": one.Name}
	}
	o["by"] = list
	return o
}
