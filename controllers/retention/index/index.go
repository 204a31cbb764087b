// SPDX-License-Identifier: Apache-2.0

package index

import (
	"container/heap"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/policy"
)

// Index holds the subjects of one kind. Create it with New.
type Index struct {
	kind schema.GroupKind
	// wake is called, with the index locked, when the first due time has become earlier.
	wake func()

	mu          lockorder.Mutex[lockorder.Index]
	snapshot    *policy.Snapshot
	listing     Listing // the listing that the rows belong to
	synced      bool
	rows        *rowSet
	schedule    schedule
	partitions  map[string][]*partition // by namespace; only partitions with rows
	changed     map[string]uint64       // by namespace with rows, the version of its last change of its own
	changedAll  uint64                  // the version of the last change everywhere
	ranks       map[policy.RuleID]*ranks
	returns     returns
	about       []int32             // reused
	evaluations []policy.Evaluation // reused
	version     uint64

	lastColumns, lastByColumn []int32 // of the partitionRules computed last; never changed
}

// partitionKey identifies the rows of one layout in one namespace. While its own rules change, a namespace has rows of two
// layouts.
type partitionKey struct {
	namespace string
	layout    *Columns
}

// partition is a place and the rules that apply there.
type partition struct {
	partitionKey
	rows  []*FactRow
	stale int // rows with facts that should be requested again
	rules partitionRules
}

// New returns an empty index without rules. wake tells its owner to call Next again; it must not block, and must not call
// the index.
func New(kind schema.GroupKind, wake func()) *Index {
	return &Index{
		kind:       kind,
		wake:       wake,
		snapshot:   &policy.Snapshot{},
		rows:       newRowSet(0),
		partitions: map[string][]*partition{},
		changed:    map[string]uint64{},
		ranks:      map[policy.RuleID]*ranks{},
	}
}

// Kind returns the kind of the index.
func (x *Index) Kind() schema.GroupKind { return x.kind }

// Reads returns the version at which the subjects were read; zero before the first listing.
func (x *Index) Reads() schema.GroupVersionKind {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.listing.Kind
}

// IsFrom reports whether the facts are from the listing with an ID, or the ID is 0.
func (x *Index) IsFrom(listing uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return listing == 0 || x.listing.ID == listing
}

// Ranks reports whether a rule compares subjects with others, to keep the newest or for a capacity.
func (x *Index) Ranks() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.ranks) > 0
}

// edit is a change of the rules of a partition.
type edit struct {
	*partition
	before       partitionRules
	keepsAtLeast bool // no row is due, needs a mark, or must be recorded earlier than before
}

// SetSnapshot puts other rules and namespaces in force. It decides again only about subjects whose rules or rank
// results differ. If the rules that differ only wait for approval now, TakeDue decides at the previous due times.
func (x *Index) SetSnapshot(snapshot *policy.Snapshot, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.snapshot = snapshot
	x.changeAll()
	var edits []edit
	undecided := 0
	for s := range x.eachPartition {
		e := edit{partition: s, before: s.rules}
		s.rules = x.rulesOf(snapshot, s.partitionKey)
		if s.rules.same(&e.before) {
			continue
		}
		if e.keepsAtLeast = s.rules.keepAtLeastLike(&e.before); !e.keepsAtLeast {
			undecided += len(s.rows)
		}
		edits = append(edits, e)
	}
	ranked := x.followRankings()
	if len(edits) == 0 && len(ranked) == 0 {
		return
	}
	soonest, decide := x.soonest(), x.replan
	many := x.rows.count / 16 // from that many rows on, a new schedule takes less time
	if undecided >= many {
		decide = x.setNextDue
	}
	for _, e := range edits {
		for _, row := range e.rows {
			if row.streak > 0 && row.isEdited(&e.before) {
				row.streak = 0 // a user has edited the rule
			}
			row.set(isHandedOver, false) // another rule may decide now, and its ledger has no entry
			x.rankElsewhere(row, e.before.ranks, func(uids []types.UID) { ranked = append(ranked, uids...) })
		}
		if e.keepsAtLeast {
			continue
		}
		for _, row := range e.rows { // while they are in the processor's cache
			decide(row, now)
		}
	}
	rebuilds := undecided+len(ranked) >= many
	if rebuilds {
		decide = x.setNextDue
	}
	for _, uid := range ranked { // their rank results have changed, of some after the decision about them
		if row := x.rows.get(uid); row != nil {
			decide(row, now)
		}
	}
	if rebuilds {
		x.rebuild(soonest)
	}
}

// replan sets the time of the next evaluation of a row, and its place in the schedule.
func (x *Index) replan(row *FactRow, now time.Time) {
	x.unschedule(row)
	x.setNextDue(row, now)
	x.reschedule(row)
}

