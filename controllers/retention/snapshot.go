// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
)

// The reasons of a Delay of a claim whose rule makes a snapshot first.
const (
	SnapshotPending     = "SnapshotPending"     // the VolumeSnapshot is not ready to use yet
	SnapshotFailed      = "SnapshotFailed"      // it cannot be used
	SnapshotUnavailable = "SnapshotUnavailable" // it cannot be created or read
)

// ErrNoSnapshot says that the VolumeSnapshot of a deletion does not exist.
var ErrNoSnapshot = errors.New("the VolumeSnapshot does not exist")

// Snapshotter is a Remover that can make VolumeSnapshots of claims. Without it, rules with a snapshot delete nothing.
type Snapshotter interface {
	// ReadSnapshot reads the VolumeSnapshot of a deletion live. It returns ErrNoSnapshot if there is none. Any other error says why the
	// deletion must not rely on it, and what to do; it wraps policy.ErrSnapshotPending or policy.ErrSnapshotFailed if it was read.
	ReadSnapshot(ctx context.Context, i policy.Intent) (policy.SnapshotReceipt, error)
	// CreateSnapshot sends a request to create the VolumeSnapshot of a deletion. It returns no error if there is one already.
	CreateSnapshot(ctx context.Context, w policy.DeletePermit) error
}

// SnapshotSlowAfter is how long after its creation a VolumeSnapshot counts as slow. Some storage systems copy the data first.
const SnapshotSlowAfter = 10 * time.Minute

// SnapshotNotice says that the VolumeSnapshot of a claim that is due was created, or is slow.
type SnapshotNotice struct {
	Rule    *policy.Rule
	Subject policy.Subject // the claim
	Name    string         // of the VolumeSnapshot
	Slow    *Delay         // why the claim stays SnapshotSlowAfter after the creation; nil if the VolumeSnapshot was just created or first read
}

// SnapshotObserver is an Observer that is informed once when a VolumeSnapshot is created, and once if it is slow. If the response to the
// creation was lost, the first read counts as the creation. It must not block.
type SnapshotObserver interface {
	Snapshotted(n SnapshotNotice)
}

var errNoSnapshotter = errors.New("this process cannot make snapshots; no claim of the rule is deleted")

// observe adds to a decision since when this process has seen that the claim is due, if its rule makes snapshots.
func (p *pipeline) observe(it item, j *index.Decision) {
	if !j.Permit.Valid() || j.Permit.Rule().Snapshot == nil {
		return
	}
	now := p.reconciler.Clock.Now()
	p.snapshots.sweep(now, p.exists)
	since := p.snapshots.since(it, j.Permit.Intent(), now)
	j.Permit, j.Expected.Observed = j.Permit.WithObserved(since), since
}

// exists reports whether the index has a subject that was not deleted.
func (p *pipeline) exists(it item) bool {
	_, known := p.kind.index.Peek(it.uid, p.reconciler.Clock.Now())
	return known
}

// isDue reports whether a subject is to be deleted now.
func (p *pipeline) isDue(it item) bool {
	j, _ := p.kind.index.Peek(it.uid, p.reconciler.Clock.Now())
	return j.Permit.Valid()
}

// peek returns the decision about a subject now; see index.Index.Peek.
func (p *pipeline) peek(it item) (index.Decision, bool) {
	j, known := p.kind.index.Peek(it.uid, p.reconciler.Clock.Now())
	p.observe(it, &j)
	return j, known
}

// ensureSnapshot reports whether there is a VolumeSnapshot for a deletion that is permitted now, or the rule makes none. If not, it has
// one created, and the subject is retried.
func (p *pipeline) ensureSnapshot(ctx context.Context, it item, w policy.DeletePermit) bool {
	if w.Rule().Snapshot == nil {
		return true
	}
	err := tooManySnapshots(w.Rule().ID.Policy)
	if _, full := p.snapshots.waits(it, w.Rule().ID.Policy, p.reconciler.Clock.Now(), p.isDue); !full {
		_, err = p.readSnapshot(ctx, it, w.Intent())
	}
	if errors.Is(err, ErrNoSnapshot) {
		if _, failed := p.reconciler.Live.Check(ctx, it.namespace); failed != nil {
			p.retryAfterPreflight(ctx, it, failed)
			return false
		}
		if err = p.createSnapshot(ctx, it, w); err == nil {
			err = fmt.Errorf("VolumeSnapshot %s/%s %w", it.namespace, w.Intent().SnapshotName(), policy.ErrSnapshotPending)
		}
	}
	if err != nil {
		p.retryWithoutSnapshot(ctx, it, w.Intent(), err)
	}
	return err == nil
}

// createSnapshot has a VolumeSnapshot created, if the deletion is still permitted and not too many are in progress.
func (p *pipeline) createSnapshot(ctx context.Context, it item, w policy.DeletePermit) error {
	now := p.reconciler.Clock.Now()
	if j, known := p.kind.index.Peek(it.uid, now); !known || !j.Permit.Same(w) {
		return errors.New("the claim has changed")
	}
	if by := w.Rule().ID.Policy; !p.snapshots.acquire(it, by, now, p.isDue) {
		return tooManySnapshots(by)
	}
	if err := p.reconciler.Remover.(Snapshotter).CreateSnapshot(ctx, w); err != nil {
		p.snapshots.release(it)
		return err
	}
	p.noteSnapshot(it, w.Intent())
	return nil
}

