// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/process/liveness"
	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	tickEvery  = time.Second
	countEvery = 2 * time.Second // minimum time between two counts
	// Maximum time between a change and the count that shows it, however long counting takes.
	countAtLeast = 15 * time.Second
	writeEvery   = 3 * time.Second // minimum time between two writes of one policy's status
	// At the end: maximum time to wait for deletions in flight, and then for the last statuses.
	deletionsEnd = 22 * time.Second
	writeLast    = 5 * time.Second
	writeTimeout = 30 * time.Second      // of reading or writing one status
	restFactor   = 50                    // counting takes at most 1/50 of a core,
	editFactor   = 5                     // or 1/5 while a user waits for the status of an edited policy: on a busy machine a count takes long
	previewsWait = 50 * time.Millisecond // how long a report at least collects counts before it passes them to Gates
	writingShare = 4                     // writing statuses takes at most 1/4 of the time until the next count, if that is long
)

// Reporter writes the status of every policy. It implements retention.Observer.
type Reporter struct {
	Client   client.Client // writes statuses; Live reads them from the API server
	Live     client.Reader
	Cache    client.Reader // of unstructured policies; it may lag
	Events   Events
	Clock    clock.WithTicker
	State    State
	Warnings func(key string) []policy.Problem // type-check warnings by policy.Rule.Key; nil when there are none yet
	// Permissions: the latest answer whether a rule of a RetentionPolicy has the permissions that it needs.
	Permissions   func(*policy.Rule) (err error, known bool)
	Gates         Gates
	Ledgers       Ledgers
	Nodes         Nodes
	NodeRules     NodeRules
	Leadership    interface{ Check() error } // returns nil while this process leads
	DeletionError func() error               // returns why nothing can be deleted, even if nothing is due; nil for no reason
	MaxPerSecond  float64                    // --max-deletions-per-second; 0 for no maximum
	Prices        *policy.Prices             // of storage; nil for none
	References    References
	Referrers     Referrers
	Archives      Archives // nil for none
	// Heartbeat beats with each tick and each status; it may be nil.
	Heartbeat *liveness.Heartbeat

	hurry wake.Signal // a policy waits for a count

	mu          lockorder.Mutex[lockorder.Reporter]
	compiled    policyset.CompiledSnapshot
	eventBuffer eventBuffer
	dirty       bool

	written    map[types.UID]*record
	conditions map[types.UID][]metav1.Condition // as in written; if the status could not be written, as in the latest attempt
	histories  map[types.UID]history            // of deletions, without those in eventBuffer
	seen       string                           // the state of the reconciler at the last count
	counted    time.Time                        // when the last count began
	took       time.Duration                    // how long it took, with preparing the statuses
	changes    time.Time                        // when the counts change because time passes
	known      knownCounts                      // of the last count
	summarized time.Time                        // when the log last contained a summary
	previews   pendingCounts                    // counts for Gates
	writes     writes                           // of statuses
	reading    time.Duration                    // how long the current report has read statuses
}

// Ledgers is the state of the ledgers that a Reporter reads.
type Ledgers interface {
	// State returns the state of the ledger of a policy; false if the policy has none, or it is not known yet.
	State(policy types.UID) (ledgers.State, bool)
	// Recorded reports that the status of a policy names its ledger.
	Recorded(policy types.UID)
	// Done is closed when no ledger is written any more.
	Done() <-chan struct{}
}

// State is the state of the reconciler that a Reporter reads.
type State interface {
	Kinds() []retention.KindState
	// Done is closed when the reconciler has ended, so that nothing is deleted any more.
	Done() <-chan struct{}
	// PreflightError returns why preflight stopped the latest deletion; nil if it did not.
	PreflightError() error
}

// record is the last written status of a policy.
type record struct {
	name   string // of the policy
	status v1alpha1.RetentionPolicyStatus
	at     time.Time

	version string // resourceVersion of the policy then

	problems map[string]problem // by type of condition

	summary summary // the last one in the log
}

