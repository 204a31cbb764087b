package engine

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Explanation is what one expression of a rule gives for an object, and what led to it.
type Explanation struct {
	Field   string // eligible, startTime, ttlExpression, keepNewest.groupBy, outcome; or an annotation that cannot be read
	Text    string // the expression as written in the rule
	Tag     string // of an image with several tags, the one that is asked about: it keeps the image longest, or fails
	Value   string // what it gives, for people; empty when it failed or was not asked
	Err     error  // as in Facts.Err
	Skipped bool   // not asked, because an expression before it failed or said no
	Parts   []Part // in the order of the text, each followed by its own parts
}

// Part is a sub-expression and what it gives. What loops is one part, whose turns are not told; what is the same
// whatever the object, such as a literal, is none.
type Part struct {
	Text     string `json:"text"`               // on one line, with the quotes and spaces of docs/cel.md
	Variable string `json:"variable,omitempty"` // the variable whose expression this is a part of; empty for the rule's own
	Line     int    `json:"line"`               // where it stands in that expression, from 1
	Column   int    `json:"column"`             // likewise
	Depth    int    `json:"depth"`              // 0 for the parts of the expression itself
	Value    string `json:"value,omitempty"`    // for people; empty when it failed or was not needed
	Err      string `json:"error,omitempty"`    // what went wrong, here or in a part below
	Skipped  bool   `json:"skipped,omitempty"`  // not needed for the result, so never asked: the right side of false && ...
}

// patience is how many times the deadline of a rule it may take to explain one.
const patience = 20

// Explain says what each expression of the rule gives for the object, and each part of it. What the expressions give is
// what Facts is made of. It is nil when the rule's selector does not match. It is for people to read: every part is
// compiled and run on its own, and nothing is kept from one call to the next.
func (r *Program) Explain(ctx context.Context, object map[string]any) []Explanation {
	return r.ExplainIn(ctx, Surroundings{}, object)
}

// Surroundings is what a rule may read beside the object, as SetNode and SetReferences have it.
type Surroundings struct {
	Node       *Node
	References *References
}

// ExplainIn is Explain of an object in its surroundings.
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

// questions are what Facts asks, in its order: the expressions, and before the TTL the object's own if that cannot be
// read, which wants no result.
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

// answers asks under the same deadline as Facts. Where nothing could be asked, the first answer says why.
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

// answer is what one question gives, and whether the next is asked then.
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
