// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Program is a compiled rule. It evaluates objects and returns facts about them. It is immutable and safe for
// concurrent use.
type Program struct {
	key      string
	markKey  string                // key without bytes, which decides nothing
	selector labels.Selector       // nil selects every object
	required policy.RequiredLabels // of the selector

	eligible      *program
	startTime     *program            // nil in mark mode: the start is a mark on the object
	ttlExpression *program            // nil if the rule has a fixed ttl
	groupBy       *program            // nil without groups
	outcome       *program            // nil if deletions are not counted by outcome
	bytes         *program            // nil if the size is unknown
	hasClass      bool                // the object names its StorageClass
	owner         bool                // the facts name the owner of the object
	images        bool                // the rule is about images of nodes
	asksUses      bool                // the rule marks since when nothing refers to a PersistentVolumeClaim
	allowedVars   perContextVar[bool] // the context variables that the rule may read
	mark          string              // the key of the rule among the marks of an object
	asks          policy.Relations    // what it asks about other objects
	kindsOnly     bool                // the rule learns only the kind of objects outside of the namespace of the object

	loops         bool // an expression runs under the deadline
	fields        *fields
	contextFields perContextVar[*fields] // the fields that it reads of each context variable
	compiler      *Compiler
	source        source
}

// source holds what a rule was compiled from.
type source struct {
	rule      v1alpha1.Rule
	variables []v1alpha1.Variable
	path      string
}

// expression is one expression of a rule and its field.
type expression struct {
	wants result
	text  string
}

func (e expression) path(rule string) string { return rule + "." + e.wants.field() }

// expressions returns the expressions of the rule, in the order of their evaluation.
func (s *source) expressions() []expression {
	all := []expression{{eligibility, cmp.Or(s.rule.Eligible, policy.DefaultEligible)}}
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
	if text := cmp.Or(s.rule.Bytes, policy.DefaultBytes(s.rule.Target)); text != "" {
		all = append(all, expression{sizing, text})
	}
	return all
}

// Rule compiles one rule of a policy with these variables. It reports problems below path, which is the path of the
// rule, such as spec.rules[0]. Problems of variables have the path spec.variables[i].expression, and every rule repeats
// them. The result contains the problems of all expressions. The Program is nil if there is a problem. Rule does not
// validate the other fields of the rule (name, ttl, delete).
func (c *Compiler) Rule(rule v1alpha1.Rule, variables []v1alpha1.Variable, path string) (*Program, []policy.Problem) {
	return c.ruleWith(rule, c.declared(variables), path)
}