// rebuild builds the schedule again after decisions about many rows; soonest is the previous first due time.
func (x *Index) rebuild(soonest time.Time) {
	clear(x.schedule)
	x.schedule = x.schedule[:0]
	for row := range x.rows.all { // its order mixes namespaces, so that rows with the same due time are not grouped by them
		row.slot = 0
		if row.isScheduled() {
			x.schedule = append(x.schedule, row)
			row.slot = int32(len(x.schedule))
		}
	}
	heap.Init(&x.schedule)
	if now := x.soonest(); !now.IsZero() && !now.Equal(soonest) {
		x.wake()
	}
}

// soonest returns the first due time; zero if no row is scheduled.
func (x *Index) soonest() time.Time {
	if len(x.schedule) == 0 {
		return time.Time{}
	}
	return x.schedule[0].dueTime()
}

// Len returns the number of known subjects, and whether they are all subjects.
func (x *Index) Len() (subjects int, synced bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rows.count, x.synced
}

// column returns the column with the facts of a rule in a layout; -1 for none. Facts that were read at another version of
// the kind than the rules want do not count.
func (x *Index) column(l *Columns, key string) int {
	if x.listing.Kind != x.snapshot.Version(x.kind) {
		return -1
	}
	return l.column(key)
}

// Version changes whenever the result of Scan has changed.
func (x *Index) Version() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.version
}

// Namespace describes the subjects in a namespace.
type Namespace struct {
	Version  uint64 // changes whenever the result of ScanNamespaces has changed there, and is never the same again
	Subjects int    // how many there are
	Rules    int    // how many rules apply there
}

// Namespaces returns the namespaces with subjects, "" for cluster-scoped ones.
func (x *Index) Namespaces() map[string]Namespace {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make(map[string]Namespace, len(x.partitions))
	for namespace, partitions := range x.partitions {
		n := Namespace{Version: max(x.changed[namespace], x.changedAll)}
		for _, s := range partitions {
			n.Subjects, n.Rules = n.Subjects+len(s.rows), len(s.rules.Rules)
		}
		all[namespace] = n
	}
	return all
}

// change records that the subjects of a namespace, or the decisions about them, have changed.
func (x *Index) change(namespace string) {
	x.version++
	x.changed[namespace] = x.version
}

// changeAll records that subjects or decisions may have changed everywhere.
func (x *Index) changeAll() {
	x.version++
	x.changedAll = x.version
	clear(x.changed)
}

// setNextDue sets the time of the next evaluation of a row.
func (x *Index) setNextDue(row *FactRow, now time.Time) {
	row.setDue(time.Time{})
	if row.is(isGone) {
		return
	}
	subject, evaluations := row.effectiveSubject(), x.evaluationsOf(row)
	verdict, _ := policy.Decide(subject, evaluations, now)
	early := verdict.Due.Add(-row.partition.rules.ahead)
	row.set(isHandedOver, row.is(isHandedOver) && verdict.Action == policy.Wait && !early.After(now))
	switch {
	case policy.NeedsEligibleSincePatch(subject, evaluations, now):
		row.setDue(now)
	case verdict.Action == policy.Wait && row.partition.rules.ahead > 0 && early.After(now):
		row.setDue(early)
	case verdict.Action == policy.Wait && !row.is(isHandedOver) && row.expected(subject, evaluations, now).Rule != nil:
		row.setDue(now)
	case verdict.Action != policy.Keep:
		row.setDue(verdict.Due)
	default:
		row.setDue(verdict.Again)
	}
	row.setDue(policy.Soonest(row.dueTime(), policy.NextEligibleSincePatch(subject, evaluations, now)))
}

// expected returns the deletion that is expected within the time Ahead, if it must be recorded first; otherwise its Rule is
// nil.
func (r *FactRow) expected(subject policy.Subject, evaluations []policy.Evaluation, now time.Time) policy.Intent {
	if r.partition.rules.ahead == 0 {
		return policy.Intent{}
	}
	if i, ok := policy.PredictIntent(subject, evaluations, now.Add(r.partition.rules.ahead)); ok && i.Rule.Ledger {
		return i
	}
	return policy.Intent{}
}

// evaluationsOf returns the evaluation of each rule that may affect the row. The slice is valid until the next call.
func (x *Index) evaluationsOf(row *FactRow) []policy.Evaluation {
	p := &row.partition.rules
	x.about, x.evaluations = p.about(row, x.synced, x.about[:0]), x.evaluations[:0]
	for _, i := range x.about {
		evaluation := p.evaluation(row, i, x.synced)
		if p.ranks != nil && p.ranks[i] != nil {
			evaluation.Rank = p.ranks[i].set.Result(row.uid())
		}
		x.evaluations = append(x.evaluations, evaluation)
	}
	return x.evaluations
}

func (x *Index) unschedule(row *FactRow) {
	if row.slot > 0 {
		heap.Remove(&x.schedule, int(row.slot-1))
	}
}

func (x *Index) reschedule(row *FactRow) {
	if !row.isScheduled() {
		return
	}
	heap.Push(&x.schedule, row)
	if x.schedule[0] == row {
		x.wake()
	}
}