// Use takes a new snapshot of the policies.
func (r *Reporter) Use(e policyset.CompiledSnapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compiled, r.dirty = e, true
}

// CountSoon starts a count at once if policies wait for one. It is called when the objects are decided about by the snapshot of Use:
// a count before that would not count, and the next one would wait for its end.
func (r *Reporter) CountSoon() {
	if hasGates(r.inUse()) {
		r.hurry.Send()
	}
}

// hasGates reports whether policies wait for a count. Single rules that wait for the list of their kind do not count.
func hasGates(e policyset.CompiledSnapshot) bool {
	return e.Snapshot != nil && slices.ContainsFunc(e.Snapshot.Policies(), waitsForCount)
}

// Changed makes the next tick count, although no subject has changed.
func (r *Reporter) Changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty = true
}

// NeedLeaderElection returns true: only the leader writes status.
func (r *Reporter) NeedLeaderElection() bool { return true }

// Start runs until ctx ends, and then writes the remaining statuses.
func (r *Reporter) Start(ctx context.Context) error {
	r.written, r.histories, r.summarized, r.writes = map[types.UID]*record{}, map[types.UID]history{}, r.Clock.Now(), newWrites()
	r.conditions = map[types.UID][]metav1.Condition{}
	ticker := r.Clock.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			r.Heartbeat.Stop()
			r.reportLast(context.WithoutCancel(ctx))
			return nil
		case w := <-r.writes.ended:
			r.wrote(ctx, w)
			r.reportPreviews()
			continue
		case <-ticker.C():
		case <-r.hurry.C():
		}
		r.Heartbeat.Beat()
		r.reportPreviews()
		r.tick(ctx)
	}
}

// reportLast waits for the deletions in flight, for deletionsEnd at most, so that the counts contain them.
func (r *Reporter) reportLast(ctx context.Context) {
	end := r.Clock.After(deletionsEnd)
wait:
	for _, done := range []<-chan struct{}{r.State.Done(), r.Ledgers.Done()} {
		select {
		case <-done:
		case <-end:
			break wait
		}
	}
	ctx, cancel := context.WithTimeout(ctx, writeLast)
	defer cancel()
	r.awaitWrites(ctx)
	r.report(ctx, true)
	r.summarize(ctx)
}

func (r *Reporter) tick(ctx context.Context) {
	r.queueEvents()
	now := r.Clock.Now()
	if now.Sub(r.summarized) >= summarizeEvery {
		r.summarize(ctx)
	}
	if now.Sub(r.counted) < r.rest() || !r.stale(now) {
		return
	}
	r.report(ctx, false)
}

// inUse returns the latest snapshot.
func (r *Reporter) inUse() policyset.CompiledSnapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.compiled
}

// report counts everything and writes each status that differs, while leadership is certain. If last is set, it also writes statuses that were written
// recently.
func (r *Reporter) report(ctx context.Context, last bool) {
	r.counted = r.Clock.Now()
	r.mu.Lock()
	compiled := r.compiled
	r.dirty = false
	r.mu.Unlock()
	if compiled.Snapshot == nil {
		return
	}
	if r.Leadership.Check() != nil {
		r.Changed() // another replica may lead and write the statuses
		return
	}
	kinds, preflightErr := r.State.Kinds(), r.preflightErr()
	r.seen = r.fingerprint(kinds, preflightErr)
	began := r.Clock.Now() // the call may have waited for locks
	input := newStatusInput(compiled, kinds, r.counted)
	input.warnings, input.permissions = r.Warnings, r.Permissions
	input.last = last
	input.preflightErr, input.pace, input.prices, input.ledgers = preflightErr, r.MaxPerSecond, r.Prices, r.ledgersNow(compiled.Snapshot)
	input.nodes, input.referrers = r.nodesNow(ctx, compiled.Snapshot), r.Referrers.States()
	input.archives = r.archivesNow(compiled)
	input.counted(r.count(compiled.Snapshot, kinds, input))
	input.referred = r.referredNow(compiled) // references that became known during the count were not counted as known
	for _, k := range input.referred {
		if at := k.settlesAt(); at.After(r.counted) {
			r.changes = policy.Soonest(r.changes, at)
		}
	}
	r.took = r.Clock.Since(began)
	var conditions []prometheus.Metric
	r.reading = 0
	var edited, unknown, others []*policy.Policy
	for _, p := range compiled.Snapshot.Policies() {
		switch {
		case last:
			others = append(others, p)
		case r.written[p.UID] == nil:
			unknown = append(unknown, p)
		case r.isEdited(p):
			edited = append(edited, p)
		default:
			others = append(others, p)
		}
	}
	for _, some := range [][]*policy.Policy{edited, unknown, others} { // reading the statuses of unknown policies takes long
		if len(some) > 0 {
			r.writeAll(ctx, r.prepareAll(ctx, some, input), input)
		}
	}
	for _, p := range compiled.Snapshot.Policies() {
		conditions = append(conditions, conditionsOf(p.Name, r.conditions[p.UID])...)
	}
	r.reportPreviews()
	metrics.Conditions.Set(conditions)
	r.dropRemoved()
}

