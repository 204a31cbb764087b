// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/sunset-k8s/sunset/engine/explain"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Explanation is the result of one expression of a rule for an object, with the results of its parts.
type Explanation struct {
	Field   string // eligible, startTime, ttlExpression, keepNewest.groupBy, outcome, bytes; or an annotation that is invalid
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

// Surroundings is what a rule may read besides the object, as for SetNode and SetReferences.
type Surroundings struct {
	Node       *Node
	References *References
}

// Explain returns the result of each expression of the rule for the object, and of each of its parts. The results are
// the same as in Facts. It returns nil if the rule's selector does not match. It is meant for people: it compiles and
// runs every part separately, and caches nothing between calls.
func (r *Program) Explain(ctx context.Context, around Surroundings, object map[string]any) []Explanation {
	if !r.selects(object) {
		return nil
	}
	object = visible(object)
	e := r.compiler.NewEvaluator(ctx)
	defer e.Close()
	e.SetNode(around.Node)
	e.SetReferences(around.References)
	tag := e.decides(r, object)
	if tag != "" {
		object = withTag(object, tag)
	}
	expressions := r.explained(object)
	explanations := e.results(r, object, tag, expressions)
	e.input.object = object
	if e.provide(r) != nil {
		return explanations // the first has the error
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

// results evaluates the rule, and returns the result of each expression. An error belongs to the first expression without a
// result.
func (e *Evaluator) results(r *Program, object map[string]any, tag string, expressions []expression) []Explanation {
	explanations := make([]Explanation, len(expressions))
	for i, x := range expressions {
		explanations[i] = Explanation{Field: fieldOf(x), Text: x.text, Tag: tag, Skipped: true}
	}
	evaluated := 0
	e.trace = func(result any) {
		explanations[evaluated].Value, explanations[evaluated].Skipped = displayed(result), false
		evaluated++
	}
	facts := e.facts(r, object)
	if facts.Err != nil && evaluated < len(explanations) {
		explanations[evaluated].Err, explanations[evaluated].Skipped = facts.Err, false
	}
	return explanations
}

func fieldOf(x expression) string {
	if x.wants == anything {
		return "annotation " + v1alpha1.TTLAnnotation
	}
	return x.wants.field()
}

// displayed formats the result of an expression for people. A zero time and policy.NeverTTL are the result none.
func displayed(result any) string {
	if result == any(time.Time{}) || result == any(policy.NeverTTL) {
		return explain.Display(types.OptionalNone)
	}
	return explain.Display(types.DefaultTypeAdapter.NativeToValue(result))
}
