// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Referred holds the references between objects that Referrers found. It is safe for concurrent use. A nil Referred has no
// information.
type Referred struct {
	asked    references.Asked
	known    *references.Index
	failures []Failure // why references are unknown; failures without an object first
	unknown  map[references.Kind]error
	unseen   []schema.GroupVersionKind // declared kinds without any object
}

// Of returns the references to an object, and those of the object, for rules; nil if no rule reads them. The quiet period, in
// which nothing may refer to an object, counts as over, because a preview sees objects only once.
func (r *Referred) Of(kind schema.GroupKind, namespace, name string) *engine.References {
	of := references.KindOf(kind)
	if r == nil || r.asked[of] == 0 {
		return nil
	}
	t := references.Target{Kind: of, Namespace: namespace, Name: name}
	uses := r.known.Of(t)
	all := &engine.References{
		Count: uses.Count, By: func() []engine.Referrer { return extract.Referrers(r.known.By(t)) }, Selected: uses.Selected, Incomplete: r.unknown[of], Unread: uses.Unread,
		Undeclared: uses.Undeclared,
	}
	if r.asked[of].Has(policy.AsksTargets) {
		all.Targets, all.Missing = uses.Targets, func() []engine.Referrer { return extract.Referrers(r.known.Missing(t)) }
	}
	return all
}

// Asked returns what rules ask about a kind.
func (r *Referred) Asked(kind schema.GroupKind) policy.Relations {
	if r == nil {
		return 0
	}
	return r.asked[references.KindOf(kind)]
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

// stopped is the clock of references that never change.
type stopped struct{}

func (stopped) Now() time.Time                { return time.Unix(1, 0) }
func (stopped) Since(time.Time) time.Duration { return 0 }

// unknownSource is a source of references that is unknown or incomplete.
type unknownSource struct {
	about []references.Kind
	Failure
}

// summarize combines all doubts about each kind into one error, which names the first.
func (r *Referred) summarize(all []unknownSource) {
	r.unknown = map[references.Kind]error{}
	for of := range r.asked {
		var about []Failure
		for _, d := range all {
			if slices.Contains(d.about, of) {
				about = append(about, d.Failure)
			}
		}
		if len(about) == 0 {
			continue
		}
		slices.SortFunc(about, Failure.compare)
		texts := make([]string, len(about))
		for i, f := range about {
			texts[i] = f.inFull()
		}
		r.unknown[of] = fmt.Errorf("some references to %s objects are unknown: %s", of, strings.Join(policy.Shortlist(texts, 1, ""), "; "))
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
