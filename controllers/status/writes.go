// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	writesAtOnce = 16                     // namespaces whose writes are not known to be slow; ClusterRetentionPolicies do not count
	bytesAtOnce  = 32 << 10               // bytes in flight at which no further one of these writes begins: large policies load the API server
	slowAtOnce   = 8                      // namespaces whose last write was slow
	writesInAll  = 64                     // both, and writes that turn out to be slow
	slowWrite    = 500 * time.Millisecond // a write that takes longer is slow
	writesWait   = time.Second            // how long a report waits for the next write to end; the next report writes the rest
	readsFor     = 500 * time.Millisecond // how long a report reads the statuses of new policies; the next report reads the rest
	writesFor    = 500 * time.Millisecond // how long a report begins writes if a policy is edited in that time, which is in the next report
)

// writes are the PATCH requests for statuses. They are sent one at a time in each namespace, so that no namespace delays
// another, and clusterLanes at a time for ClusterRetentionPolicies. Only the goroutine of the Reporter uses it.
type writes struct {
	lanes     map[string]*lane        // by namespace, or part of the ClusterRetentionPolicies
	lastTried map[types.UID]time.Time // when the last write for a policy began
	ended     chan *write
	inFlight  map[string]*lane // lanes with a current write
	postponed bool             // a status waits until another write ends
}

// lane is the state of the writes in one namespace.
type lane struct {
	current   *write    // in flight; nil for none
	began     time.Time // when the last write began; zero for never
	slow      bool      // the last write was slow, or the current one is
	notBefore time.Time // after a slow write: pause for the same time
}

// write is one status to write.
type write struct {
	policy *policy.Policy
	rec    *record
	status v1alpha1.RetentionPolicyStatus
	now    time.Time        // of the count
	count  *policyset.Count // for Gates, after the status is written; nil for none
	began  time.Time
	size   int // in bytes, after it has begun

	// After it has ended:
	version string // resourceVersion
	err     error
}

// clusterLanes is how many statuses of ClusterRetentionPolicies are written at a time, because deletions may wait for a
// thousand of them.
const clusterLanes = 8

// laneOf returns the lane of a policy: its namespace, or a part of the ClusterRetentionPolicies.
func laneOf(p *policy.Policy) string {
	if p.Namespace != "" {
		return p.Namespace
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.UID))
	return fmt.Sprint("/", h.Sum32()%clusterLanes)
}

func isOfCluster(lane string) bool { return strings.HasPrefix(lane, "/") }

func newWrites() writes {
	return writes{lanes: map[string]*lane{}, lastTried: map[types.UID]time.Time{}, inFlight: map[string]*lane{}, ended: make(chan *write, writesInAll+clusterLanes)}
}

func (w *writes) lane(namespace string) *lane {
	l := w.lanes[namespace]
	if l == nil {
		l = &lane{}
		w.lanes[namespace] = l
	}
	return l
}

// isUnderWay reports whether the status of a policy is being written.
func (w *writes) isUnderWay(p *policy.Policy) bool {
	l := w.lanes[laneOf(p)]
	return l != nil && l.current != nil && l.current.policy.UID == p.UID
}

// underWay counts the namespaces in which a status is being written, and the bytes of the writes that are not slow.
// ClusterRetentionPolicies do not count.
func (w *writes) underWay() (quick, slow, bytes int) {
	for namespace, l := range w.inFlight {
		switch {
		case isOfCluster(namespace):
		case l.slow:
			slow++
		default:
			quick++
			bytes += l.current.size
		}
	}
	return quick, slow, bytes
}

// hasRoom reports whether one more write may begin in a namespace.
func (w *writes) hasRoom(namespace string) bool {
	quick, slow, bytes := w.underWay()
	switch {
	case isOfCluster(namespace):
		return true
	case w.lane(namespace).slow:
		return slow < slowAtOnce && quick+slow < writesInAll
	default:
		return quick < writesAtOnce && bytes < bytesAtOnce && quick+slow < writesInAll
	}
}

// awaits reports whether a write that is not known to be slow is in flight; if last is set, any write.
func (w *writes) awaits(last bool) bool {
	for _, l := range w.inFlight {
		if last || !l.slow {
			return true
		}
	}
	return false
}

// prepareAll returns the statuses of policies to write.
func (r *Reporter) prepareAll(ctx context.Context, some []*policy.Policy, view *statusInput) (all []*write) {
	began, reading := r.Clock.Now(), r.reading
	for _, p := range some {
		w, err := r.prepare(ctx, p, view)
		if err != nil {
			log.FromContext(ctx).Error(err, "status not read", "policy", p.Name)
			r.Changed()
		}
		if w != nil {
			all = append(all, w)
		}
		r.reportPreviewsSoon()
		if !view.last {
			r.Heartbeat.Beat()
		}
	}
	r.took += r.Clock.Since(began) - (r.reading - reading)
	return all
}