func (c *Compiler) ruleWith(rule v1alpha1.Rule, d *declared, path string) (*Program, []policy.Problem) {
	s := d.scope
	r := &Program{
		compiler: c, fields: &fields{}, contextFields: noFields(), images: aboutImages(rule.Target),
		source: source{rule: rule, variables: d.variables, path: path},
	}
	r.allowedVars[nodeVar] = r.images
	for x := range relations {
		r.allowedVars[x] = r.isAbout(x, d.references)
	}
	problems := s.problems()
	selector, err := selectorOf(rule.Target.Selector, path+".target.selector")
	if err != nil {
		problems = append(problems, *err)
	}
	r.selector, r.required = selector, policy.RequiredLabelsOf(selector)
	if selector != nil {
		r.fields.path("metadata.labels").whole = true
	}
	key := []string{strconv.Itoa(EnvironmentVersion), rule.Target.APIVersion, rule.Target.Kind, selectorText(selector)}
	var size []string
	for _, e := range r.source.expressions() {
		if s.usesInvalidName(e.text) {
			continue // the name of the variable is a problem already, which the parser would repeat in other words
		}
		problems = append(problems, r.add(e, s)...)
		if part := []string{e.wants.field(), e.text, s.digestFor(e.text)}; e.wants == sizing {
			size = part
		} else {
			key = append(key, part...)
		}
	}
	for x, relation := range relations {
		if !r.contextFields[x].isEmpty() {
			r.asks |= relation.asks
		}
	}
	if d := rule.Delete; d != nil && d.Target == v1alpha1.TargetOwner {
		r.owner = true
		r.fields.path("metadata.ownerReferences").whole = true
		key = append(key, "owner")
	}
	if r.hasClass = policy.DefaultBytes(rule.Target) != ""; r.hasClass {
		r.fields.path("spec.storageClassName").whole = true
	}
	if len(problems) == 0 && r.images {
		problems = r.imageProblems(d)
	}
	if len(problems) == 0 && r.ReadsReferences() {
		problems = r.referenceProblems(d)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	r.markKey, r.key = digest(key...), digest(append(key, size...)...)
	return r, nil
}

// marked returns the rule for the mark of one policy. It has its own facts, because marks of other policies do not
// count.
func (r *Program) marked(mark string) *Program {
	own := *r
	own.mark, own.key = mark, digest(r.key, mark)
	own.fields = &fields{}
	own.fields.add(r.fields)
	own.fields.path("metadata.annotations").at(v1alpha1.EligibleSinceAnnotation).whole = true
	if own.asksUses = r.asks.Has(policy.AsksReferences) && aboutClaims(r.source.rule.Target); own.asksUses {
		own.fields.path("status.conditions").whole = true
	}
	return &own
}

// ofNamespace returns the rule as a rule of a RetentionPolicy, which cannot read the names of objects in other
// namespaces.
func (r *Program) ofNamespace() *Program {
	if !listsObjects(r.contextFields[referencesVar]) && !listsObjects(r.contextFields[targetsVar]) {
		return r
	}
	own := *r
	own.kindsOnly, own.key, own.markKey = true, digest(r.key, "namespace"), digest(r.markKey, "namespace")
	return &own
}

// problems returns the problems of the variables.
func (s *scope) problems() []policy.Problem {
	var problems []policy.Problem
	for i, v := range s.variables {
		problems = append(problems, diagnose.Problems(fmt.Sprintf("spec.variables[%d].expression", i), v.text, v.findings)...)
	}
	return problems
}

// add compiles one expression of the rule and returns its problems.
func (r *Program) add(e expression, s *scope) []policy.Problem {
	path := e.path(r.source.path)
	if strings.TrimSpace(e.text) == "" {
		return []policy.Problem{{Path: path, Message: "missing", Hint: e.wants.example()}}
	}
	c := r.compiler.expression(e.text, e.wants, s)
	if c.program == nil && r.images {
		return diagnose.Problems(path, e.text, diagnose.AboutImages(c.findings))
	}
	if c.program == nil {
		return diagnose.Problems(path, e.text, c.findings)
	}
	if findings := forbidden(r.source.rule.Target, c.program.fields); findings != nil {
		return diagnose.Problems(path, e.text, findings)
	}
	for x, at := range c.program.at {
		if at != nil && !r.allowedVars[x] {
			return diagnose.Problems(path, e.text, []diagnose.Finding{r.misplaced(contextVar(x), at)})
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
	case sizing:
		r.bytes = c.program
	}
	r.loops = r.loops || c.program.loops
	r.fields.add(c.program.fields)
	for x, read := range c.program.contextFields {
		r.contextFields[x].add(read)
	}
	return nil
}

// forbidden returns findings if an expression reads fields of a Secret that it must not read. Sunset watches only the
// metadata of Secrets, so their data is never in its memory.
func forbidden(target v1alpha1.Target, read *fields) []diagnose.Finding {
	if target.APIVersion != "v1" || target.Kind != "Secret" || read.within("metadata", "apiVersion", "kind") {
		return nil
	}
	what := "the whole object"
	if !read.whole {
		what = strings.Join(read.outside("metadata", "apiVersion", "kind"), ", ")
	}
	return diagnose.Whole(fmt.Sprintf("only the metadata of a Secret can be read, but this reads %s", what),
		"use the name, labels, annotations, ownerReferences or references; Sunset watches only the metadata of Secrets, "+
			"which does not include the type")
}

// Key identifies the facts of the rule: its target, its selector, and its expressions with the variables that they use.
// Rules with equal keys return equal facts about every object. A change of ttl or mode does not change the key.
func (r *Program) Key() string { return r.key }

// Reads lists the fields of the object that the rule reads, sorted: "status.conditions.*.type", or "*" for the whole
// object.
func (r *Program) Reads() []string { return r.fields.paths() }

// MetadataOnly reports whether the rule reads only metadata, apiVersion and kind, so that a metadata watch is
// sufficient. The caller then sets the apiVersion and kind of the target on the object: a PartialObjectMetadata has its
// own.
func (r *Program) MetadataOnly() bool { return r.fields.within("metadata", "apiVersion", "kind") }

// Marks reports whether the rule has no startTime. The rule then reads from the mark when the object was marked
// eligible.
func (r *Program) Marks() bool { return r.mark != "" }

// Owns reports whether the rule deletes the owner of an object instead of the object.
func (r *Program) Owns() bool { return r.owner }

// OnNodes reports whether the rule is about images of nodes.
func (r *Program) OnNodes() bool { return r.images }

// NodeReads lists the fields of the variable node that the rule reads, as Reads does for the object. If one of them
// changes, the facts about every image may change. If the list is empty, they depend only on the image.
func (r *Program) NodeReads() []string { return r.contextFields[nodeVar].paths() }

// ReadsNode reports whether the rule reads the variable node.
func (r *Program) ReadsNode() bool { return !r.contextFields[nodeVar].isEmpty() }

// ReadsReferences reports whether the rule asks how objects relate to others. If these relations change, its facts may change.
func (r *Program) ReadsReferences() bool { return r.asks != 0 }

// Relations is what the rule asks about other objects: which of the variables references, targets and selected it reads.
func (r *Program) Relations() policy.Relations { return r.asks }

// Facts returns the facts about one object. To evaluate many objects, use an Evaluator.
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

// input holds the variables of an evaluation: the object and the context variables. It also counts the bytes that the evaluation
// builds, and the steps of its loops.
type input struct {
	object      map[string]any
	record      map[string]any // of an archive; only for a Filter
	contextVars perContextVar[map[string]any]
	built       int
	steps       int
}

// ResolveName implements cel.Activation.
func (i *input) ResolveName(name string) (any, bool) {
	switch name {
	case syntax.ObjectVariable:
		return i.object, true
	case syntax.RecordVariable:
		return i.record, true
	case builtVariable:
		return i, true
	}
	if x, ok := contextVarNamed(name); ok {
		return i.contextVars[x], true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (i *input) Parent() cel.Activation { return nil }
