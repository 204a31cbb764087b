// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/policy"
)

// ErrDeadline is wrapped by Facts.Err if the expressions exceeded the deadline. This depends more on the load of the
// machine than on the object, so a retry can succeed. Exceeding the limit of steps fails every time.
var ErrDeadline = errors.New("took too long")

// Evaluator evaluates rules on one object at a time. Each goroutine needs its own. It reuses memory between
// evaluations, which otherwise cost about twice as much.
type Evaluator struct {
	ctx        context.Context
	deadline   time.Duration
	input      input
	frame      *interpreter.ExecutionFrame
	watch      *watch            // nil until the first expression with a loop
	last       error             // the previous error: many objects fail in the same way, and share it
	node       map[string]any    // the node of the images to evaluate
	references *References       // the known references to the object
	texts      map[string]string // groups, outcomes, classes and kinds of owners, which many objects share
	trace      func(result any)  // called with the result of each expression; nil except in Explain
}

// watch interrupts a frame. Its timer runs only while an expression with a loop runs.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// textsKept is the maximum number of shared strings. Beyond it, most strings are unique, and sharing saves nothing.
const textsKept = 10_000

// NewEvaluator returns an Evaluator whose evaluations end when ctx ends. Close it after use.
func (c *Compiler) NewEvaluator(ctx context.Context) *Evaluator {
	return &Evaluator{ctx: ctx, deadline: c.deadline, node: (*Node)(nil).Object()}
}

// Close releases the resources of the Evaluator.
func (e *Evaluator) Close() {
	if e.frame != nil {
		e.frame.Close()
		e.frame = nil
	}
	if e.watch != nil {
		e.watch.timer.Stop()
		e.watch.cancel(nil)
		e.watch = nil
	}
}

// SetNode sets the node of the images that are evaluated next. By default, and after nil, it is a node without a name
// and labels.
func (e *Evaluator) SetNode(node *Node) { e.node = node.Object() }

// Facts evaluates the rule on the object. It neither changes the object nor keeps a reference to it. It never fails:
// errors are in Facts.Err. It evaluates, in this order, the selector, eligible, startTime or the object's mark,
// annotation sunset-k8s.io/ttl, ttlExpression, groupBy, outcome and bytes. It stops if the selector does not match or
// eligible is false.
//
// If the rule reads references and they are unknown, Facts contains only that error; see SetReferences. If it is about claims, the
// start is the later of the mark and the last change of the claim's condition Unused.
//
// For a rule about images, the object is that of Image.Object, on the node of SetNode. Without startTime, the start is
// the later of when the image was first seen and last used. An image with several tags is evaluated once for each tag.
func (e *Evaluator) Facts(r *Program, object map[string]any) policy.Facts {
	if r.images {
		return e.imageFacts(r, object)
	}
	return e.facts(r, object)
}

// UnevaluatedFacts returns the Facts of a rule without evaluating its expressions. If the rule selects the object, they contain
// the error.
func (e *Evaluator) UnevaluatedFacts(r *Program, object map[string]any, err error) policy.Facts {
	facts := markedBy(r, object)
	if r.selects(object) {
		facts.Selected, facts.Err = true, err
	}
	return facts
}

// markedBy returns the facts about the object's mark.
func markedBy(r *Program, object map[string]any) policy.Facts {
	if r.mark == "" {
		return policy.Facts{}
	}
	return policy.Facts{Marked: true, Start: markOf(object, r.mark)}
}

func (e *Evaluator) facts(r *Program, object map[string]any) policy.Facts {
	marked := markedBy(r, object)
	if !r.selects(object) {
		return marked
	}
	object = visible(object)
	e.input.object, e.input.built, e.input.steps = object, 0, 0
	facts, err := e.evaluate(r, object, marked)
	e.input.object, e.input.contextVars = nil, perContextVar[map[string]any]{}
	if err != nil {
		return policy.Facts{Selected: true, Err: e.shared(err), Marked: marked.Marked, Start: marked.Start}
	}
	return facts
}

