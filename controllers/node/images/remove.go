// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

var (
	errNoPermit = errors.New("internal error: removal without a permit for this image")
	errMoved    = errors.New("the image has changed since it was evaluated")
	errNode     = errors.New("the node has changed since the image was evaluated")
	errLate     = errors.New("not sent: the checks before it were more than a second old")
	errKept     = errors.New("the container runtime still has the image after it answered that it had removed it")
	errRanks    = errors.New("another client removed or changed images, which changes the ranks of the others")
)

// Prepare implements retention.Remover. It waits for a place in a round, and holds it until Release. Then it reads the images
// and their use again. It fails if the image is not exactly as it was evaluated: if it is in use now, or has another tag.
func (n *Node) Prepare(ctx context.Context, w policy.DeletePermit, t policy.Target) (retention.Prepared, *retention.Outcome) {
	if err := mayRemove(w, t); err != nil {
		return retention.Prepared{}, &retention.Outcome{Result: retention.Refused, Err: err, Unsent: true}
	}
	received := n.receivedByRules()
	round, err := n.batcher.enter(ctx, entry{t.Name, w.Compares()})
	if err != nil {
		return retention.Prepared{}, &retention.Outcome{Result: retention.Busy, Err: err, Unsent: true}
	}
	l, blocked := n.examine(ctx, round, t)
	if blocked != nil {
		round.leave()
		return retention.Prepared{}, blocked
	}
	found := prepared{round: round, image: l.byID[t.Name], lost: n.hasChanged(received, l)}
	return retention.Prepared{Since: l.since, Release: round.leave, Send: func(ctx context.Context, cleared policy.Clearance, since time.Time) retention.Outcome {
		return n.send(ctx, cleared, t, found, since)
	}}, nil
}

// mayRemove returns why a permit does not permit the removal of a target; nil if it does.
func mayRemove(w policy.DeletePermit, t policy.Target) error {
	if !w.Valid() || !t.Is(policy.TargetOf(w.Rule().Kind, w.Subject())) || t.Name != w.Subject().Name || !engine.IsImageID(t.Name) {
		return errNoPermit
	}
	return nil
}

// examine reads the target image and its use in a round.
func (n *Node) examine(ctx context.Context, in *round, t policy.Target) (*snapshot, *retention.Outcome) {
	l, err := n.snapshotOf(ctx, in, t.Name)
	if err != nil {
		return nil, &retention.Outcome{Err: err, Unsent: true}
	}
	i := l.byID[t.Name]
	switch {
	case i == nil:
		return nil, &retention.Outcome{Result: retention.Gone, Err: errors.New("the image was already removed"), Unsent: true}
	case i.InUse:
		return nil, &retention.Outcome{Result: retention.Changed, Err: fmt.Errorf("it is in use by %s", i.use), Unsent: true}
	case i.Pinned, i.ageless, i.version != t.ResourceVersion:
		return nil, &retention.Outcome{Result: retention.Changed, Err: errMoved, Unsent: true}
	}
	if took := n.Clock.Now().Sub(l.began); took < 0 || took > readsAge {
		return nil, &retention.Outcome{Err: fmt.Errorf("reading the images and Pods of the node took %s: too long to remove an image after it", took), Unsent: true}
	}
	return l, nil
}

// prepared is the state of an image, as a round has read it, before its removal.
type prepared struct {
	round *round
	image *image
	lost  bool // another client has removed or changed images that the rules know
}

// send removes an image that was prepared. If an earlier attempt had no answer, the result of this one is the result of both,
// provided that it sends a request.
func (n *Node) send(ctx context.Context, cleared policy.Clearance, t policy.Target, p prepared, since time.Time) retention.Outcome {
	if !cleared.Permits(t) {
		return retention.Outcome{Result: retention.Refused, Err: errNoPermit, Unsent: true}
	}
	w := cleared.Permit()
	if err := n.stillValid(ctx, w, t, p); err != nil {
		return retention.Outcome{Result: retention.Changed, Err: err, Unsent: true}
	}
	sent := sentBy(w, p.image)
	earlier := n.remember(sent)
	outcome := n.remove(ctx, p.round, p.image, func() error {
		if !preflight.Fresh(n.Clock.Now(), since) {
			return errLate
		}
		return nil
	})
	if outcome.Unsent {
		n.restore(t.Name, earlier)
		return outcome
	}
	sent.unanswered = outcome.Unsure && outcome.Result != retention.Refused // a refusal is an answer
	n.remember(sent)
	return outcome
}

// stillValid repeats the checks that depend on the state of the node and on other images. It sends no request.
func (n *Node) stillValid(ctx context.Context, w policy.DeletePermit, t policy.Target, p prepared) error {
	if err := mayRemove(w, t); err != nil {
		return err
	}
	if w.Compares() && (p.lost || !p.round.ranks) { // the image may be among the newest now
		return errRanks
	}
	if err := n.stillTooFull(w); err != nil {
		return err
	}
	return n.upheld(ctx, w, p.image)
}

// snapshotOf returns what a round has read of an image. It reads only the images to be removed. If that does not suffice, if a
// rule compares images, or if the ages of the last snapshot no longer hold because a clock has stepped, it reads all images.
func (n *Node) snapshotOf(ctx context.Context, in *round, id string) (*snapshot, error) {
	l, err := in.snapshot(func() (*snapshot, error) {
		if in.ranks || !n.History.IsCurrent(n.Readings()) {
			return n.snapshots.fresh(ctx)
		}
		return n.takePartialSnapshot(ctx, in.ids)
	})
	if err != nil || in.ranks || l.byID[id] != nil {
		return l, err
	}
	return n.snapshots.fresh(ctx)
}

// readsAge is the maximum time that all reads before a removal may take, because their result is as old as the first answer.
const readsAge = 5 * time.Second

// upheld evaluates the rules that read the node again: the node may have changed although the image has not.
func (n *Node) upheld(ctx context.Context, w policy.DeletePermit, i *image) (err error) {
	evaluator := n.Compiler.NewEvaluator(ctx)
	defer evaluator.Close()
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
		evaluator.SetNode(node)
		return evaluator.Facts(rule, i.Object()), true
	}, n.Clock.Now())
	if err == nil && !holds {
		err = errNode
	}
	return err
}

func (n *Node) remove(ctx context.Context, in *round, i *image, beforeWrite func() error) retention.Outcome {
	err := in.remove(func() error { return n.Runtime.Remove(ctx, i.ID, beforeWrite) })
	if errors.Is(err, errLate) {
		return retention.Outcome{Err: errLate, Unsent: true}
	}
	if err != nil && n.Failed != nil {
		n.Failed(cri.Code(err))
	}
	if err != nil && !n.isGone(ctx, i.ID) {
		return retention.Outcome{Result: resultOf(err), Unsure: true, Err: err}
	}
	at := n.Readings()
	defer n.save(at)
	if _, there, err := n.Runtime.Image(ctx, i.ID); there && err == nil {
		n.History.Forget(i.ID) // it may have been pulled again
		return retention.Outcome{Result: retention.Refused, Unsure: true, Err: errKept}
	}
	n.History.Removed(i.ID, at)
	return retention.Outcome{Result: retention.Removed}
}

// isGone reports whether an image is gone although the request to remove it failed, which is common.
func (n *Node) isGone(ctx context.Context, id string) bool {
	l, err := n.snapshots.fresh(ctx)
	return err == nil && l.byID[id] == nil
}

// resultOf returns the result for an error of the runtime. Most errors concern the image: CRI-O answers Unknown if it is in
// use.
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