// noteSnapshot records that a claim has a VolumeSnapshot, and informs the Observer if the claim had none before.
func (p *pipeline) noteSnapshot(it item, i policy.Intent) {
	if p.snapshots.setSnapshotted(it, true, p.reconciler.Clock.Now()) {
		p.notify(i, nil)
	}
}

// notify informs the Observer about the VolumeSnapshot of a claim.
func (p *pipeline) notify(i policy.Intent, slow *Delay) {
	if o, ok := p.reconciler.Observer.(SnapshotObserver); ok {
		o.Snapshotted(SnapshotNotice{i.Rule, i.Subject, i.SnapshotName(), slow})
	}
}

func tooManySnapshots(by string) error {
	return fmt.Errorf("VolumeSnapshot %w: %d others of policy %s are in progress, have just failed, or are of claims in the namespace that cannot be deleted", policy.ErrSnapshotPending, MaxSnapshots, by)
}

// awaitsSnapshot reports whether a claim has a VolumeSnapshot in progress, or cannot have one yet, so that its deletion need not be
// reserved. The claim is then retried.
func (p *pipeline) awaitsSnapshot(ctx context.Context, it item, w policy.DeletePermit) bool {
	if !w.Valid() || w.Rule().Snapshot == nil {
		return false
	}
	var err error
	switch inProgress, full := p.snapshots.waits(it, w.Rule().ID.Policy, p.reconciler.Clock.Now(), p.isDue); {
	case full:
		err = tooManySnapshots(w.Rule().ID.Policy)
	case inProgress:
		_, err = p.readSnapshot(ctx, it, w.Intent())
	}
	if err == nil || errors.Is(err, ErrNoSnapshot) {
		return false
	}
	p.retryWithoutSnapshot(ctx, it, w.Intent(), err)
	return true
}

// readSnapshot reads the VolumeSnapshot of a deletion live, and counts it if it is in progress. One that has failed counts no longer
// than snapshotForgotten, so that it makes room for others.
func (p *pipeline) readSnapshot(ctx context.Context, it item, i policy.Intent) (policy.SnapshotReceipt, error) {
	s, ok := p.reconciler.Remover.(Snapshotter)
	if !ok {
		return policy.SnapshotReceipt{}, errNoSnapshotter
	}
	r, err := s.ReadSnapshot(ctx, i)
	now := p.reconciler.Clock.Now()
	switch {
	case err == nil:
		p.snapshots.add(it, openSnapshot{i.Rule.ID.Policy, now, true})
		p.noteSnapshot(it, i)
	case errors.Is(err, ErrNoSnapshot):
		p.snapshots.release(it)
		p.snapshots.setSnapshotted(it, false, now)
	case errors.Is(err, policy.ErrSnapshotPending):
		p.snapshots.add(it, openSnapshot{i.Rule.ID.Policy, now, false})
		p.noteSnapshot(it, i)
	case errors.Is(err, policy.ErrSnapshotFailed):
		p.snapshots.fail(it)
		p.noteSnapshot(it, i)
	}
	return r, err
}

// snapshot is the precondition of a deletion that needs a VolumeSnapshot.
func (f *attempt) snapshot(ctx context.Context) (since time.Time, obstacle func()) {
	i := f.likely.Permit.Intent()
	var err error
	if f.taken, err = f.readSnapshot(ctx, f.it, i); err != nil {
		return time.Time{}, func() { f.retryWithoutSnapshot(ctx, f.it, i, err) }
	}
	return f.reconciler.Clock.Now(), nil
}

// retryWithoutSnapshot has a claim retried with backoff whose VolumeSnapshot is not ready.
func (p *pipeline) retryWithoutSnapshot(ctx context.Context, it item, i policy.Intent, why error) {
	setCause(ctx, why)
	now, delay := p.reconciler.Clock.Now(), delayOf(why)
	log.FromContext(ctx).V(p.logs.level("claim kept without a snapshot", delay.Reason, now)).Info("claim has no snapshot that is ready to use, so it is kept",
		"namespace", it.namespace, "name", i.Subject.Name, "rule", i.Rule.ID.String(), "reason", delay.Reason, "why", why.Error())
	p.delays.addObstacle(it, delay, now)
	if p.snapshots.becomesSlow(it, now) {
		p.notify(i, &delay)
	}
	p.retry(it, p.backoffs.again(it, i.Subject.ResourceVersion, Failed))
}

// needsSnapshot reports whether a decision needs a receipt of a VolumeSnapshot that it does not have.
func (f *attempt) needsSnapshot(j index.Decision) bool {
	return j.Permit.Rule().Snapshot != nil && !f.taken.Covers(j.Permit.Intent())
}
