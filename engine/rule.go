package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Program is a compiled rule: it turns objects into facts. It is immutable and safe for concurrent use.
type Program struct {
	key      string
	selector labels.Selector // nil selects everything

	eligible      *program
	startTime     *program       // nil in mark mode: the start is a mark on the object
	ttlExpression *program       // nil when the rule has a fixed ttl
	groupBy       *program       // nil without groups
	outcome       *program       // nil when what is deleted is not counted by how it ended
	owner         bool           // the facts name the object's owner
	images        bool           // it is about images of nodes
	may           ofExtras[bool] // read them
	mark          string         // names the rule's entry among an object's marks
	confined      bool           // it does not see who refers to an object from outside of its namespace

	loops    bool // some expression runs under the deadline
	fields   *fields
	extras   ofExtras[*fields] // what it reads of them
	compiler *Compiler
	source   source
}

// source is what a rule was compiled from.
type source struct {
	rule      v1alpha1.Rule
	variables []v1alpha1.Variable
	path      string
}

// expression is one expression of a rule, and where it stands.
type expression struct {
	wants result
	text  string
}

func (e expression) path(rule string) string { return rule + "." + e.wants.field() }

// expressions are those of the rule, in the order in which they are asked.
func (s *source) expressions() []expression {
	all := []expression{{eligibility, s.rule.Eligible}}
	for _, e := range []expression{{start, s.rule.StartTime}, {lifetime, s.rule.TTLExpression}} {
		if e.text != "" {
			all = append(all, e)
		}
	}
	if k := s.rule.KeepNewest; k != nil && k.GroupBy != "" {
		all = append(all, expression{grouping, k.GroupBy})
	}
	if s.rule.Outcome != "" {
		all = append(all, expression{outcoming, s.rule.Outcome})
	}
	return all
}

// Rule compiles one rule of a policy that has these variables. The path of the rule, such as spec.rules[0], is where its
// problems are reported; those of variables are at spec.variables[i].expression, again for each rule. The problems are
// all there are, in every expression, and the Rule is nil if there is one. The rule's shape (name, ttl, delete) is not
// the Compiler's business.
func (c *Compiler) Rule(rule v1alpha1.Rule, variables []v1alpha1.Variable, path string) (*Program, []policy.Problem) {
	return c.ruleWith(rule, c.declared(variables), path)
}