// writeAll writes statuses. It does not wait for slow namespaces, it ends soon after policies have changed, and it takes at most
// a fourth of the time until the next count if that is long: a later report writes the remaining statuses.
func (r *Reporter) writeAll(ctx context.Context, all []*write, view *statusInput) {
	last := view.last
	queues := map[string][]*write{}
	for _, w := range all {
		queues[laneOf(w.policy)] = append(queues[laneOf(w.policy)], w)
	}
	var ready []string // namespaces whose next status may be written, in the same order
	for _, namespace := range slices.Sorted(maps.Keys(queues)) {
		slices.SortStableFunc(queues[namespace], func(a, b *write) int { // of equally urgent ones, the policy with the oldest attempt first
			return cmp.Or(r.compareUrgency(a, b), r.writes.lastTried[a.policy.UID].Compare(r.writes.lastTried[b.policy.UID]))
		})
		switch l := r.writes.lane(namespace); {
		case l.slow && !last:
			queues[namespace] = r.tryAgain(ctx, namespace, queues[namespace])
		case l.current == nil: // otherwise it is ready after the write in flight
			ready = append(ready, namespace)
		}
	}
	slices.SortStableFunc(ready, func(a, b string) int {
		return cmp.Or(r.compareUrgency(queues[a][0], queues[b][0]), r.writes.lane(a).began.Compare(r.writes.lane(b).began))
	})
	least, most := r.writingTime()
	for began := r.Clock.Now(); ; {
		now := r.Clock.Now()
		if took := now.Sub(began); !last && took >= least && (took >= most || r.inUse().Snapshot != view.compiled.Snapshot) {
			for namespace, l := range r.writes.inFlight {
				l.slow = l.slow || now.Sub(l.current.began) > slowWrite
				r.writes.postponed = r.writes.postponed || len(queues[namespace]) > 0
			}
			if len(ready) > 0 {
				r.Changed()
			}
			return
		}
		for i := slices.IndexFunc(ready, r.writes.hasRoom); i >= 0; i = slices.IndexFunc(ready, r.writes.hasRoom) {
			namespace := ready[i]
			ready = slices.Delete(ready, i, i+1)
			r.begin(ctx, queues[namespace][0])
			queues[namespace] = queues[namespace][1:]
		}
		if !r.writes.awaits(last) {
			break
		}
		select {
		case w := <-r.writes.ended:
			r.wrote(ctx, w)
			r.reportPreviewsSoon()
			if !last {
				r.Heartbeat.Beat()
			}
			namespace := laneOf(w.policy)
			switch rest := len(queues[namespace]) > 0; {
			case rest && (last || !r.writes.lane(namespace).slow):
				ready = append(ready, namespace)
			case rest:
				r.writes.postponed = true
			}
		case <-r.Clock.After(writesWait):
			for namespace, l := range r.writes.inFlight {
				l.slow = true
				r.writes.postponed = r.writes.postponed || len(queues[namespace]) > 0
			}
		case <-ctx.Done():
			return
		}
	}
	r.writes.postponed = r.writes.postponed || len(ready) > 0
}

// tryAgain sends the first status of a slow namespace if its pause is over, and returns the remaining ones.
func (r *Reporter) tryAgain(ctx context.Context, namespace string, queue []*write) []*write {
	l := r.writes.lane(namespace)
	switch {
	case l.notBefore.After(r.Clock.Now()):
		r.changes = policy.Soonest(r.changes, l.notBefore)
		return queue
	case l.current == nil && r.writes.hasRoom(namespace):
		r.begin(ctx, queue[0])
		queue = queue[1:]
	}
	r.writes.postponed = r.writes.postponed || len(queue) > 0
	return queue
}

// begin sends one status in the background.
func (r *Reporter) begin(ctx context.Context, w *write) {
	body, err := bodyOf(w.policy, w.status, r.latestVersion(ctx, w.policy, w.rec))
	w.began, w.size = r.Clock.Now(), len(body)
	l := r.writes.lane(laneOf(w.policy))
	l.current, l.began = w, w.began
	r.writes.inFlight[laneOf(w.policy)] = l
	r.writes.lastTried[w.policy.UID] = w.began
	before := w.rec.status
	go func() {
		if w.err = err; err == nil {
			w.version, w.err = r.apply(ctx, w.policy, body)
		}
		if apierrors.IsConflict(w.err) {
			w.version, w.err = r.applyAgain(ctx, w, before)
		}
		r.writes.ended <- w
	}()
}

// wrote processes the end of a write.
func (r *Reporter) wrote(ctx context.Context, w *write) {
	now := r.Clock.Now()
	took := now.Sub(w.began)
	l := r.writes.lane(laneOf(w.policy))
	// ClusterRetentionPolicies delay no namespace, and on a busy machine every write takes long.
	l.current, l.slow, l.notBefore = nil, took > slowWrite && !isOfCluster(laneOf(w.policy)), time.Time{}
	delete(r.writes.inFlight, laneOf(w.policy))
	if l.slow {
		l.notBefore = now.Add(took)
	}
	if r.writes.postponed {
		r.writes.postponed = false
		r.Changed()
	}
	if r.written[w.policy.UID] != w.rec {
		return // the policy no longer exists
	}
	r.conditions[w.policy.UID] = w.status.Conditions
	if w.err != nil {
		delete(r.written, w.policy.UID)
		if err := client.IgnoreNotFound(w.err); err != nil {
			log.FromContext(ctx).Error(err, "status not written", "policy", w.policy.Name)
			r.Changed()
		}
		return
	}
	w.rec.status, w.rec.version, w.rec.at = w.status, w.version, w.now
	r.isWritten(ctx, w)
}

// isWritten reports the content of the status of a policy.
func (r *Reporter) isWritten(ctx context.Context, w *write) {
	r.reportProblems(ctx, w.policy, w.rec)
	if w.status.Ledger != nil {
		r.Ledgers.Recorded(w.policy.UID)
	}
	if w.count != nil {
		r.previews.counts = append(r.previews.counts, *w.count)
	}
}

// awaitWrites waits for the writes in flight.
func (r *Reporter) awaitWrites(ctx context.Context) {
	for len(r.writes.inFlight) > 0 {
		select {
		case w := <-r.writes.ended:
			r.wrote(ctx, w)
		case <-ctx.Done():
			return
		}
	}
}
