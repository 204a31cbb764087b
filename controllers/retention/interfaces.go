// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
)

// Source provides every subject of one kind, with the facts of a set of rules about each. API objects and images differ
// only in their Source and Remover. Optional abilities have interfaces of their own: Relister, Confirmer, Synchronizer,
// TargetResolver, Marker, Snapshotter.
type Source interface {
	// Run lists, then watches, until ctx ends. It passes all subjects and all errors to the sink, retries after errors, and
	// returns only when ctx has ended.
	Run(ctx context.Context, sink Sink)
	// Read passes the current version of one subject to take. It passes nil if the subject certainly no longer exists, for
	// example because another object has its name. "Not found" is an error, as a server may not have read its store yet.
	// Read never calls take at the same time as the sink, so that neither receives an older version after a newer one.
	Read(ctx context.Context, s policy.Subject, take func(*index.FactRow)) error
}

// Relister is a Source that can change its rules. For any other Source the caller opens a new one with the new rules.
type Relister interface {
	// SetRules sets the rules for rows that are read from now on. It reports false if the Source cannot evaluate them: then the
	// caller must open another one.
	SetRules(q RuleSet) bool
	// List passes the current version of all subjects of one namespace ("" for cluster-scoped ones) to take, except those
	// that knows reports as known. It never calls take at the same time as the sink. Take reports false if the rules have
	// changed since: then the rows do not count.
	List(ctx context.Context, namespace string, knows func(policy.Subject, *index.Columns) bool, take func([]*index.FactRow) bool) error
}

// Confirmer is a Source whose facts depend on more than the subject, such as on references or on the number of newer objects.
type Confirmer interface {
	// Confirm evaluates a subject again, right before its deletion. It passes the result to the sink, and sends no request.
	// The error says why the facts may still be out of date: then the subject is kept, and retried soon.
	Confirm(s policy.Subject) error
}

// Synchronizer is a Source that knows how far its watch has come. With any other Source, a leader that was a standby reads
// every subject again before it records its deletion in a ledger.
type Synchronizer interface {
	// Synchronize returns nil when the sink has received all changes that were made before the call.
	Synchronize(ctx context.Context) error
}

// Sources opens Sources. Opening does no I/O and cannot fail; a Source reports its errors to the sink while it runs.
type Sources interface {
	// Open returns a Source of a kind whose rows have the facts of the rules.
	Open(q RuleSet) Source
}

// Sink receives the subjects of a Source. A Source calls Replace, Apply and Forget one at a time, in the order of the
// events. It may call the other methods at any time.
type Sink interface {
	// Replace is called with a complete listing. The sink keeps the rows.
	Replace(rows []*index.FactRow)
	// Apply is called if a subject was added or has changed, or if its facts have changed. The sink keeps the row.
	Apply(row *index.FactRow)
	// Forget is called when a subject no longer exists.
	Forget(uid types.UID)
	// Lost is called when changes may have been missed: Sunset deletes nothing of the kind until the next Replace. Why goes
	// to status and log; it is nil if the loss is routine.
	Lost(why *SourceError)
	// Undeletable is called when the kind cannot be deleted, and with nil when it can. Sunset reports it; attempts go on.
	Undeletable(why *SourceError)
	// Unmarkable is called when rules mark objects of the kind and it cannot be marked, and with nil when it can. Sunset
	// reports it too.
	Unmarkable(why *SourceError)
}

// SourceError tells the person who can fix it why the rules about a kind cannot work.
type SourceError struct {
	Reason  string // CamelCase, a condition reason
	Message string // what is missing and what to do

	Resource schema.GroupResource // the resource on which a permission is missing; zero if none is missing
}

// Remover deletes subjects.
type Remover interface {
	// Prepare does everything that takes a while before a target can be deleted. It reads live what no precondition of the
	// DELETE covers: the subject if its owner is deleted, and the use of an image. The Outcome says why the target cannot
	// be deleted; nil if it can. The permit is the first decision; Send gets the final one.
	Prepare(ctx context.Context, w policy.DeletePermit, t policy.Target) (Prepared, *Outcome)
}

// TargetResolver is a Remover that may delete an owner instead of a subject. Any other Remover deletes the subjects
// themselves.
type TargetResolver interface {
	// ResolveTarget finds the object to delete: the subject, or the current version of its owner, if the owner may be
	// deleted. The Outcome is nil if it was found, and otherwise says why not.
	ResolveTarget(ctx context.Context, i policy.Intent) (policy.Target, *Outcome)
}

// Marker is a Remover that can mark subjects. Without it, rules that need marks keep all objects.
type Marker interface {
	// Mark patches exactly the version that the patch names, and returns the result. The oldest answer that the patch
	// depends on came at since. Mark sends one request, and none if that answer is not preflight.Fresh.
	Mark(ctx context.Context, kind schema.GroupVersionKind, m policy.EligibleSincePatch, since time.Time) Outcome
}