func (c *Compiler) ruleWith(rule v1alpha1.Rule, d *declared, path string) (*Program, []policy.Problem) {
	s := d.scope
	r := &Program{
		compiler: c, fields: &fields{}, extras: nothingOfExtras(), images: aboutImages(rule.Target),
		source: source{rule: rule, variables: d.variables, path: path},
	}
	r.may = ofExtras[bool]{nodeExtra: r.images, referencesExtra: isReferredTo(rule.Target)}
	problems := s.problems()
	selector, err := selectorOf(rule.Target.Selector, path+".target.selector")
	if err != nil {
		problems = append(problems, *err)
	}
	r.selector = selector
	if selector != nil {
		r.fields.path("metadata.labels").whole = true
	}
	key := []string{strconv.Itoa(EnvironmentVersion), rule.Target.APIVersion, rule.Target.Kind, selectorText(selector)}
	for _, e := range r.source.expressions() {
		problems = append(problems, r.add(e, s)...)
		key = append(key, e.wants.field(), e.text, s.digestFor(e.text))
	}
	if d := rule.Delete; d != nil && d.What == v1alpha1.DeleteOwner {
		r.owner = true
		r.fields.path("metadata.ownerReferences").whole = true
		key = append(key, "owner")
	}
	if len(problems) == 0 && r.images {
		problems = r.misfits(d)
	}
	if len(problems) == 0 && r.ReadsReferences() {
		problems = r.misreadings(d)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	r.key = digest(key...)
	return r, nil
}

// marked is the rule for one policy's mark: its facts are its own, since nobody else's mark counts.
func (r *Program) marked(mark string) *Program {
	own := *r
	own.mark, own.key = mark, digest(r.key, mark)
	own.fields = &fields{}
	own.fields.add(r.fields)
	own.fields.path("metadata.annotations").at(v1alpha1.EligibleSinceAnnotation).whole = true
	return &own
}

// ofNamespace is the rule as one of a RetentionPolicy, which learns nothing of other namespaces.
func (r *Program) ofNamespace() *Program {
	if !listsReferrers(r.extras[referencesExtra]) {
		return r
	}
	own := *r
	own.confined, own.key = true, digest(r.key, "namespace")
	return &own
}

// problems are those of the variables themselves.
func (s *scope) problems() []policy.Problem {
	var problems []policy.Problem
	for i, v := range s.variables {
		problems = append(problems, problemsAt(fmt.Sprintf("spec.variables[%d].expression", i), v.text, v.findings)...)
	}
	return problems
}

// add compiles one expression of the rule.
func (r *Program) add(e expression, s *scope) []policy.Problem {
	path := e.path(r.source.path)
	if strings.TrimSpace(e.text) == "" {
		return []policy.Problem{{Path: path, Message: "missing", Hint: e.wants.example()}}
	}
	c := r.compiler.expression(e.text, e.wants, s)
	if c.program == nil {
		return problemsAt(path, e.text, r.findings(c))
	}
	if f := forbidden(r.source.rule.Target, c.program.fields); f != nil {
		return problemsAt(path, e.text, []finding{*f})
	}
	for x, at := range c.program.at {
		if at != nil && !r.may[x] {
			return problemsAt(path, e.text, []finding{r.misplaced(extra(x), *at)})
		}
	}
	switch e.wants {
	case eligibility:
		r.eligible = c.program
	case start:
		r.startTime = c.program
	case lifetime:
		r.ttlExpression = c.program
	case grouping:
		r.groupBy = c.program
	case outcoming:
		r.outcome = c.program
	}
	r.loops = r.loops || c.program.loops
	r.fields.add(c.program.fields)
	for x, read := range c.program.extras {
		r.extras[x].add(read)
	}
	return nil
}

// forbidden says why an expression may not read what it reads. Secrets are watched without their data, so that Sunset
// never holds any; nothing but metadata is there to be read.
func forbidden(target v1alpha1.Target, read *fields) *finding {
	if target.APIVersion != "v1" || target.Kind != "Secret" || read.within("metadata", "apiVersion", "kind") {
		return nil
	}
	what := "all of it"
	if !read.whole {
		what = strings.Join(read.outside("metadata", "apiVersion", "kind"), ", ")
	}
	return &finding{
		message: fmt.Sprintf("of a Secret only metadata can be read, and this reads %s", what),
		hint: "judge by name, labels, annotations, ownerReferences or references; Sunset watches nothing but the metadata of Secrets, " +
			"so not even the type is there",
		line: 1, column: 1,
	}
}

// Key names the facts that the rule gives: the target, its selector and the expressions with the variables they use.
// Rules with equal keys give equal facts about every object, and a change of ttl or mode leaves the key as it is.
func (r *Program) Key() string { return r.key }

// Reads lists the fields of the object that the rule reads, sorted: "status.conditions.*.type", or "*" for the whole
// object.
func (r *Program) Reads() []string { return r.fields.paths() }

// MetadataOnly reports whether the rule reads metadata, apiVersion and kind alone, so that it is enough to watch
// metadata. The caller then puts the target's apiVersion and kind on the object: a PartialObjectMetadata carries its own.
func (r *Program) MetadataOnly() bool { return r.fields.within("metadata", "apiVersion", "kind") }

// Marks reports whether the rule has no startTime: it reads when an object was marked eligible.
func (r *Program) Marks() bool { return r.mark != "" }

// Owns reports whether the rule lets an object's owner go instead of the object.
func (r *Program) Owns() bool { return r.owner }

// OnNodes reports whether the rule is about images of nodes.
func (r *Program) OnNodes() bool { return r.images }

// NodeReads lists what the rule reads of the variable node, as Reads does of the object. When any of that changes the
// facts about every image may; without any they never do.
func (r *Program) NodeReads() []string { return r.extras[nodeExtra].paths() }

// ReadsNode reports whether the rule reads the variable node.
func (r *Program) ReadsNode() bool { return !r.extras[nodeExtra].isEmpty() }

// ReadsReferences reports whether the rule reads the variable references. When what refers to an object changes, what the
// rule says of it may.
func (r *Program) ReadsReferences() bool { return !r.extras[referencesExtra].isEmpty() }

// Facts says what the rule says about one object. To ask often, use an Evaluator.
func (r *Program) Facts(ctx context.Context, object map[string]any) policy.Facts {
	e := r.compiler.NewEvaluator(ctx)
	defer e.Close()
	return e.Facts(r, object)
}

func (r *Program) selects(object map[string]any) bool {
	return r.selector == nil || r.selector.Matches(objectLabels(mapOf(mapOf(object, "metadata"), "labels")))
}

func selectorText(s labels.Selector) string {
	if s == nil {
		return ""
	}
	return s.String()
}

var _ cel.Activation = (*input)(nil)

// input is what an expression sees: the object, and the extras. It also keeps count of what the evaluation
// builds, and of the steps of its loops.
type input struct {
	object map[string]any
	extras ofExtras[map[string]any]
	built  int
	steps  int
}

// ResolveName implements cel.Activation.
func (i *input) ResolveName(name string) (any, bool) {
	switch name {
	case objectVariable:
		return i.object, true
	case builtVariable:
		return i, true
	}
	if x, ok := extraNamed(name); ok {
		return i.extras[x], true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (i *input) Parent() cel.Activation { return nil }
