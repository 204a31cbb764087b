// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// reporter writes the NodeImageReport of the node.
type reporter struct {
	client   client.Client // bypasses every cache
	clock    clock.Clock
	cluster  *cluster
	node     *images.Node
	history  *history.Store
	rules    *rules
	disk     *disk
	counters *removalCounters
	runtime  interface {
		Version(ctx context.Context) (cri.Version, error)
	}
	every   time.Duration
	version string    // name and version of the runtime; empty while unknown
	asked   time.Time // when version was read

	written *v1alpha1.NodeImageReport // as the API server has it; nil until the agent has read or created it, and after an error
	last    *v1alpha1.NodeImageReport // that the agent has read, created or written; nil for none
	begun   atomic.Bool               // the agent has read or created a report; true forever then
	next    time.Time                 // earliest time of the next write
	refresh time.Time                 // latest time of the next write
}

const (
	// reportEvery is the minimum time between two writes of a report that changes, unless the Config has another.
	reportEvery = time.Minute
	// refreshEvery is the time between two writes of an unchanged report, which show that it is not stale.
	refreshEvery = 10 * time.Minute
	// reportTimeout bounds a write.
	reportTimeout = 10 * time.Second
	// reportAgain is the delay before a failed write is retried.
	reportAgain = 15 * time.Second
)

// report writes the counts if it is time, and reports whether the API server has them all. Without stats the counts of the
// policies are unknown, and the report keeps the previous ones.
func (r *reporter) report(ctx context.Context, snapshot *policy.Snapshot, t *policy.Stats, usage *v1alpha1.NodeImageFilesystem) (written bool) {
	now := r.clock.Now()
	if now.Before(r.next) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	if r.written == nil {
		if err := r.begin(ctx); err != nil {
			r.failed(ctx, now, err)
			return false
		}
	}
	report := r.describe(ctx, snapshot, t, usage, now)
	report.ObservedTime = metav1.Time{Time: now}
	if now.Before(r.refresh) && same(report, r.written) {
		return true
	}
	if err := r.client.Update(ctx, report); err != nil {
		r.failed(ctx, now, err)
		return false
	}
	r.written, r.last = report, report
	r.next, r.refresh = now.Add(wait.Jitter(r.every, 0.1)), now.Add(wait.Jitter(refreshEvery, 0.1))
	return true
}

// hasBegun reports whether the agent has read or created its report once.
func (r *reporter) hasBegun() bool { return r.begun.Load() }

func (r *reporter) failed(ctx context.Context, now time.Time, err error) {
	log.FromContext(ctx).Error(err, "NodeImageReport not written")
	r.written, r.next = nil, now.Add(wait.Jitter(reportAgain, 0.5))
}

// begin reads the report of the node or creates it. The removal counts continue from the report. If it replaces another report
// of this agent, they start again.
func (r *reporter) begin(ctx context.Context) error {
	name, uid, ok := r.cluster.identity()
	if !ok { // the watch has not delivered the node, or may not
		if _, err := r.cluster.confirm(ctx); err != nil {
			return err
		}
		r.rules.Republish()
		name, uid, _ = r.cluster.identity()
	}
	report := &v1alpha1.NodeImageReport{}
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, report)
	if apierrors.IsNotFound(err) {
		report = &v1alpha1.NodeImageReport{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: ownedBy(name, uid)}}
		err = r.client.Create(ctx, report)
	}
	if err != nil {
		return err
	}
	if r.last != nil && r.last.UID != report.UID {
		r.counters.startOver(r.last)
	}
	r.counters.resumeOnce(report)
	r.begun.Store(true)
	r.written, r.last = report, report
	return nil
}

// ownedBy makes the garbage collector delete a report with its node.
func ownedBy(name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: uid}}
}

func (r *reporter) describe(ctx context.Context, snapshot *policy.Snapshot, t *policy.Stats, usage *v1alpha1.NodeImageFilesystem, now time.Time) *v1alpha1.NodeImageReport {
	report := r.written.DeepCopy()
	if name, uid, ok := r.cluster.identity(); ok {
		report.OwnerReferences = ownedBy(name, uid) // the node may have been replaced by another of the same name
	}
	r.counters.forget(r.rules.Knows)
	total, removed := r.counters.policies()
	count := r.node.Total()
	report.Runtime, report.Images, report.Bytes, report.Filesystem, report.Removed = r.runtimeVersion(ctx), count.Images, count.Bytes, coarse(usage), total
	report.PulledAgain = r.history.PulledAgain()
	if snapshot != nil && t != nil {
		report.Policies = agentapi.Describe(snapshot.Policies(), t, r.brief, removed)
	}
	setConditions(&report.Conditions, r.conditionCauses(), now)
	return report
}

// brief returns the name of an image for people, and its bytes.
func (r *reporter) brief(id string) (name string, bytes int64) {
	b := r.node.Summary(id)
	return b.Name, b.Bytes
}

// versionTimeout bounds the request for the version of the runtime: a slow runtime must not delay a report.
const versionTimeout = time.Second

// runtimeVersion returns the name and version of the runtime. It asks again after an error, because another runtime may be running.
func (r *reporter) runtimeVersion(ctx context.Context) string {
	if r.version != "" && r.node.LastError() == nil && r.clock.Now().Sub(r.asked) < refreshEvery {
		return r.version
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	if v, err := r.runtime.Version(ctx); err == nil {
		r.version, r.asked = v.Name+" "+v.Version, r.clock.Now()
	}
	return r.version
}

// coarse rounds a usage to whole percents, so that not every file changes the report.
func coarse(usage *v1alpha1.NodeImageFilesystem) *v1alpha1.NodeImageFilesystem {
	if usage == nil {
		return nil
	}
	c := *usage
	c.UsedBytes = c.CapacityBytes / 100 * int64(c.UsedPercent)
	return &c
}

// forgetPast drops due times in the past. For images over capacity this time is the time of the count, and so differs in each
// report.
func forgetPast(r *v1alpha1.NodeImageReport) {
	for i := range r.Policies {
		for k := range r.Policies[i].Rules {
			rule := &r.Policies[i].Rules[k]
			if !rule.NextDueTime.IsZero() && !rule.NextDueTime.After(r.ObservedTime.Time) {
				rule.NextDueTime = nil
			}
			for n := range rule.Soonest {
				if due := &rule.Soonest[n].DueTime; !due.After(r.ObservedTime.Time) {
					*due = metav1.Time{}
				}
			}
		}
	}
}

// same reports whether two reports are equal except for the time.
func same(a, b *v1alpha1.NodeImageReport) bool {
	x, y := a.DeepCopy(), b.DeepCopy()
	for _, r := range []*v1alpha1.NodeImageReport{x, y} {
		forgetPast(r)
		r.ObservedTime = metav1.Time{}
	}
	x.ObjectMeta, y.ObjectMeta = metav1.ObjectMeta{OwnerReferences: x.OwnerReferences}, metav1.ObjectMeta{OwnerReferences: y.OwnerReferences}
	return equality.Semantic.DeepEqual(x, y)
}
