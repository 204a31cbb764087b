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

// Referred is what refers to ConfigMaps and Secrets, as Referrers found it. It does not change, and is safe for concurrent
// use. What refers to anything by nil, nobody knows.
type Referred struct {
	of       []references.Kind
	by       map[references.Target][]Referrer // in order, each once
	failures []Failure                        // why not everything is known; those about no object first
	doubts   map[references.Kind]error
	unseen   []schema.GroupVersionKind // declared kinds of which there was no object
}

// Referrer is an object that refers to another one.
type Referrer struct {
	Kind            schema.GroupKind
	Namespace, Name string
}

func (r Referrer) compare(o Referrer) int {
	return cmp.Or(cmp.Compare(r.Kind.Kind, o.Kind.Kind), cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Name, o.Name), cmp.Compare(r.Kind.Group, o.Kind.Group))
}

// Uses is what is known of one object.
type Uses struct {
	By    []Referrer // by kind, namespace and name
	Doubt error      // why there may be more; nil when there are not
}

// Of gives what refers to an object; nil where no rule asks.
func (r *Referred) Of(kind schema.GroupKind, namespace, name string) *Uses {
	of := references.Kind(kind.Kind)
	if r == nil || kind.Group != "" || !slices.Contains(r.of, of) {
		return nil
	}
	return &Uses{By: r.by[references.Target{Kind: of, Namespace: namespace, Name: name}], Doubt: r.doubts[of]}
}

// Failures are why not everything is known.
func (r *Referred) Failures() []Failure {
	if r == nil {
		return nil
	}
	return slices.Clone(r.failures)
}

// Unseen are the kinds of which a policy says what they refer to, and of which there was no object.
func (r *Referred) Unseen() []schema.GroupVersionKind {
	if r == nil {
		return nil
	}
	return slices.Clone(r.unseen)
}

// References is what rules see of it. They count the time for which nothing must have referred to an object as over: what
// is here is seen once.
func (u *Uses) References() *engine.References {
	if u == nil {
		return nil
	}
	return &engine.References{Count: len(u.By), Doubt: u.Doubt, By: func() []engine.Referrer {
		all := make([]engine.Referrer, len(u.By))
		for i, by := range u.By {
			all[i] = engine.Referrer{Kind: by.Kind.Kind, Namespace: by.Namespace, Name: by.Name}
		}
		return all
	}}
}

// doubt is a source of references that is not known, or not completely.
type doubt struct {
	to []references.Kind
	Failure
}

// summarize makes of all doubts one about each kind, which names the first.
func (r *Referred) summarize(all []doubt) {
	r.doubts = map[references.Kind]error{}
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
		r.doubts[of] = fmt.Errorf("the references to %s objects are not known completely: %s", of, text)
	}
	for _, d := range all {
		r.failures = append(r.failures, d.Failure)
	}
	slices.SortFunc(r.failures, Failure.compare)
}

// inFull is the message with the object and the rule that it is about.
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
