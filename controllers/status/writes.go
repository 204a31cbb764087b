package status

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	writesAtOnce = 16                     // of namespaces whose writes are not known to be slow; ClusterRetentionPolicies do not count
	bytesAtOnce  = 32 << 10               // of the same writes: none begins while so many are under way, since large policies cost the API server much
	slowAtOnce   = 8                      // of namespaces whose last write was slow
	writesInAll  = 64                     // both, and those that turn out to be slow
	slowWrite    = 500 * time.Millisecond // a write that takes longer is slow
	writesWait   = time.Second            // how long a report waits for the next write to end, before it leaves the rest to the next report
	readsFor     = 500 * time.Millisecond // for how long a report reads the statuses of new policies, likewise
	writesFor    = 500 * time.Millisecond // for how long a report begins writes, likewise: a policy that is edited meanwhile is in the next report
)

// writes are the PATCH requests for statuses: one at a time in each namespace, so that none delays another, and clusterLanes at a time for
// ClusterRetentionPolicies. Only the goroutine of the Reporter uses it.
type writes struct {
	lanes     map[string]*lane        // by namespace, or part of the ClusterRetentionPolicies
	tried     map[types.UID]time.Time // when the last write for a policy began
	ended     chan *write
	inFlight  map[string]*lane // those with a current write
	postponed bool             // something waits until another write ends
}

// lane is what is known of the writes in one namespace.
type lane struct {
	current   *write    // under way; nil for none
	began     time.Time // when the last write began; zero for never
	slow      bool      // the last write was slow, or the current one is
	notBefore time.Time // after a slow write: as long again
}

// write is one status to be written.
type write struct {
	policy *policy.Policy
	rec    *record
	status v1alpha1.RetentionPolicyStatus
	now    time.Time        // of the count
	count  *policyset.Count // for Gates, once the status is written; nil for none
	began  time.Time
	size   int   // in bytes, once it has begun
	err    error // once it has ended
}

// clusterLanes is how many statuses of ClusterRetentionPolicies are written at a time: deletions may wait for a thousand of them.
const clusterLanes = 8

// laneOf names the lane of a policy: its namespace, or a part of the ClusterRetentionPolicies.
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
	return writes{lanes: map[string]*lane{}, tried: map[types.UID]time.Time{}, inFlight: map[string]*lane{}, ended: make(chan *write, writesInAll+1)}
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

// underWay counts the namespaces in which a status is being written, and the bytes of those writes that are not slow;
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

// awaits reports whether a write is under way that is not known to be slow.
func (w *writes) awaits(last bool) bool {
	for _, l := range w.inFlight {
		if last || !l.slow {
			return true
		}
	}
	return false
}

// prepareAll returns the statuses of policies that are to be written.
func (r *Reporter) prepareAll(ctx context.Context, some []*policy.Policy, view *view, last bool) (all []*write) {
	for _, p := range some {
		w, err := r.prepare(ctx, p, view, last)
		if err != nil {
			log.FromContext(ctx).Error(err, "status not read", "policy", p.Name)
			r.Changed()
		}
		if w != nil {
			all = append(all, w)
		}
		r.tellGates(tellGatesEvery)
		if !last {
			r.Heartbeat.Beat()
		}
	}
	return all
}

