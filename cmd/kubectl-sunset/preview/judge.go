// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Input holds everything that decisions depend on, except for the objects.
type Input struct {
	Compiler   *engine.Compiler
	Policies   []*policy.Policy // each in the mode in which it acts
	Programs   map[string]*engine.Program
	Namespaces map[string]policy.Namespace // a missing namespace has only its name as a label
	Protection policy.Protection
	At         time.Time
	Node       *engine.Node   // the node of the images; nil for a node without labels
	Referred   *Referred      // the references between objects; nil if no rule reads them
	Prices     *policy.Prices // of storage; nil for none

	Namespace string          // only objects of this namespace; empty means all
	Selector  labels.Selector // only objects with these labels; nil means all

	Kinds sets.Set[schema.GroupKind] // only objects of these kinds; nil means all

	// Whole reports that the feed contains all objects, also those that no rule targets. Messages about owners depend on it.
	Whole bool
	// Namespaced reports whether objects of a kind are in namespaces; nil if every object has the namespace that it needs.
	Namespaced func(schema.GroupKind) bool
}

// Judge decides about objects. It is immutable and safe for concurrent use.
type Judge struct {
	Input
	rules *ruleIndex
}

// New returns a Judge. The caller must not change the input afterwards.
func New(in Input) *Judge {
	return &Judge{Input: in, rules: newRuleIndex(in)}
}

// Targets returns the kinds that rules target, each at the version to read.
func (j *Judge) Targets() []schema.GroupVersionKind {
	var targets []schema.GroupVersionKind
	for _, kind := range j.rules.snapshot.Kinds() {
		if j.about(kind) && kind != v1alpha1.ImageKind.GroupKind() { // the API server does not serve images
			targets = append(targets, j.version(kind))
		}
	}
	return targets
}

func (j *Judge) about(kind schema.GroupKind) bool { return j.Kinds == nil || j.Kinds.Has(kind) }

// Target returns a kind at the version to read; ok is false if no rule targets it.
func (j *Judge) Target(kind schema.GroupKind) (target schema.GroupVersionKind, ok bool) {
	if len(j.RulesOf(kind)) == 0 {
		return target, false
	}
	return j.version(kind), true
}

// version returns the kind at the version that its rules read. If all rules are invalid, any version that they name will do.
func (j *Judge) version(kind schema.GroupKind) schema.GroupVersionKind {
	if version := j.rules.snapshot.Version(kind); !version.Empty() {
		return version
	}
	return j.rules.snapshot.Rules(kind)[0].Kind
}

// RulesOf returns the rules for a kind, by policy and rule name.
func (j *Judge) RulesOf(kind schema.GroupKind) []*policy.Rule { return j.rules.snapshot.Rules(kind) }

// worker evaluates objects in one goroutine.
type worker struct {
	*Judge
	evaluator   *engine.Evaluator
	results     *results
	evaluations []policy.Evaluation
	unmarked    []policy.RuleID // the rules whose start is only At, because the object has no mark
}

// judge adds the decision about an object to the results.
func (w *worker) judge(object map[string]any) {
	if w.results.owners != nil {
		w.results.owners.add(object)
	}
	kind := policy.StoredAs(KindOf(object))
	if !w.about(kind) {
		return
	}
	if w.Namespaced != nil && NamespaceOf(object) == "" && len(w.RulesOf(kind)) > 0 && w.Namespaced(kind) {
		w.results.unplaced++
	}
	asked := (w.Namespace == "" || NamespaceOf(object) == w.Namespace) && w.selected(MetadataOf(object))
	ranks, _ := w.Ranks(kind)
	if !asked && !ranks {
		return
	}
	c, ok := w.evaluate(object)
	switch {
	case !ok:
	case ranks:
		c.evaluations, c.hidden = slices.Clone(c.evaluations), !asked
		w.results.candidates = append(w.results.candidates, c)
	default:
		w.results.add(&c)
	}
}

// evaluate evaluates every rule that applies to an object. The result is valid until the next call. ok is false if no rule
// applies, or if the object cannot be evaluated; the results then have a failure.
func (w *worker) evaluate(object map[string]any) (c candidate, ok bool) {
	c.kind = KindOf(object)
	meta, namespace := MetadataOf(object), NamespaceOf(object)
	page := w.rules.page(policy.StoredAs(c.kind), namespace)
	rules := w.onNode(page.Rules)
	if len(rules) == 0 || engine.IsMirror(object) {
		return c, false
	}
	subject, err := engine.SubjectOf(object)
	if err != nil {
		name, _ := meta["name"].(string)
		w.results.fail(rules[0].ID, policy.Subject{Namespace: namespace, Name: name}, err.Error())
		return c, false
	}
	c.subject, c.image, c.needed = page.WithHold(subject), imageOf(object), engine.BuiltInHold(object)
	c.subject.Namespace = w.results.intern(subject.Namespace)
	if agreed := w.rules.snapshot.Version(policy.StoredAs(c.kind)); !agreed.Empty() && agreed != c.kind {
		w.results.fail(rules[0].ID, c.subject, otherVersion(c.kind, agreed))
		return c, false
	}
	dropUnread(meta)
	w.evaluations, w.unmarked = w.evaluations[:0], w.unmarked[:0]
	w.evaluator.SetReferences(w.Referred.Of(policy.StoredAs(c.kind), subject.Namespace, subject.Name))
	for _, rule := range rules {
		w.evaluateRule(rule, object)
	}
	c.evaluations = w.evaluations
	return c, true
}

// evaluateRule adds the evaluation of one rule.
func (w *worker) evaluateRule(rule *policy.Rule, object map[string]any) {
	program := w.Programs[rule.Key]
	if program == nil {
		return // the rule has no valid kind
	}
	facts := w.evaluator.Facts(program, object)
	if facts.Marked && facts.Eligible && facts.Start.IsZero() {
		facts.Start = w.At // the controller would mark it now
		w.unmarked = append(w.unmarked, rule.ID)
	}
	w.evaluations = append(w.evaluations, policy.Evaluation{Rule: rule, Facts: facts, Known: true})
}

func (w *worker) selected(meta map[string]any) bool {
	if w.Selector == nil || w.Selector.Empty() {
		return true
	}
	set := labels.Set{}
	written, _ := meta["labels"].(map[string]any)
	for key, value := range written {
		set[key], _ = value.(string)
	}
	return w.Selector.Matches(set)
}

// KindOf returns the kind in an object's apiVersion and kind.
func KindOf(object map[string]any) schema.GroupVersionKind {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// MetadataOf returns an object's metadata; nil if it has none.
func MetadataOf(object map[string]any) map[string]any {
	meta, _ := object["metadata"].(map[string]any)
	return meta
}

// NamespaceOf returns an object's namespace; empty if it has none.
func NamespaceOf(object map[string]any) string {
	namespace, _ := MetadataOf(object)["namespace"].(string)
	return namespace
}

// dropUnread removes the fields that the controller does not store of any object, so that both evaluate the same data.
func dropUnread(meta map[string]any) {
	delete(meta, "managedFields")
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		delete(annotations, v1alpha1.LastAppliedAnnotation)
	}
}

func otherVersion(has, reads schema.GroupVersionKind) string {
	return "not evaluated: the object is at version " + has.GroupVersion().String() + ", but the rules read " + reads.Kind + " at " +
		reads.GroupVersion().String() + "; get it at that version"
}
