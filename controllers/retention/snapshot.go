// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
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

// MaxSnapshots is how many VolumeSnapshots of one policy may be in progress, or have failed within two minutes, at the same time.
const MaxSnapshots = 10

// snapshotForgotten is how long a VolumeSnapshot counts as in progress since its creation, or since an attempt has last seen it in
// progress. Attempts come more often.
const snapshotForgotten = 2 * time.Minute

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

// snapshots counts the VolumeSnapshots in progress of a pipeline, and knows since when claims are due. The zero value is ready.
type snapshots struct {
	mu    sync.Mutex
	open  map[item]openSnapshot
	due   map[item]dueClaim
	swept time.Time // when due was last swept
}

// openSnapshot is a VolumeSnapshot in progress.
type openSnapshot struct {
	policy string
	at     time.Time // of its creation, or when an attempt last saw it in progress
}

// dueClaim is a claim that this process has seen to be due.
type dueClaim struct {
	start time.Time // of its time to live
	since time.Time // when it was first seen to be due, or when it needed a new VolumeSnapshot
	used  time.Time // when it was last seen to be due
	made  time.Time // when its VolumeSnapshot was created or first read; zero without one
	slow  bool      // its VolumeSnapshot was reported to be slow
}

// dueForgotten is how long a claim is remembered since it was last seen to be due. One that is forgotten gets another snapshot. It is
// longer than a day, so that a snapshot may take longer than a nightly window.
const dueForgotten = 25 * time.Hour

// since returns since when this process has seen that the claim of an intent is due. When half of retain has passed, the claim needs
// another VolumeSnapshot, so that each exists for the other half after the deletion.
func (s *snapshots) since(it item, i policy.Intent, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.swept) > dueForgotten {
		s.swept = now
		maps.DeleteFunc(s.due, func(_ item, d dueClaim) bool { return now.Sub(d.used) > dueForgotten })
	}
	if s.due == nil {
		s.due = map[item]dueClaim{}
	}
	d, known := s.due[it]
	if retain := i.Rule.Snapshot.Retain; !known || !d.start.Equal(i.Start) || retain > 0 && now.Sub(d.since) > retain/2 {
		d = dueClaim{start: i.Start, since: now}
	}
	d.used = now
	s.due[it] = d
	return d.since
}

// observe adds to a decision since when this process has seen that the claim is due, if its rule makes snapshots.
func (p *pipeline) observe(it item, j *index.Decision) {
	if !j.Permit.Valid() || j.Permit.Rule().Snapshot == nil {
		return
	}
	since := p.snapshots.since(it, j.Permit.Intent(), p.reconciler.Clock.Now())
	j.Permit, j.Expected.Observed = j.Permit.WithObserved(since), since
}

// peek returns the decision about a subject now; see index.Index.Peek.
func (p *pipeline) peek(it item) (index.Decision, bool) {
	j, known := p.kind.index.Peek(it.uid, p.reconciler.Clock.Now())
	p.observe(it, &j)
	return j, known
}

// acquire reports whether a subject may have a VolumeSnapshot in progress, and then counts it.
func (s *snapshots) acquire(it item, by string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.others(it, by, now) >= MaxSnapshots {
		return false
	}
	s.count(it, by, now)
	return true
}

// add counts a VolumeSnapshot that exists.
func (s *snapshots) add(it item, by string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(it, by, now)
}

// waits reports whether the VolumeSnapshot of a subject is in progress, and whether a subject without one must wait because too many others
// are in progress.
func (s *snapshots) waits(it item, by string, now time.Time) (inProgress, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, inProgress = s.open[it]
	return inProgress, !inProgress && s.due[it].made.IsZero() && s.others(it, by, now) >= MaxSnapshots
}

// count counts a VolumeSnapshot. mu must be held.
func (s *snapshots) count(it item, by string, now time.Time) {
	if s.open == nil {
		s.open = map[item]openSnapshot{}
	}
	s.open[it] = openSnapshot{by, now}
}

// others returns how many VolumeSnapshots of other subjects are in progress for a policy. mu must be held.
func (s *snapshots) others(it item, by string, now time.Time) (n int) {
	for other, o := range s.open {
		switch {
		case now.Sub(o.at) > snapshotForgotten:
			delete(s.open, other)
		case other != it && o.policy == by:
			n++
		}
	}
	return n
}

// release no longer counts the VolumeSnapshot of a subject as in progress.
func (s *snapshots) release(it item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, it)
}

// setSnapshotted records whether a subject has a VolumeSnapshot. It reports whether the subject had none before.
func (s *snapshots) setSnapshotted(it item, has bool, now time.Time) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.due[it]
	switch {
	case !ok:
		return false
	case !has:
		d.made, d.slow = time.Time{}, false
	case d.made.IsZero():
		d.made, first = now, true
	}
	s.due[it] = d
	return first
}

// becomesSlow reports, once for each VolumeSnapshot, whether it was created SnapshotSlowAfter ago.
func (s *snapshots) becomesSlow(it item, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.due[it]
	if !ok || d.slow || d.made.IsZero() || now.Sub(d.made) < SnapshotSlowAfter {
		return false
	}
	d.slow = true
	s.due[it] = d
	return true
}

// ensureSnapshot reports whether there is a VolumeSnapshot for a deletion that is permitted now, or the rule makes none. If not, it has
// one created, and the subject is retried.
func (p *pipeline) ensureSnapshot(ctx context.Context, it item, w policy.DeletePermit) bool {
	if w.Rule().Snapshot == nil {
		return true
	}
	err := tooManySnapshots(w.Rule().ID.Policy)
	if _, full := p.snapshots.waits(it, w.Rule().ID.Policy, p.reconciler.Clock.Now()); !full {
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
	if by := w.Rule().ID.Policy; !p.snapshots.acquire(it, by, now) {
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
	return fmt.Errorf("VolumeSnapshot %w: %d others of policy %s are in progress or have just failed", policy.ErrSnapshotPending, MaxSnapshots, by)
}

// awaitsSnapshot reports whether a claim has a VolumeSnapshot in progress, or cannot have one yet, so that its deletion need not be
// reserved. The claim is then retried.
func (p *pipeline) awaitsSnapshot(ctx context.Context, it item, w policy.DeletePermit) bool {
	if !w.Valid() || w.Rule().Snapshot == nil {
		return false
	}
	var err error
	switch inProgress, full := p.snapshots.waits(it, w.Rule().ID.Policy, p.reconciler.Clock.Now()); {
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
		p.snapshots.release(it)
		p.noteSnapshot(it, i)
	case errors.Is(err, ErrNoSnapshot):
		p.snapshots.release(it)
		p.snapshots.setSnapshotted(it, false, now)
	case errors.Is(err, policy.ErrSnapshotPending):
		p.snapshots.add(it, i.Rule.ID.Policy, now)
		p.noteSnapshot(it, i)
	case errors.Is(err, policy.ErrSnapshotFailed):
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