// Prepared is a deletion that is ready to be sent.
type Prepared struct {
	// Since is when the oldest answer that Prepare has read came. If Prepare has read nothing, it is when Prepare ended.
	Since time.Time
	// Send deletes exactly the version of the target that was prepared, as the clearance permits, and returns the result. The
	// oldest answer that the deletion depends on came at since. Send sends one request, without a slow step before it, and
	// none if that answer is not Fresh. It is called at most once.
	Send func(ctx context.Context, c policy.Clearance, since time.Time) Outcome
	// Release releases the resources that Prepare has acquired, after Send or instead of it; nil if there are none.
	Release func()
}

// Result is the result of an attempt to delete or mark a subject.
type Result int

// The results. The zero value says that the result is unknown.
const (
	Failed     Result = iota // no answer, or one that does not concern the subject
	Removed                  // deleted, or terminating
	Gone                     // not found
	Changed                  // no longer the version that was evaluated; evaluate the new one
	Busy                     // the server asks to slow down
	Refused                  // this subject may not be deleted; others may
	Denied                   // the permission to delete is missing, for every subject of the namespace
	Marked                   // the mark was written
	Unadmitted               // admission failed, for example because a webhook does not answer; only subjects like this one are affected
)

// String returns the value of the result label of metrics.
func (r Result) String() string {
	return [...]string{"failed", "removed", "gone", "changed", "busy", "refused", "denied", "marked", "unadmitted"}[r]
}

// Outcome is a Result with details.
type Outcome struct {
	Result     Result
	Unsure     bool          // the target may be deleted, now or later: there was no definite answer
	Unsent     bool          // no request was sent that could delete the target, so that the Result does not concern it
	RetryAfter time.Duration // as the server asked; 0 if it did not ask
	Err        error         // nil when Removed or Marked
}

// Ledger records deletions before they are sent, and their results. It gives exact counts, and limits that hold after any
// crash. Its methods are only called for rules whose policy has a ledger.
type Ledger interface {
	// Open takes over the ledgers from the previous leader. The caller reads subjects that it knew before again before it calls
	// Reserve. The error is ctx's.
	Open(ctx context.Context) error
	// Lookup returns the target that is recorded for an intent; false if there is none.
	Lookup(i policy.Intent) (policy.Target, bool)
	// Reserve records the target of an intent as soon as limits permit. It reports false if the ledger of the policy is not open
	// yet: then the caller retries.
	Reserve(i policy.Intent, t policy.Target, c Candidate) bool
	// Awaits reports whether the subject of an intent waits for its entry: the Ready of this candidate will be called.
	Awaits(i policy.Intent, c Candidate) bool
	// Fits reports whether limits permit all deletions of the policy of an intent that wait to be recorded, and some more.
	Fits(i policy.Intent, more int) bool
	// MarkSent reports whether the DELETE of a recorded target may be sent now. If so, the caller sends it and calls Finish.
	MarkSent(i policy.Intent, t policy.Target) bool
	// Withdraw puts the subject of an intent off: it ends the entry, unless a DELETE is in flight. The subject gets no other entry until
	// the next call of Reserve.
	Withdraw(i policy.Intent)
	// Finish is called with the result of every DELETE. It reports whether the ledger counts the deletion, if there was one. A ledger also
	// counts the deletion by a rule without a ledger if an earlier DELETE of the object is recorded and had no definite answer.
	Finish(i policy.Intent, t policy.Target, o Outcome) (counts bool)
}

// Candidate is a subject that waits to be recorded. Its methods do not block.
type Candidate interface {
	// Intent returns the expected deletion of the current version of the subject; false if none is expected soon.
	Intent() (policy.Intent, bool)
	// Ready is called after the target was recorded, or to have the subject evaluated again.
	Ready()
}

// Archive records targets in archives before they are deleted. Its methods are only called for rules that archive, do not block,
// and may be called concurrently. Such rules also have a ledger: the target is recorded there first.
type Archive interface {
	// Lookup returns the receipt for a version of a target. It returns none that was made for another rule, for other settings than
	// i.Rule.Archive, for another RetentionArchive of the same name, or if the rule may not archive there now.
	Lookup(i policy.Intent, t policy.Target) (policy.Receipt, bool)
	// Record starts to record a target, and returns at once. Later, and never in the call itself, it calls c.Ready: when there is a
	// receipt, or when the subject must be evaluated again. A second call for a target with the same settings changes
	// nothing. The Outcome says why it cannot be recorded now; nil if no reason is known. Changed and Gone say that the target
	// is no longer this version, or no longer exists. With any other Result the record cannot be written, and its Err says why and
	// what to do; then the caller retries too.
	Record(i policy.Intent, t policy.Target, c Candidate) *Outcome
	// Withdraw says that the subject of an intent is delayed or no longer due: Sunset did not delete what it recorded.
	Withdraw(i policy.Intent)
	// Finish is called with the result of the DELETE. A record whose target was not deleted is marked so.
	Finish(i policy.Intent, t policy.Target, o Outcome)
}
