// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Referred holds the references to ConfigMaps and Secrets that Referrers found. It is immutable and safe for concurrent use. A
// nil Referred has no information.
type Referred struct {
	of       []references.Kind
	by       map[references.Target][]Referrer // sorted, without duplicates
	failures []Failure                        // why references are unknown; failures without an object first
	unknown  map[references.Kind]error
	unseen   []schema.GroupVersionKind // declared kinds without any object
}

// Referrer is an object that refers to another one.
type Referrer struct {
	Kind            schema.GroupKind
	Namespace, Name string
}

func (r Referrer) compare(o Referrer) int {
	return cmp.Or(cmp.Compare(r.Kind.Kind, o.Kind.Kind), cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Name, o.Name), cmp.Compare(r.Kind.Group, o.Kind.Group))
}

// Uses holds the known references to one object.
type Uses struct {
	By    []Referrer // by kind, namespace and name
	Doubt error      // why there may be more references; nil if the list is complete
}

// Of returns the references to an object; nil if no rule reads them.
func (r *Referred) Of(kind schema.GroupKind, namespace, name string) *Uses {
	of := references.Kind(kind.Kind)
	if r == nil || kind.Group != "" || !slices.Contains(r.of, of) {
		return nil
	}
	return &Uses{By: r.by[references.Target{Kind: of, Namespace: namespace, Name: name}], Doubt: r.unknown[of]}
}

// Failures returns why references are unknown.
func (r *Referred) Failures() []Failure {
	if r == nil {
		return nil
	}
	return slices.Clone(r.failures)
}

// Unseen returns the kinds whose references a policy declares, but without any object.
func (r *Referred) Unseen() []schema.GroupVersionKind {
	if r == nil {
		return nil
	}
	return slices.Clone(r.unseen)
}

// References returns the references for rules. The quiet period, in which nothing may refer to an object, counts as over,
// because a preview sees objects only once.
func (u *Uses) References() *engine.References {
	if u == nil {
		return nil
	}
	return &engine.References{Count: len(u.By), Incomplete: u.Doubt, By: func() []engine.Referrer {
		all := make([]engine.Referrer, len(u.By))
		for i, by := range u.By {
			all[i] = engine.Referrer{Kind: by.Kind.Kind, Namespace: by.Namespace, Name: by.Name}
		}
		return all
	}}
}

// unknownSource is a source of references that is unknown or incomplete.
type unknownSource struct {
	to []references.Kind
	Failure
}

// summarize combines all doubts about each kind into one error, which names the first.
func (r *Referred) summarize(all []unknownSource) {
	r.unknown = map[references.Kind]error{}
	for _, of := range r.of {
		var about []Failure
		for _, d := range all {
			if slices.Contains(d.to, of) {
				about = append(about, d.Failure)
			}
		}
		if len(about) == 0 {
			continue
		}
		slices.SortFunc(about, Failure.compare)
		text := about[0].inFull()
		if more := len(about) - 1; more > 0 {
			text += fmt.Sprintf("; and %d more", more)
		}
		r.unknown[of] = fmt.Errorf("some references to %s objects are unknown: %s", of, text)
	}
	for _, d := range all {
		r.failures = append(r.failures, d.Failure)
	}
	slices.SortFunc(r.failures, Failure.compare)
}

// inFull returns the message with its object and rule.
func (f Failure) inFull() string {
	text := f.Message
	if f.RuleID != (policy.RuleID{}) {
		text = f.RuleID.String() + ": " + text
	}
	switch {
	case f.Name == "":
		return text
	case f.Namespace == "":
		return f.Name + ": " + text
	default:
		return f.Namespace + "/" + f.Name + ": " + text
	}
}
