// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// RuleSet has the rules that a Source evaluates for the subjects of a kind. It is immutable.
type RuleSet struct {
	Kind       schema.GroupVersionKind
	Everywhere NamespaceRules
	In         map[string]NamespaceRules // namespaces with rules of their own; each has the rules of Everywhere too
}

// NamespaceRules has the rules for a subject, and the layout of their facts.
type NamespaceRules struct {
	Rules     []*engine.Program // first those of Everywhere
	Layout    *index.Columns
	selection *engine.Selection // of the rules behind those of Everywhere; in Everywhere, of all rules
}

// Selected returns the positions of the rules in a namespace that may select an object, or whose mark it has, in their order.
func (q RuleSet) Selected(namespace string, object map[string]any) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, i := range q.Everywhere.selection.Of(object) {
			if !yield(i) {
				return
			}
		}
		if in, ok := q.In[namespace]; ok {
			for _, i := range in.selection.Of(object) {
				if !yield(len(q.Everywhere.Rules) + i) {
					return
				}
			}
		}
	}
}

// NewRuleSet returns a RuleSet with rules for all namespaces, and others for single namespaces.
func NewRuleSet(kind schema.GroupVersionKind, everywhere []*engine.Program, in map[string][]*engine.Program) RuleSet {
	q := RuleSet{Kind: kind, Everywhere: NamespaceRules{}.and(everywhere), In: make(map[string]NamespaceRules, len(in))}
	for namespace, own := range in {
		q.In[namespace] = q.Everywhere.and(own)
	}
	return q
}

// and returns these rules and further ones behind them.
func (a NamespaceRules) and(own []*engine.Program) NamespaceRules {
	keys := make([]string, len(own))
	for i, r := range own {
		keys[i] = r.Key()
	}
	return NamespaceRules{Rules: slices.Concat(a.Rules, own), Layout: a.Layout.And(keys...), selection: engine.NewSelection(own)}
}

// OnlyIn returns the rules for the subjects of one namespace, without those of others.
func (q RuleSet) OnlyIn(namespace string) RuleSet {
	own, ok := q.In[namespace]
	if q.In = nil; ok {
		q.In = map[string]NamespaceRules{namespace: own}
	}
	return q
}

// About returns the rules for a subject in a namespace, "" for cluster-scoped subjects.
func (q RuleSet) About(namespace string) NamespaceRules {
	if own, ok := q.In[namespace]; ok {
		return own
	}
	return q.Everywhere
}

// Rules returns all rules of all namespaces, each once.
func (q RuleSet) Rules() []*engine.Program {
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

// ReadsReferences reports whether a rule reads the references to a subject: its facts may change although the subject does
// not.
func (q RuleSet) ReadsReferences() bool {
	for _, in := range q.In {
		if slices.ContainsFunc(in.Rules, (*engine.Program).ReadsReferences) {
			return true
		}
	}
	return slices.ContainsFunc(q.Everywhere.Rules, (*engine.Program).ReadsReferences)
}

// answersEverywhere reports whether rows have the facts of all rules that apply everywhere.
func (q RuleSet) answersEverywhere(o RuleSet) bool {
	return q.Kind == o.Kind && q.Everywhere.Layout.Covers(o.Everywhere.Layout)
}

// unanswered returns the namespaces whose rules need other facts.
func (q RuleSet) unanswered(o RuleSet) []string {
	var names []string
	for namespace, in := range o.In {
		if !q.About(namespace).Layout.Covers(in.Layout) {
			names = append(names, namespace)
		}
	}
	return names
}

// surplus returns the namespaces with rules that another set does not have there.
func (q RuleSet) surplus(o RuleSet) []string {
	var names []string
	for namespace, in := range q.In {
		wanted := o.About(namespace).Layout
		if slices.ContainsFunc(in.Rules[len(q.Everywhere.Rules):], func(r *engine.Program) bool { return !wanted.Has(r.Key()) }) {
			names = append(names, namespace)
		}
	}
	return names
}

func (q RuleSet) answers(o RuleSet) bool {
	return q.answersEverywhere(o) && len(q.unanswered(o)) == 0
}

// with returns the set with the rules of another set in some namespaces, in addition to its own rules of Everywhere. Unchanged
// layouts are kept.
func (q RuleSet) with(o RuleSet, namespaces []string) RuleSet {
	q.In = maps.Clone(q.In)
	for _, namespace := range namespaces {
		own := slices.DeleteFunc(slices.Clone(o.In[namespace].Rules), func(r *engine.Program) bool {
			return q.Everywhere.Layout.Has(r.Key())
		})
		if delete(q.In, namespace); len(own) > 0 {
			q.In[namespace] = q.Everywhere.and(own)
		}
	}
	return q
}

// ruleSetsOf returns the rule sets of the kinds that have a rule which may delete objects.
func ruleSetsOf(snapshot *policy.Snapshot, programs map[string]*engine.Program) map[schema.GroupKind]RuleSet {
	all := map[schema.GroupKind]RuleSet{}
	for _, kind := range snapshot.Kinds() {
		if q, wanted := ruleSetOf(snapshot, programs, kind); wanted {
			all[kind] = q
		}
	}
	return all
}

// ruleSetOf returns the rules about a kind, except rules that lack the permission to list and watch it; ok is false if no
// rule may delete objects of the kind.
func ruleSetOf(snapshot *policy.Snapshot, programs map[string]*engine.Program, kind schema.GroupKind) (q RuleSet, ok bool) {
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
	return NewRuleSet(snapshot.Version(kind), slices.SortedFunc(maps.Values(everywhere), compareKeys), own), ok
}

func compareKeys(a, b *engine.Program) int { return strings.Compare(a.Key(), b.Key()) }
