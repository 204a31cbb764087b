package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/sunset-k8s/sunset/policy"
)

// ErrDeadline is wrapped by Facts.Err when the expressions took too long for the clock. That says more of the machine than of
// the object, so that it is worth asking again; what takes too many steps always does.
var ErrDeadline = errors.New("took too long")

// Evaluator asks rules about objects, one at a time: each goroutine has its own. What an evaluation needs is kept from
// one to the next, which is half of its cost otherwise.
type Evaluator struct {
	ctx      context.Context
	deadline time.Duration
	input    input
	frame    *interpreter.ExecutionFrame
	watch    *watch            // nil until an expression with a loop comes along
	last     error             // many objects fail alike: they share the error
	node     map[string]any    // of the images that rules are asked about
	referred *References       // what is known to refer to the object
	texts    map[string]string // of groups, outcomes and owners' kinds, which many objects share
}

// watch interrupts a frame. Its timer runs only while an expression with a loop does.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// textsKept bounds the texts that are remembered: beyond, texts that differ each time gain nothing.
const textsKept = 10_000

// NewEvaluator gives an Evaluator whose evaluations end when ctx does. Close it after use.
func (c *Compiler) NewEvaluator(ctx context.Context) *Evaluator {
	return &Evaluator{ctx: ctx, deadline: c.deadline, node: (*Node)(nil).Object()}
}

// Close lets go of what the Evaluator holds.
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

// SetNode says on which node the images are that rules are asked about from now on. Without one, and with nil, it is a
// node without name and labels.
func (e *Evaluator) SetNode(node *Node) { e.node = node.Object() }

// Facts says what the rule says about the object, which is not changed and not held on to. It never fails: what goes
// wrong is Facts.Err. The order is selector, eligible, startTime or the object's mark, annotation sunset.x-k8s.io/ttl,
// ttlExpression, groupBy, outcome, and a no ends it.
//
// Where the rule reads references, and they are not known, that is all it says; see SetReferences.
//
// A rule about images is asked about the Object of an Image, on the node of SetNode. Without startTime its start is the
// later of when the image was first seen and last used. It is asked for each tag of the image by itself.
func (e *Evaluator) Facts(r *Program, object map[string]any) policy.Facts {
	if r.images {
		return e.imageFacts(r, object)
	}
	return e.facts(r, object)
}

// NotAsked is Facts of a rule that is not evaluated: if the rule selects the object they have the error.
func (e *Evaluator) NotAsked(r *Program, object map[string]any, err error) policy.Facts {
	facts := markedBy(r, object)
	if r.selects(object) {
		facts.Selected, facts.Err = true, err
	}
	return facts
}

// markedBy are the facts about the object's mark.
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
	facts, err := e.judge(r, object, marked)
	e.input.object, e.input.extras = nil, ofExtras[map[string]any]{}
	if err != nil {
		return policy.Facts{Selected: true, Err: e.shared(err), Marked: marked.Marked, Start: marked.Start}
	}
	return facts
}

func (e *Evaluator) judge(r *Program, object map[string]any, facts policy.Facts) (policy.Facts, error) {
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
	if facts.Eligible, err = ask(e, r.eligible, eligibility, toBool); err != nil || !facts.Eligible {
		return facts, err
	}
	if facts.NotBefore, err = e.notBefore(r, object); err != nil {
		return facts, err
	}
	switch {
	case r.startTime != nil:
		if facts.Start, err = ask(e, r.startTime, start, toTime); err != nil {
			return facts, err
		}
	case r.images:
		image, err := ImageOf(object)
		if err != nil {
			return facts, err
		}
		facts.Start = image.since()
	}
	if _, err = ownTTL(object); err != nil {
		return facts, err
	}
	if r.ttlExpression != nil {
		if facts.TTL, err = ask(e, r.ttlExpression, lifetime, toTTL); err != nil {
			return facts, err
		}
	}
	if r.owner {
		facts.Owner = e.ownerOf(object)
	}
	if r.groupBy != nil {
		if facts.Group, err = ask(e, r.groupBy, grouping, toGroup); err != nil {
			return facts, err
		}
		facts.Group = e.intern(facts.Group)
	}
	if r.outcome != nil {
		facts.Outcome, err = ask(e, r.outcome, outcoming, toOutcome)
		facts.Outcome = e.intern(facts.Outcome)
	}
	return facts, err
}

// intern gives one copy of equal texts that holds on to nothing of the object.
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

// ask runs one expression and reads what it gives.
func ask[T any](e *Evaluator, p *program, wants result, read func(ref.Val) (T, error)) (T, error) {
	v, _, err := p.run.Eval(e.frame)
	if err == nil {
		var answer T
		if answer, err = read(v); err == nil {
			return answer, nil
		}
	}
	var none T
	return none, e.explain(wants, err)
}

// begin makes the frame ready, and starts the clock if there is a loop.
//
// The frame is used again and again, which cel-go's own Program.ContextEval does not do: there, each evaluation makes a
// context and its bookkeeping. A frame that was interrupted stays interrupted, so end throws it away.
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

// explain says which expression failed, why, and what to write.
func (e *Evaluator) explain(wants result, err error) error {
	if errors.Is(err, interpreter.InterruptError{}) {
		return fmt.Errorf("%s: %w", wants.field(), interruption(e.watch.ctx, e.deadline))
	}
	if tookTooMany(err) {
		return fmt.Errorf("%s: %w", wants.field(), errSteps)
	}
	return shorten(wants.field() + ": " + advise(err))
}

// interruption says why the evaluation under this context was interrupted.
func interruption(ctx context.Context, deadline time.Duration) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrDeadline) {
		return fmt.Errorf("%w: more than %s", ErrDeadline, deadline)
	}
	return cause
}

// advise puts an error of cel-go into the words of docs/cel.md, with what to write.
func advise(err error) string {
	text := typeName(err.Error())
	switch {
	case strings.Contains(text, "no such key: "):
		text += "; where a field can be absent write .?field or has()"
	case strings.HasSuffix(text, "no such overload"):
		text += "; a time in an object is text: timestamp(object.metadata.creationTimestamp)"
	}
	return text
}

// shared gives the error of the object before, if it says the same.
func (e *Evaluator) shared(err error) error {
	if e.last == nil || e.last.Error() != err.Error() {
		e.last = err
	}
	return e.last
}