// writeAll writes statuses. It does not wait for namespaces in which that is slow: what is not written then, a later report writes.
func (r *Reporter) writeAll(ctx context.Context, all []*write, last bool) {
	queues := map[string][]*write{}
	for _, w := range all {
		queues[laneOf(w.policy)] = append(queues[laneOf(w.policy)], w)
	}
	var ready []string // namespaces of which a status may be written next, in the same order
	for _, namespace := range slices.Sorted(maps.Keys(queues)) {
		slices.SortStableFunc(queues[namespace], func(a, b *write) int { // edited policies first, and then the one that was tried longest ago
			return cmp.Or(r.editedFirst(a, b), r.writes.tried[a.policy.UID].Compare(r.writes.tried[b.policy.UID]))
		})
		switch l := r.writes.lane(namespace); {
		case l.slow && !last:
			queues[namespace] = r.tryAgain(ctx, namespace, queues[namespace])
		case l.current == nil: // else it is ready once the write under way has ended
			ready = append(ready, namespace)
		}
	}
	slices.SortStableFunc(ready, func(a, b string) int {
		return cmp.Or(r.editedFirst(queues[a][0], queues[b][0]), r.writes.lane(a).began.Compare(r.writes.lane(b).began))
	})
	for until := r.Clock.Now().Add(r.atLeast(writesFor)); ; {
		if now := r.Clock.Now(); !last && !now.Before(until) {
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
			r.tellGates(tellGatesEvery)
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

// editedFirst compares statuses: those of edited policies come first, as somebody reads them next, and small ones before large ones, as they
// are soon written.
func (r *Reporter) editedFirst(a, b *write) int {
	switch edited := r.isEdited(a.policy); {
	case edited != r.isEdited(b.policy) && edited:
		return -1
	case edited != r.isEdited(b.policy):
		return 1
	case edited:
		return cmp.Compare(len(a.policy.Rules), len(b.policy.Rules))
	default:
		return 0
	}
}

// tryAgain sends the first status of a slow namespace, if it is time for that, and returns those that are left.
func (r *Reporter) tryAgain(ctx context.Context, namespace string, queue []*write) []*write {
	l := r.writes.lane(namespace)
	switch {
	case l.notBefore.After(r.Clock.Now()):
		r.changes = soonest(r.changes, l.notBefore)
		return queue
	case l.current == nil && r.writes.hasRoom(namespace):
		r.begin(ctx, queue[0])
		queue = queue[1:]
	}
	r.writes.postponed = r.writes.postponed || len(queue) > 0
	return queue
}

// begin sends one status.
func (r *Reporter) begin(ctx context.Context, w *write) {
	body, err := bodyOf(w.policy, w.status)
	w.began, w.size = r.Clock.Now(), len(body)
	l := r.writes.lane(laneOf(w.policy))
	l.current, l.began = w, w.began
	r.writes.inFlight[laneOf(w.policy)] = l
	r.writes.tried[w.policy.UID] = w.began
	go func() {
		if w.err = err; err == nil {
			w.err = r.apply(ctx, w.policy, body)
		}
		r.writes.ended <- w
	}()
}

// wrote takes the end of a write.
func (r *Reporter) wrote(ctx context.Context, w *write) {
	now := r.Clock.Now()
	took := now.Sub(w.began)
	l := r.writes.lane(laneOf(w.policy))
	l.current, l.slow, l.notBefore = nil, took > slowWrite, time.Time{}
	delete(r.writes.inFlight, laneOf(w.policy))
	if l.slow {
		l.notBefore = now.Add(took)
	}
	if r.writes.postponed {
		r.writes.postponed = false
		r.Changed()
	}
	if r.written[w.policy.UID] != w.rec {
		return // the policy is gone
	}
	if w.err != nil {
		delete(r.written, w.policy.UID)
		if err := client.IgnoreNotFound(w.err); err != nil {
			log.FromContext(ctx).Error(err, "status not written", "policy", w.policy.Name)
			r.Changed()
		}
		return
	}
	w.rec.status, w.rec.at = w.status, w.now
	r.isWritten(ctx, w)
}

// isWritten tells what the status of a policy says by now.
func (r *Reporter) isWritten(ctx context.Context, w *write) {
	r.tellProblems(ctx, w.policy, w.rec)
	if w.status.Ledger != nil {
		r.Ledgers.Recorded(w.policy.UID)
	}
	if w.count != nil {
		r.unopened.counts = append(r.unopened.counts, *w.count)
	}
}

// awaitWrites waits for what is under way.
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

// bodyOf is the whole status of a policy, to be applied: what it no longer has is removed. The UID keeps it from a namesake.
func bodyOf(p *policy.Policy, status v1alpha1.RetentionPolicyStatus) ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(),
		"kind":       kindOf(p.Namespace).Kind,
		"metadata":   map[string]any{"namespace": p.Namespace, "name": p.ObjectName(), "uid": p.UID},
		"status":     status,
	})
}

// apply sends a status.
func (r *Reporter) apply(ctx context.Context, p *policy.Policy, body []byte) error {
	object, _ := objectOf(p)
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return r.Client.Status().Patch(ctx, object, client.RawPatch(types.ApplyPatchType, body), client.FieldOwner("sunset-controller"), client.ForceOwnership)
}
