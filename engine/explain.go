package engine

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/cel-go/common/types"

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

// Part is a sub-expression and its result. A loop is one part: its iterations are not listed. Sub-expressions that do
// not depend on the object, such as literals, are not parts.
type Part struct {
	Text     string `json:"text"`               // on one line, with the quotes and spaces of docs/cel.md
	Variable string `json:"variable,omitempty"` // the variable whose expression contains this part; empty for the rule's own
	Line     int    `json:"line"`               // its position in that expression, from 1
	Column   int    `json:"column"`             // from 1
	Depth    int    `json:"depth"`              // 0 for the parts of the expression itself
	Value    string `json:"value,omitempty"`    // for people; empty if it failed or was not needed
	Err      string `json:"error,omitempty"`    // the error of this part or of a part below it
	Skipped  bool   `json:"skipped,omitempty"`  // not evaluated, because the result does not depend on it: the right side of false && ...
}

// patience is the deadline for explaining a rule, as a multiple of the deadline for evaluating it.
const patience = 20

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
	questions := r.questions(object)
	explanations, asked := r.answers(e, object, questions)
	if !asked {
		return explanations
	}
	for i := range explanations {
		explanations[i].Tag = tag
	}
	p, done := r.newProbe(ctx, object, e.input.extras)
	defer done()
	for i := range explanations {
		if q := questions[i]; q.wants != anything && !explanations[i].Skipped {
			explanations[i].Parts = p.partsOf(q.text)
		}
	}
	return explanations
}

// questions returns the expressions that Facts evaluates, in its order. If the object's own TTL is invalid, it is
// inserted before the TTL of the rule, with the result type anything.
func (r *Program) questions(object map[string]any) []expression {
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

// answers evaluates all of them under one deadline, as Facts does. If the evaluation cannot start, the first answer has
// the error.
func (r *Program) answers(e *Evaluator, object map[string]any, questions []expression) (answers []Explanation, asked bool) {
	answers = make([]Explanation, len(questions))
	for i, q := range questions {
		answers[i] = Explanation{Field: fieldOf(q), Text: q.text, Skipped: true}
	}
	e.input.object, e.input.built = object, 0
	err := e.provide(r)
	if err == nil {
		err = e.begin(r.loops)
	}
	if err != nil {
		answers[0].Err, answers[0].Skipped = err, false
		return answers, false
	}
	if r.loops {
		defer e.end()
	}
	more := true
	for i, q := range questions {
		if answers[i].Skipped = !more; more {
			answers[i].Value, more, answers[i].Err = r.answer(e, q.wants)
		}
	}
	return answers, true
}

func fieldOf(q expression) string {
	if q.wants == anything {
		return "annotation " + v1alpha1.TTLAnnotation
	}
	return q.wants.field()
}

// answer returns the result of one expression, and whether to evaluate the next.
func (r *Program) answer(e *Evaluator, wants result) (text string, more bool, err error) {
	switch wants {
	case anything:
		_, err = ownTTL(e.input.object)
	case eligibility:
		more, err = ask(e, r.eligible, wants, toBool)
		text = strconv.FormatBool(more)
	case start:
		var t time.Time
		t, err = ask(e, r.startTime, wants, toTime)
		text, more = displayTime(t), true
	case lifetime:
		var ttl time.Duration
		ttl, err = ask(e, r.ttlExpression, wants, toTTL)
		text, more = displayTTL(ttl), true
	case grouping:
		var group string
		group, err = ask(e, r.groupBy, wants, toGroup)
		text, more = display(types.String(group)), true
	case outcoming:
		var outcome string
		outcome, err = ask(e, r.outcome, wants, toOutcome)
		text, more = display(types.String(outcome)), true
	}
	if err != nil {
		return "", false, err
	}
	return text, more, nil
}
