package retention

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Questions is what a Source asks about the subjects of a kind. It is immutable.
type Questions struct {
	Kind       schema.GroupVersionKind
	Everywhere Asked
	In         map[string]Asked // namespaces with rules of their own, where what is asked everywhere is asked too
}

// Asked is the rules asked about a subject, and the layout of the facts that answer them.
type Asked struct {
	Rules  []*engine.Program
	Layout *index.Layout
}

// NewQuestions asks rules everywhere, and others in single namespaces.
func NewQuestions(kind schema.GroupVersionKind, everywhere []*engine.Program, in map[string][]*engine.Program) Questions {
	q := Questions{Kind: kind, Everywhere: asked(everywhere), In: make(map[string]Asked, len(in))}
	for namespace, own := range in {
		q.In[namespace] = asked(slices.Concat(everywhere, own))
	}
	return q
}

func asked(rules []*engine.Program) Asked {
	a := Asked{Rules: rules, Layout: &index.Layout{Columns: make([]string, len(rules))}}
	for i, r := range rules {
		a.Layout.Columns[i] = r.Key()
	}
	return a
}

// About is what is asked about a subject in a namespace, "" for none.
func (q Questions) About(namespace string) Asked {
	if own, ok := q.In[namespace]; ok {
		return own
	}
	return q.Everywhere
}

// Rules are all rules that are asked anywhere, each once.
func (q Questions) Rules() []*engine.Program {
	all := map[string]*engine.Program{}
	for _, r := range q.Everywhere.Rules {
		all[r.Key()] = r
	}
	for _, in := range q.In {
		for _, r := range in.Rules {
			all[r.Key()] = r
		}
	}
	return slices.SortedFunc(maps.Values(all), compareKeys)
}

// ReadsReferences reports whether some rule asks what refers to a subject: its answers change though the subject does not.
func (q Questions) ReadsReferences() bool {
	for _, in := range q.In {
		if slices.ContainsFunc(in.Rules, (*engine.Program).ReadsReferences) {
			return true
		}
	}
	return slices.ContainsFunc(q.Everywhere.Rules, (*engine.Program).ReadsReferences)
}

// answers reports whether rows about these questions have facts for all that another asks.
func (a Asked) answers(o Asked) bool {
	return !slices.ContainsFunc(o.Layout.Columns, func(key string) bool { return !slices.Contains(a.Layout.Columns, key) })
}

// answersEverywhere reports whether all that is asked everywhere is answered.
func (q Questions) answersEverywhere(o Questions) bool {
	return q.Kind == o.Kind && q.Everywhere.answers(o.Everywhere)
}

// unanswered are the namespaces in which more is asked.
func (q Questions) unanswered(o Questions) []string {
	var names []string
	for namespace, in := range o.In {
		if !q.About(namespace).answers(in) {
			names = append(names, namespace)
		}
	}
	return names
}

func (q Questions) answers(o Questions) bool {
	return q.answersEverywhere(o) && len(q.unanswered(o)) == 0
}

// with asks in the namespaces what another asks there, and what it asks everywhere. Where nothing changes layouts stay.
func (q Questions) with(o Questions, namespaces []string) Questions {
	q.In = maps.Clone(q.In)
	for _, namespace := range namespaces {
		own := slices.DeleteFunc(slices.Clone(o.In[namespace].Rules), func(r *engine.Program) bool {
			return slices.Contains(q.Everywhere.Layout.Columns, r.Key())
		})
		q.In[namespace] = asked(slices.Concat(q.Everywhere.Rules, own))
	}
	return q
}

// askedBy are the questions of rules about each kind of which a rule could delete any.
func askedBy(snapshot *policy.Snapshot, programs map[string]*engine.Program) map[schema.GroupKind]Questions {
	all := map[schema.GroupKind]Questions{}
	for _, kind := range snapshot.Kinds() {
		if q, wanted := questionsOf(snapshot, programs, kind); wanted {
			all[kind] = q
		}
	}
	return all
}

// questionsOf are those that the rules about a kind ask, but for rules that may not look; ok is false when no rule could
// delete any of it.
func questionsOf(snapshot *policy.Snapshot, programs map[string]*engine.Program, kind schema.GroupKind) (q Questions, ok bool) {
	ok = slices.ContainsFunc(snapshot.Rules(kind), func(r *policy.Rule) bool { return programs[r.Key] != nil && !r.Unwatched && !r.Invalid() })
	everywhere, in := map[string]*engine.Program{}, map[string]map[string]*engine.Program{}
	for _, rule := range snapshot.Asked(kind) {
		program := programs[rule.Key]
		if program == nil || rule.Unwatched {
			continue
		}
		switch {
		case rule.Namespace == "":
			everywhere[rule.Key] = program
		case in[rule.Namespace] == nil:
			in[rule.Namespace] = map[string]*engine.Program{rule.Key: program}
		default:
			in[rule.Namespace][rule.Key] = program
		}
	}
	own := map[string][]*engine.Program{}
	for namespace, rules := range in {
		maps.DeleteFunc(rules, func(key string, _ *engine.Program) bool { return everywhere[key] != nil })
		own[namespace] = slices.SortedFunc(maps.Values(rules), compareKeys)
	}
	return NewQuestions(snapshot.Version(kind), slices.SortedFunc(maps.Values(everywhere), compareKeys), own), ok
}

func compareKeys(a, b *engine.Program) int { return strings.Compare(a.Key(), b.Key()) }
