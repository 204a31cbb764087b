// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/process/liveness"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// pressureLoop counts the images by the rules in force, and makes more of them due while the filesystem is too full. It is a
// manager.Runnable.
type pressureLoop struct {
	clock      clock.Clock
	node       *images.Node
	disk       *disk
	rules      *rules
	reconciler *retention.Reconciler
	reporter   *reporter
	metrics    agentMetrics
	pulse      *liveness.Heartbeat // beats with each count; may be nil

	reported memoKey // of the last complete report; only Start uses it

	mu    sync.Mutex
	space space
}

// memoKey identifies the inputs of a count, and its time.
type memoKey struct {
	snapshot *policy.Snapshot
	index    *index.Index // nil if the images are unknown
	version  uint64
	removed  int64 // number of images so far
	at       time.Time
}

const (
	// countEvery is the time between two counts if the images have changed or a rule reads the disk usage, and recountEvery
	// otherwise.
	countEvery, recountEvery = 10 * time.Second, 30 * time.Second
	// pressedEvery is that time while images are removed to free disk space.
	pressedEvery = time.Second
)

// Start implements manager.Runnable.
func (k *pressureLoop) Start(ctx context.Context) error {
	defer k.pulse.Stop()
	for {
		k.pulse.Beat()
		next := countEvery
		if k.countOnce(ctx) {
			next = pressedEvery
		}
		select {
		case <-ctx.Done():
			k.last(ctx)
			return nil
		case <-k.clock.After(next):
		}
	}
}

const (
	// lastWait is how long the loop waits at shutdown for removals in flight before it reports. It reports the slower ones after
	// their end, unless the process ends before.
	lastWait = 15 * time.Second
	// lastTimeout bounds the last report.
	lastTimeout = 5 * time.Second
)

// last reports the removals since the last report.
func (k *pressureLoop) last(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	select {
	case <-k.reconciler.Done():
	case <-k.clock.After(lastWait):
		k.reportNow(ctx)
		select {
		case <-k.reconciler.Done():
		case <-k.clock.After(cri.RemoveTimeout - lastWait):
		}
	}
	k.reportNow(ctx)
}

// reportNow counts and reports without waiting for the next time.
func (k *pressureLoop) reportNow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastTimeout)
	defer cancel()
	k.reporter.next, k.reported = time.Time{}, memoKey{}
	k.countOnce(ctx)
}

// countOnce counts once. It reports whether to count again soon, because images are being removed to free disk space.
func (k *pressureLoop) countOnce(ctx context.Context) (pressed bool) {
	k.metrics.present.Set(float64(k.node.Total().Images))
	k.rules.Settle(ctx) // a watch has no events for rules that do not exist
	snapshot := k.rules.Snapshot()
	if snapshot == nil {
		k.reporter.report(ctx, nil, nil, nil)
		return false
	}
	switch {
	case k.rules.ReadSpace():
		k.disk.locate(ctx)
	case k.isReported(snapshot):
		return false
	}
	now := k.memoKey(snapshot)
	stats, supposed := k.count(snapshot)
	usage, _ := k.disk.usage() // nil while it is unknown
	if stats != nil {
		pressed = k.press(snapshot, stats, supposed, ptr.Deref(usage, v1alpha1.NodeImageFilesystem{})) && usage != nil
	}
	if k.reported = (memoKey{}); k.reporter.report(ctx, snapshot, stats, usage) {
		k.reported = now
	}
	return pressed
}

// isReported reports whether a count by a snapshot would repeat the last report.
func (k *pressureLoop) isReported(snapshot *policy.Snapshot) bool {
	now := k.memoKey(snapshot)
	age := now.at.Sub(k.reported.at)
	now.at = k.reported.at
	return now == k.reported && now.index != nil && 0 <= age && age < recountEvery
}

func (k *pressureLoop) memoKey(snapshot *policy.Snapshot) memoKey {
	total, _ := k.reporter.counters.policies()
	b := memoKey{snapshot: snapshot, index: k.index(snapshot), removed: total.Images, at: k.clock.Now()}
	if b.index != nil {
		b.version = b.index.Version()
	}
	return b
}

// press measures the disk usage and applies the result to the rules. It reports whether to measure again soon.
func (k *pressureLoop) press(snapshot *policy.Snapshot, t *policy.Stats, supposed *estimates, usage v1alpha1.NodeImageFilesystem) (pressed bool) {
	unconfirmed, at := k.rules.ConfirmError() != nil, k.clock.Now()
	count := func(r *policy.Rule) counted {
		of := counted{estimate: supposed.rules[r.ID], waits: unconfirmed || r.Deferral(at) != nil}
		if tally := t.Policies[r.ID.Policy]; tally != nil && tally.Rules[r.ID.Rule] != nil {
			rule := tally.Rules[r.ID.Rule]
			of.eligible, of.due = int(rule.Eligible), int(rule.Due.Now)
		}
		return of
	}
	k.mu.Lock()
	changed, going := k.space.measure(snapshot.Rules(v1alpha1.ImageKind.GroupKind()), usage, count)
	k.mu.Unlock()
	if changed {
		k.rules.Republish()
	}
	return changed || going
}

// bound limits policies to as many images as the filesystem has room for.
func (k *pressureLoop) bound(policies []*policy.Policy) []*policy.Policy {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.space.bound(policies)
}

// pressed reports whether images of a rule are removed to free disk space.
func (k *pressureLoop) pressed(id policy.RuleID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.space.pressed(id)
}

// count counts all images by the rules of a snapshot, and estimates removals to free disk space. It returns nil while the
// images are unknown or not evaluated by the snapshot. Without a valid rule no images are read, and the counts are zero.
func (k *pressureLoop) count(snapshot *policy.Snapshot) (*policy.Stats, *estimates) {
	now := k.clock.Now()
	stats, supposed := policy.NewStats(now), newEstimates(snapshot, now)
	if !slices.ContainsFunc(snapshot.Rules(v1alpha1.ImageKind.GroupKind()), isValid) {
		return stats, supposed
	}
	at := k.index(snapshot)
	if at == nil {
		return nil, nil
	}
	at.Scan(func(s policy.Subject, evaluations []policy.Evaluation) {
		stats.Add(s, evaluations)
		supposed.add(s, evaluations)
	})
	return stats, supposed
}

func isValid(r *policy.Rule) bool { return !r.Invalid() }

// index returns the index of the images; nil while they are unknown or not evaluated by a snapshot.
func (k *pressureLoop) index(snapshot *policy.Snapshot) *index.Index {
	kinds := k.reconciler.Kinds()
	if len(kinds) != 1 || kinds[0].Lost != nil || kinds[0].Relisting {
		return nil
	}
	known := kinds[0].Index
	for _, r := range snapshot.Rules(v1alpha1.ImageKind.GroupKind()) {
		if !known.Has(snapshot, r) {
			return nil
		}
	}
	return known
}
