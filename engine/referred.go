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

// References is what refers to a ConfigMap or Secret, as rules see it.
type References struct {
	// Count is how many objects refer to it.
	Count int
	// By lists them. It is asked only for rules that read the list; nil is a list of nobody.
	By func() []Referrer
	// Doubt is why there may be more; nil when there are not. Rules that read references say nothing else then.
	Doubt error
	// Since is since when no more than Count refer to it, as far as anybody knows.
	Since time.Time
}

// Referrer is an object that refers to another one.
type Referrer struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// isReferredTo reports whether references to objects of a target are followed.
func isReferredTo(t v1alpha1.Target) bool {
	return t.APIVersion == "v1" && (t.Kind == "ConfigMap" || t.Kind == "Secret")
}

var errUnfollowed = errors.New("nobody follows what refers to it")

// SetReferences says what refers to the object that rules are asked about next, and until it is called again. Until it is
// called, and with nil, nobody knows, and what rules that read references say is policy.ErrReferencesUnknown.
func (e *Evaluator) SetReferences(r *References) { e.referred = r }

// provide makes the extras ready that a rule reads.
func (e *Evaluator) provide(r *Program) error {
	if r.images {
		e.input.extras[nodeExtra] = e.node
	}
	if !r.ReadsReferences() {
		return nil
	}
	if e.referred == nil {
		return unknown(errUnfollowed)
	}
	if e.referred.Doubt != nil {
		return unknown(e.referred.Doubt)
	}
	seen := e.referred
	if r.confined {
		seen = seen.within(textOf(mapOf(e.input.object, "metadata"), "namespace"))
	}
	e.input.extras[referencesExtra] = seen.object(r.extras[referencesExtra])
	return nil
}

// unknown is policy.ErrReferencesUnknown with a reason that is no longer than that of any other error.
func unknown(why error) error {
	return fmt.Errorf("%w: %w", policy.ErrReferencesUnknown, shorten(why.Error()))
}

// notBefore is when an object may go at the soonest by a rule that reads references: until then nobody can be sure that
// whoever refers to it has been seen. By any other rule it may go at any time.
func (e *Evaluator) notBefore(r *Program, object map[string]any) (time.Time, error) {
	if !r.ReadsReferences() {
		return time.Time{}, nil
	}
	since, err := timeOf(mapOf(object, "metadata"), "creationTimestamp")
	if err != nil {
		return time.Time{}, fmt.Errorf("metadata.creationTimestamp: %w", err)
	}
	if e.referred.Since.After(since) {
		since = e.referred.Since
	}
	if since.IsZero() {
		return since, nil
	}
	return since.Add(policy.QuietPeriod).UTC(), nil
}

// listsReferrers reports whether the list may be read, and not only how long it is.
func listsReferrers(read *fields) bool {
	if read.whole {
		return true
	}
	for field := range read.below { // one that is chosen while the rule runs may be any
		if field != "count" {
			return true
		}
	}
	return false
}

// within is what a namespace sees of it: of those who are not in it, or in none, only that there are some of their kind.
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

// object is the variable references, with the list only if it is read.
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
