package engine

import (
	"context"
	"strconv"
	"time"
)

// Explanation is what one expression of a rule says about an object, and how it comes to say it.
type Explanation struct {
	Field   string // eligible, startTime or ttlExpression
	Text    string // the expression as written in the rule
	Value   string // what it gives, for people; empty when it failed or was not asked
	Err     error  // as in Facts.Err
	Skipped bool   // not asked, because an expression before it failed or said no
	Parts   []Part // in the order of the text, each followed by its own parts
}

// Part is a sub-expression and what it gives. What loops is one part, whose turns are not told; what is the same
// whatever the object, such as a literal, is none.
type Part struct {
	Text         string // on one line, with the quotes and spaces of docs/cel.md
	Variable     string // the variable whose expression this is a part of; empty for the rule's own
	Line, Column int    // where it stands in that expression, from 1
	Depth        int    // 0 for the parts of the expression itself
	Value        string // for people; empty when it failed or was not needed
	Err          string // what went wrong, here or in a part below
	Skipped      bool   // not needed for the result, so never asked: the right side of false && ...
}

// patience is how many times the deadline of a rule it may take to explain one.
const patience = 20

// Explain says what each expression of the rule gives for the object, and each part of it. What the expressions give is
// what Facts is made of. It is nil when the rule's selector does not match. It is for people to read: every part is
// compiled and run on its own, and nothing is kept from one call to the next.
func (r *Rule) Explain(ctx context.Context, object map[string]any) []Explanation {
	if !r.selects(object) {
		return nil
	}
	explanations := r.answers(ctx, object)
	p, done := r.newProbe(ctx, object)
	defer done()
	for i, e := range explanations {
		if !e.Skipped {
			explanations[i].Parts = p.partsOf(e.Text)
		}
	}
	return explanations
}

// answers asks the expressions in the order of Facts, and under the same deadline.
func (r *Rule) answers(ctx context.Context, object map[string]any) []Explanation {
	e := r.compiler.NewEvaluator(ctx)
	defer e.Close()
	e.input.object = object
	if err := e.begin(r.loops); err != nil {
		return []Explanation{{Err: err}}
	}
	if r.loops {
		defer e.end()
	}
	var answers []Explanation
	more := true
	for _, x := range r.source.expressions() {
		answer := Explanation{Field: x.wants.field(), Text: x.text, Skipped: !more}
		if more {
			answer.Value, more, answer.Err = r.answer(e, x.wants)
		}
		answers = append(answers, answer)
	}
	return answers
}

// answer is what one expression gives, and whether the next is asked then.
func (r *Rule) answer(e *Evaluator, wants result) (text string, more bool, err error) {
	switch wants {
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
		text = displayTTL(ttl)
	}
	if err != nil {
		return "", false, err
	}
	return text, more, nil
}
