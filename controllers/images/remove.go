package images

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/images/cri"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

var (
	errNoWarrant = errors.New("no warrant, or one for another image")
	errMoved     = errors.New("the image is not as it was judged")
	errNode      = errors.New("the node is not as it was when the image was judged")
	errRules     = errors.New("it was decided a while ago, or other rules are in force by now")
	errRanks     = errors.New("somebody else removed images, which changes the order of the others")
	errMark      = errors.New("images cannot be marked")
)

// Aim implements retention.Remover: what goes is the image.
func (n *Node) Aim(_ context.Context, i policy.Intent) (policy.Target, *retention.Outcome) {
	return policy.TargetOf(i.Rule.Kind, i.Subject), nil
}

// Remove implements retention.Remover. Where an earlier attempt was not answered this one answers for both, if it sends
// anything.
func (n *Node) Remove(ctx context.Context, w policy.Warrant, t policy.Target, _ func() bool) retention.Outcome {
	earlier, doubtful := n.unsure.take(t.Name)
	outcome := n.attempt(ctx, w, t)
	switch {
	case doubtful && outcome.Unsent:
		n.unsure.put(earlier)
	case outcome.Unsure && outcome.Result != retention.Refused: // a refusal is an answer
		n.unsure.put(n.sentFor(w))
	}
	return outcome
}

// attempt looks at the node again first, and leaves an image that is not exactly as it was judged: used by now, with another
// tag, or observed in another way.
func (n *Node) attempt(ctx context.Context, w policy.Warrant, t policy.Target) retention.Outcome {
	subject := w.Subject()
	if !w.Valid() || !t.Is(policy.TargetOf(w.Rule().Kind, subject)) || t.Name != subject.Name || !cri.IsFullID(t.Name) {
		return retention.Outcome{Result: retention.Refused, Err: errNoWarrant, Unsent: true}
	}
	began, edition, told := n.Clock.Now(), n.rulesInForce(), n.toldOf()
	round, err := n.pace.enter(ctx, entry{t.Name, w.Compares()})
	if err != nil {
		return retention.Outcome{Result: retention.Busy, Err: err, Unsent: true}
	}
	defer round.leave()
	l, err := n.lookIn(ctx, round, t.Name)
	if err != nil {
		return retention.Outcome{Err: err, Unsent: true}
	}
	i := l.byID[t.Name]
	switch {
	case i == nil:
		return retention.Outcome{Result: retention.Gone, Err: errors.New("somebody else removed it"), Unsent: true}
	case i.InUse:
		return retention.Outcome{Result: retention.Changed, Err: fmt.Errorf("it is in use by %s", i.use), Unsent: true}
	case i.Pinned, i.ageless, i.version != t.ResourceVersion:
		return retention.Outcome{Result: retention.Changed, Err: errMoved, Unsent: true}
	}
	if w.Compares() && n.hasLost(told, l) { // another may be among those that stay by now
		return retention.Outcome{Result: retention.Changed, Err: errRanks, Unsent: true}
	}
	if err := n.stillTooFull(w); err != nil {
		return retention.Outcome{Result: retention.Changed, Err: err, Unsent: true}
	}
	if err := n.upheld(ctx, w, i); err != nil {
		return retention.Outcome{Result: retention.Changed, Err: err, Unsent: true}
	}
	now := n.Clock.Now()
	if took := now.Sub(l.began); took < 0 || took > lookAge {
		return retention.Outcome{Err: fmt.Errorf("looking at the node took %s, which is too long to remove anything by it", took), Unsent: true}
	}
	if took := now.Sub(began); took < 0 || took > attemptAge || edition != n.rulesInForce() {
		return retention.Outcome{Result: retention.Changed, Err: errRules, Unsent: true}
	}
	return n.remove(ctx, round, i)
}

// lookIn gives what a round has found of an image: a glance at those that are to go, and only where it does not tell, or where
// other images matter, a look at all.
func (n *Node) lookIn(ctx context.Context, in *round, id string) (*look, error) {
	l, err := in.look(func() (*look, error) {
		if in.ranks {
			return n.looks.fresh(ctx)
		}
		return n.glance(ctx, in.ids)
	})
	if err != nil || in.ranks || l.byID[id] != nil {
		return l, err
	}
	return n.looks.fresh(ctx)
}

// lookAge is how old what a removal rests on may be: a look that takes longer is as old as its first answer.
const lookAge = 5 * time.Second

// attemptAge is how long ago a removal may have been decided, by rules that nobody has changed since: it may have waited for
// others.
const attemptAge = 7 * time.Second

// upheld asks the rules that read the node once more: it may have changed, and the image not.
func (n *Node) upheld(ctx context.Context, w policy.Warrant, i *image) (err error) {
	judge := n.Compiler.NewEvaluator(ctx)
	defer judge.Close()
	holds := w.Upheld(func(r *policy.Rule) (policy.Facts, bool) {
		rule := n.rule(r.Key)
		if rule == nil {
			err = errMoved
		}
		if err != nil || !rule.ReadsNode() {
			return policy.Facts{}, false
		}
		var node *engine.Node
		if node, err = n.Cluster.Node(); err != nil {
			return policy.Facts{}, false
		}
		judge.SetNode(node)
		return judge.Facts(rule, i.Object()), true
	}, n.Clock.Now())
	if err == nil && !holds {
		err = errNode
	}
	return err
}

func (n *Node) remove(ctx context.Context, in *round, i *image) retention.Outcome {
	n.sends(i.ID)
	err := in.remove(func() error { return n.Runtime.Remove(ctx, i.ID) })
	if err != nil && n.Failed != nil {
		n.Failed(cri.Code(err))
	}
	if err != nil && !n.isGone(ctx, i.ID) {
		return retention.Outcome{Result: resultOf(err), Unsure: true, Err: err}
	}
	at := n.Readings()
	n.History.Removed(i.ID, i.Tags, at)
	n.save(at)
	return retention.Outcome{Result: retention.Removed}
}

// isGone looks whether an image is gone although removing it failed, as it often is.
func (n *Node) isGone(ctx context.Context, id string) bool {
	l, err := n.looks.fresh(ctx)
	return err == nil && l.byID[id] == nil
}

// resultOf is what an error of the runtime means: most are about the image, as CRI-O says that it is in use with Unknown.
func resultOf(err error) retention.Result {
	switch cri.Code(err) {
	case codes.Unavailable.String(), codes.ResourceExhausted.String():
		return retention.Busy
	case codes.DeadlineExceeded.String(), codes.Canceled.String(), codes.Internal.String():
		return retention.Failed
	default:
		return retention.Refused
	}
}

// Mark implements retention.Remover. Rules about images mark nothing: the history knows since when an image is unused.
func (n *Node) Mark(context.Context, schema.GroupVersionKind, policy.Marking) retention.Outcome {
	return retention.Outcome{Result: retention.Refused, Err: errMark, Unsent: true}
}