func (e *Evaluator) evaluate(r *Program, object map[string]any, facts policy.Facts) (policy.Facts, error) {
	facts.Selected = true
	if err := e.provide(r); err != nil {
		return facts, err
	}
	if err := e.begin(r.loops); err != nil {
		return facts, err
	}
	if r.loops {
		defer e.end()
	}
	var err error
	if facts.Eligible, err = evalAs(e, r.eligible, eligibility, toBool); err != nil || !facts.Eligible {
		return facts, err
	}
	if facts.NotBefore, err = e.notBefore(r, object); err != nil {
		return facts, err
	}
	switch {
	case r.startTime != nil:
		if facts.Start, err = evalAs(e, r.startTime, start, toTime); err != nil {
			return facts, err
		}
	case r.images:
		image, err := ImageOf(object)
		if err != nil {
			return facts, err
		}
		facts.Start = image.since()
	case r.asksUses:
		changed, err := unusedChanged(object)
		if err != nil {
			return facts, err
		}
		if !facts.Start.IsZero() && changed.After(facts.Start) {
			facts.EarlierMark, facts.Start = facts.Start, changed
		}
	}
	if _, err = ownTTL(object); err != nil {
		return facts, err
	}
	if r.ttlExpression != nil {
		if facts.TTL, err = evalAs(e, r.ttlExpression, lifetime, toTTL); err != nil {
			return facts, err
		}
	}
	if r.owner {
		facts.Owner = e.ownerOf(object)
	}
	if r.groupBy != nil {
		if facts.Group, err = evalAs(e, r.groupBy, grouping, toGroup); err != nil {
			return facts, err
		}
		facts.Group = e.intern(facts.Group)
	}
	if r.outcome != nil {
		if facts.Outcome, err = evalAs(e, r.outcome, outcoming, toOutcome); err != nil {
			return facts, err
		}
		facts.Outcome = e.intern(facts.Outcome)
	}
	if r.bytes != nil {
		facts.Size.Bytes, err = evalAs(e, r.bytes, sizing, toBytes)
	}
	if r.hasClass && facts.Size.Bytes > 0 {
		facts.Size.Class = e.intern(textOf(mapOf(object, "spec"), "storageClassName"))
	}
	return facts, err
}

// intern returns one shared copy of equal strings. The copy does not keep the object in memory.
func (e *Evaluator) intern(text string) string {
	if known, ok := e.texts[text]; ok {
		return known
	}
	text = strings.Clone(text)
	if e.texts == nil {
		e.texts = map[string]string{}
	}
	if len(e.texts) < textsKept && len(text) <= longestGroup {
		e.texts[text] = text
	}
	return text
}

// evalAs evaluates one expression and converts its result.
func evalAs[T any](e *Evaluator, p *program, wants result, read func(ref.Val) (T, error)) (T, error) {
	v, _, err := p.run.Eval(e.frame)
	if err == nil {
		var result T
		if result, err = read(v); err == nil {
			if e.trace != nil {
				e.trace(result)
			}
			return result, nil
		}
	}
	var none T
	return none, e.explain(wants, err)
}

// begin prepares the frame, and starts the timer if there is a loop.
//
// The frame is reused. cel-go's own Program.ContextEval instead allocates a context and its state for each evaluation.
// A frame that was interrupted stays interrupted, so end discards it.
func (e *Evaluator) begin(loops bool) (err error) {
	if e.frame == nil {
		if e.frame, err = interpreter.NewExecutionFrame(&e.input); err != nil {
			return err
		}
	}
	switch {
	case !loops:
		return nil
	case e.watch != nil:
		e.watch.timer.Reset(e.deadline)
		return nil
	}
	ctx, cancel := context.WithCancelCause(e.ctx)
	timer := time.AfterFunc(e.deadline, func() { cancel(ErrDeadline) })
	e.watch = &watch{ctx: ctx, cancel: cancel, timer: timer}
	return e.frame.SetContext(ctx, interruptFrequency)
}

func (e *Evaluator) end() {
	if !e.watch.timer.Stop() || e.watch.ctx.Err() != nil {
		e.Close()
	}
}

// explain names the expression that failed, the cause and the fix.
func (e *Evaluator) explain(wants result, err error) error {
	if errors.Is(err, interpreter.InterruptError{}) {
		return fmt.Errorf("%s: %w", wants.field(), interruption(e.watch.ctx, e.deadline))
	}
	if exceededSteps(err) {
		return fmt.Errorf("%s: %w", wants.field(), errSteps)
	}
	return shorten(wants.field() + ": " + diagnose.EvaluationError(err))
}

// interruption returns the reason why the evaluation under this context was interrupted.
func interruption(ctx context.Context, deadline time.Duration) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrDeadline) {
		return fmt.Errorf("%w: more than %s", ErrDeadline, deadline)
	}
	return cause
}

// shared returns the previous error if it has the same text.
func (e *Evaluator) shared(err error) error {
	if e.last == nil || e.last.Error() != err.Error() {
		e.last = err
	}
	return e.last
}
