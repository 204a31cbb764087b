// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/sunset-k8s/sunset/engine/explain"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Explanation is the result of one expression of a rule for an object, with the results of its parts.
type Explanation struct {
	Field   string // eligible, startTime, ttlExpression, keepNewest.groupBy, outcome; or an annotation that is invalid
	Text    string // the expression as written in the rule
	Tag     string // for an image with several tags, the tag that keeps the image longest, or whose evaluation fails
	Value   string // the result, for people; empty if the expression failed or was not evaluated
	Err     error  // as in Facts.Err
	Skipped bool   // not evaluated, because an expression before it failed or eligible was false
	Parts   []Part // in the order of the text, each followed by its own parts
}

// Part is a sub-expression of an explained expression and its result.
type Part = explain.Part

// explainTimeoutFactor is the deadline for explaining a rule, as a multiple of the deadline for evaluating it.
const explainTimeoutFactor = 20

// Explain returns the result of each expression of the rule for the object, and of each of its parts. The results are
// the same as in Facts. It returns nil if the rule's selector does not match. It is meant for people: it compiles and
// runs every part separately, and caches nothing between calls.
func (r *Program) Explain(ctx context.Context, object map[string]any) []Explanation {
	return r.ExplainIn(ctx, Surroundings{}, object)
}

// Surroundings is what a rule may read besides the object, as for SetNode and SetReferences.
type Surroundings struct {
	Node       *Node
	References *References
}

// ExplainIn is Explain with the node of an image and the references to an object.
func (r *Program) ExplainIn(ctx context.Context, around Surroundings, object map[string]any) []Explanation {
	if !r.selects(object) {
		return nil
	}
	e := r.compiler.NewEvaluator(ctx)
	defer e.Close()
	e.SetNode(around.Node)
	e.SetReferences(around.References)
	tag := e.decides(r, object)
	if tag != "" {
		object = withTag(object, tag)
	}
	expressions := r.explained(object)
	explanations, started := r.explain(e, object, expressions)
	if !started {
		return explanations
	}
	for i := range explanations {
		explanations[i].Tag = tag
	}
	ctx, cancel := context.WithTimeoutCause(ctx, explainTimeoutFactor*r.compiler.deadline, ErrDeadline)
	defer cancel()
	explainer := explain.New(&partEvaluator{
		ctx: ctx, compiler: r.compiler, scope: r.compiler.scope(r.source.variables), object: object, contextVars: e.input.contextVars,
	})
	for i, x := range expressions {
		if x.wants != anything && !explanations[i].Skipped {
			explanations[i].Parts = explainer.Parts(x.text)
		}
	}
	return explanations
}

// explained returns the expressions that Facts evaluates, in its order. If the object's own TTL is invalid, it is
// inserted before the TTL of the rule, with the result type anything.
func (r *Program) explained(object map[string]any) []expression {
	all := r.source.expressions()
	if _, err := ownTTL(object); err == nil {
		return all
	}
	at := slices.IndexFunc(all, func(e expression) bool { return e.wants > start })
	if at < 0 {
		at = len(all)
	}
	return slices.Insert(all, at, expression{text: textOf(mapOf(mapOf(object, "metadata"), "annotations"), v1alpha1.TTLAnnotation)})
}

// explain evaluates all of them under one deadline, as Facts does. If the evaluation cannot start, the first explanation
// has the error.
func (r *Program) explain(e *Evaluator, object map[string]any, expressions []expression) (explanations []Explanation, started bool) {
	explanations = make([]Explanation, len(expressions))
	for i, x := range expressions {
		explanations[i] = Explanation{Field: fieldOf(x), Text: x.text, Skipped: true}
	}
	e.input.object, e.input.built = object, 0
	err := e.provide(r)
	if err == nil {
		err = e.begin(r.loops)
	}
	if err != nil {
		explanations[0].Err, explanations[0].Skipped = err, false
		return explanations, false
	}
	if r.loops {
		defer e.end()
	}
	for i, more := 0, true; i < len(expressions) && more; i++ {
		explanations[i].Skipped = false
		explanations[i].Value, more, explanations[i].Err = r.value(e, expressions[i].wants)
	}
	return explanations, true
}

func fieldOf(x expression) string {
	if x.wants == anything {
		return "annotation " + v1alpha1.TTLAnnotation
	}
	return x.wants.field()
}

// value returns the result of one expression, and whether to evaluate the next.
func (r *Program) value(e *Evaluator, wants result) (text string, more bool, err error) {
	var v ref.Val
	switch wants {
	case anything:
		_, err = ownTTL(e.input.object)
	case eligibility:
		var eligible bool
		eligible, err = evalAs(e, r.eligible, wants, toBool)
		return displayed(types.Bool(eligible), eligible, err)
	case start:
		var t time.Time
		t, err = evalAs(e, r.startTime, wants, toTime)
		v = optionalTime("", t, nil)
	case lifetime:
		var ttl time.Duration
		ttl, err = evalAs(e, r.ttlExpression, wants, toTTL)
		if v = types.OptionalNone; ttl != policy.NeverTTL {
			v = types.Duration{Duration: ttl}
		}
	case grouping:
		var group string
		group, err = evalAs(e, r.groupBy, wants, toGroup)
		v = types.String(group)
	case outcoming:
		var outcome string
		outcome, err = evalAs(e, r.outcome, wants, toOutcome)
		v = types.String(outcome)
	}
	return displayed(v, wants != anything, err)
}

func displayed(v ref.Val, more bool, err error) (string, bool, error) {
	if err != nil || v == nil {
		return "", false, err
	}
	return explain.Display(v), more, nil
}
