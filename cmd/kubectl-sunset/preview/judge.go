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

// Input is what objects are judged by.
type Input struct {
	Compiler   *engine.Compiler
	Policies   []*policy.Policy // each in the mode in which it is to act
	Programs   map[string]*engine.Program
	Namespaces map[string]policy.Namespace // one that is missing carries only its name as a label
	Protection policy.Protection
	At         time.Time
	Node       *engine.Node // that images are on; nil for one without labels
	Referred   *Referred    // what refers to ConfigMaps and Secrets; nil where no rule asks

	Namespace string          // judge only objects of this namespace; empty means all
	Selector  labels.Selector // judge only objects with these labels; nil means all

	Kinds sets.Set[schema.GroupKind] // judge only objects of these kinds; nil means all

	// Whole: the feed gives all objects there are, also those that no rule is about. What is said of owners rests on it.
	Whole bool
}

// Judge judges objects. It is immutable and safe for concurrent use.
type Judge struct {
	Input
	rules *ruleIndex
}

// New makes a Judge. The input must not change any more.
func New(in Input) *Judge {
	return &Judge{Input: in, rules: newRuleIndex(in)}
}

// Targets are the kinds that rules are about, each as it is to be read.
func (j *Judge) Targets() []schema.GroupVersionKind {
	var targets []schema.GroupVersionKind
	for _, kind := range j.rules.snapshot.Kinds() {
		if j.about(kind) && kind != v1alpha1.ImageKind.GroupKind() { // no API server has images
			targets = append(targets, j.version(kind))
		}
	}
	return targets
}

func (j *Judge) about(kind schema.GroupKind) bool { return j.Kinds == nil || j.Kinds.Has(kind) }

// Target is a kind as it is to be read; ok is false where no rule is about it.
func (j *Judge) Target(kind schema.GroupKind) (target schema.GroupVersionKind, ok bool) {
	if len(j.RulesOf(kind)) == 0 {
		return target, false
	}
	return j.version(kind), true
}

// version is the kind as its rules read it. Invalid rules keep what they select at whatever version they name.
func (j *Judge) version(kind schema.GroupKind) schema.GroupVersionKind {
	if version := j.rules.snapshot.Version(kind); !version.Empty() {
		return version
	}
	return j.rules.snapshot.Rules(kind)[0].Kind
}

// RulesOf are the rules about a kind, by policy and rule name.
func (j *Judge) RulesOf(kind schema.GroupKind) []*policy.Rule { return j.rules.snapshot.Rules(kind) }

// worker is where one goroutine judges.
type worker struct {
	*Judge
	evaluator   *engine.Evaluator
	results     *results
	evaluations []policy.Evaluation
	unmarked    []policy.RuleID // of the evaluations, those whose start is only At
}

// judge adds what there is to say about an object to the results.
func (w *worker) judge(object map[string]any) {
	if w.results.owners != nil {
		w.results.owners.add(object)
	}
	kind := policy.StoredAs(KindOf(object))
	if !w.about(kind) {
		return
	}
	meta, _ := object["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	asked := (w.Namespace == "" || namespace == w.Namespace) && w.selected(meta)
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

// evaluate evaluates every rule that applies to an object. The result is good until the next; ok is false where no rule applies,
// or the object cannot be judged, which is then in the results.
func (w *worker) evaluate(object map[string]any) (c candidate, ok bool) {
	c.kind = KindOf(object)
	meta, _ := object["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
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
	c.subject, c.image, c.needed = page.See(subject), imageOf(object), engine.BuiltInHold(object)
	c.subject.Namespace = w.results.intern(subject.Namespace)
	if agreed := w.rules.snapshot.Version(policy.StoredAs(c.kind)); !agreed.Empty() && agreed != c.kind {
		w.results.fail(rules[0].ID, c.subject, otherVersion(c.kind, agreed))
		return c, false
	}
	dropUnread(meta)
	w.evaluations, w.unmarked = w.evaluations[:0], w.unmarked[:0]
	w.evaluator.SetReferences(w.Referred.Of(policy.StoredAs(c.kind), subject.Namespace, subject.Name).References())
	for _, rule := range rules {
		w.evaluateRule(rule, object)
	}
	c.evaluations = w.evaluations
	return c, true
}

// evaluateRule adds what one rule says.
func (w *worker) evaluateRule(rule *policy.Rule, object map[string]any) {
	program := w.Programs[rule.Key]
	if program == nil {
		return // not even its kind could be understood
	}
	facts := w.evaluator.Facts(program, object)
	if facts.Marked && facts.Eligible && facts.Start.IsZero() {
		facts.Start = w.At // it would be marked now
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

// KindOf is the kind that an object says it is.
func KindOf(object map[string]any) schema.GroupVersionKind {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// dropUnread removes what the controller does not keep of any object, so that both judge the same.
func dropUnread(meta map[string]any) {
	delete(meta, "managedFields")
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
}

func otherVersion(has, reads schema.GroupVersionKind) string {
	return "not judged: given at " + has.GroupVersion().String() + ", and the rules read " + reads.Kind + " at " +
		reads.GroupVersion().String() + "; get it at that version"
}