// count reads every subject once.
func (r *Reporter) count(snapshot *policy.Snapshot, kinds []retention.KindState, v *statusInput) *policy.Stats {
	all := policy.NewStats(r.counted)
	all.Prices = r.Prices
	for _, p := range snapshot.Policies() {
		if p.Namespace != "" {
			all.Teams[p.Namespace] = policy.Team{}
		}
	}
	gauges, everywhere := &gauges{}, r.changesEverywhere(snapshot)
	r.known.begin(snapshot, r.counted, everywhere)
	for _, k := range kinds {
		all.Reasons = map[policy.Reason]int64{}
		r.known.add(k.Index, all)
		gauges.kind(k, deletes(snapshot, k.Index.Kind()), all.Reasons)
		if k.Index.Kind() == (schema.GroupKind{Kind: "Pod"}) {
			gauges.uncountedPods(all.UncountedPods)
		}
	}
	gauges.rules(all)
	gauges.nodes(snapshot, v.nodes)
	gauges.storage(snapshot, all, v.nodes)
	gauges.references(r.References, v.referrers, v.compiled.Asked)
	r.changes = policy.Soonest(policy.Soonest(all.Changes(), v.nodes.sums.Changes), everywhere)
	for _, p := range snapshot.Policies() {
		if kept, ok := v.ledgers[p.UID]; ok {
			gauges.ledger(p, kept)
			r.changes = policy.Soonest(r.changes, kept.EasesAt)
		}
	}
	gauges.publish()
	return all
}

// dropRemoved drops the policies that no longer exist, by the latest snapshot: writing may have taken long, and policies may
// have been added.
func (r *Reporter) dropRemoved() {
	snapshot := r.inUse().Snapshot
	uids, rules, namespaces := map[types.UID]bool{}, map[policy.RuleID]bool{}, map[string]bool{}
	for _, p := range snapshot.Policies() {
		uids[p.UID], namespaces[p.Namespace] = true, true
		for _, r := range p.Rules {
			rules[r.ID] = true
		}
	}
	gone := func(uid types.UID) bool { return !uids[uid] }
	maps.DeleteFunc(r.written, func(uid types.UID, _ *record) bool { return gone(uid) })
	maps.DeleteFunc(r.conditions, func(uid types.UID, _ []metav1.Condition) bool { return gone(uid) })
	metrics.Forget(func(id policy.RuleID) bool { return !rules[id] })
	maps.DeleteFunc(r.histories, func(uid types.UID, _ history) bool { return gone(uid) })
	maps.DeleteFunc(r.writes.lastTried, func(uid types.UID, _ time.Time) bool { return gone(uid) })
	maps.DeleteFunc(r.writes.lanes, func(namespace string, l *lane) bool {
		return l.current == nil && !isOfCluster(namespace) && !namespaces[namespace]
	})
	r.forget(gone)
}
