package retention

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
)

// Source provides every subject of one kind, with the facts of a set of rules about each. Source and Remover are all that differs
// between API objects and images. What only some of them can do is in interfaces of its own: Relister, Confirmer, TargetResolver, Marker.
type Source interface {
	// Run lists, then watches, until ctx ends. It passes all subjects and all trouble to the sink, retries whatever fails, and
	// returns only when ctx has ended.
	Run(ctx context.Context, sink Sink)
	// Read passes one subject as it is now to take; nil if it certainly no longer exists, for example because another object has
	// its name. "Not found" is an error, as a server may not have read its store yet. Read never calls take at the same time as the
	// sink, so that neither gets an older version after a newer one.
	Read(ctx context.Context, s policy.Subject, take func(*index.FactRow)) error
}

// Relister is a Source that can answer other questions than it was opened for. Of any other Source another one is opened for them.
type Relister interface {
	// Ask sets the questions for rows that are read from now on. It reports false if the Source cannot answer them, and the caller
	// has to open another one.
	Ask(q RuleSet) bool
	// List passes all subjects of one namespace ("" for cluster-scoped ones) as they are now to take, except those whose answers are
	// known. It never calls take at the same time as the sink. Take reports false if other questions are asked by now: then
	// the rows do not count.
	List(ctx context.Context, namespace string, knows func(policy.Subject, *index.Columns) bool, take func([]*index.FactRow) bool) error
}

// Confirmer is a Source whose answers depend on more than the subject, such as references.
type Confirmer interface {
	// Confirm evaluates a subject again, right before its deletion. It passes the result to the sink, and sends no request. The error
	// says why the answers may be out of date all the same: then the subject is kept, and retried soon.
	Confirm(s policy.Subject) error
}

// Sources opens Sources. Opening does no I/O and cannot fail; a Source reports trouble while it runs.
type Sources interface {
	// Open returns a Source of a kind whose rows answer the questions.
	Open(q RuleSet) Source
}

// Sink receives what a Source sees. A Source calls Replace, Apply and Forget one at a time, in the order of the events; the others at any
// time.
type Sink interface {
	// Replace is called with a complete listing. The sink keeps the rows.
	Replace(rows []*index.FactRow)
	// Apply is called with a subject that was added or has changed, or whose answers have changed. The sink keeps the row.
	Apply(row *index.FactRow)
	// Forget is called when a subject no longer exists.
	Forget(uid types.UID)
	// Lost is called when changes may have been missed: nothing is deleted until the next Replace. Why is for status and log; nil
	// if it is routine.
	Lost(why *SourceError)
	// Undeletable is called when the kind cannot be deleted, and with nil when it can.
	Undeletable(why *SourceError)
	// Unmarkable is called when the kind cannot be marked though rules ask for it, and with nil when it can.
	Unmarkable(why *SourceError)
}

// SourceError is why the rules about a kind cannot work, for the person who can change that.
type SourceError struct {
	Reason  string // CamelCase, a condition reason
	Message string // what is missing and what to do

	Resource schema.GroupResource // on which a permission is missing; zero if none is
}

// Remover deletes subjects.
type Remover interface {
	// Prepare does everything that takes a while before a target can be deleted. It reads live what no precondition of the DELETE
	// covers: the subject if its owner is deleted, and the use of an image. The Outcome says why the target cannot be deleted; nil
	// if it can. The permit is the first decision; the final one is passed to Send.
	Prepare(ctx context.Context, w policy.DeletePermit, t policy.Target) (Prepared, *Outcome)
}

// TargetResolver is a Remover that may delete an owner instead of a subject. Any other deletes subjects.
type TargetResolver interface {
	// ResolveTarget finds the object to delete: the subject, or its owner as it is now, if the owner may be deleted. The Outcome is nil
	// if it was found, and otherwise says why not.
	ResolveTarget(ctx context.Context, i policy.Intent) (policy.Target, *Outcome)
}

// Marker is a Remover that can mark subjects. Without it, rules that need marks keep everything.
type Marker interface {
	// Mark writes on exactly the version that the marking names, and returns the result. It sends one request, and none if since, when
	// the oldest answer came that the mark depends on, is not preflight.Fresh.
	Mark(ctx context.Context, kind schema.GroupVersionKind, m policy.EligibleSincePatch, since time.Time) Outcome
}

// Prepared is a deletion that is ready to be sent.
type Prepared struct {
	// Since is when the oldest answer came of those that Prepare has read; if it has read nothing, when Prepare ended.
	Since time.Time
	// Send deletes exactly the version of the target that was prepared, as the permit permits, and returns the result. It sends
	// one request, without any slow step before it, and none if since, when the oldest answer came that the deletion depends on, is
	// not Fresh. It is called once at most.
	Send func(ctx context.Context, w policy.DeletePermit, since time.Time) Outcome
	// Release returns what Prepare has acquired, after Send or instead of it; nil if that is nothing.
	Release func()
}

// Result is the result of an attempt to delete or mark a subject.
type Result int

// The results. The zero value says that nothing is known.
const (
	Failed     Result = iota // no answer, or one that says nothing about the subject
	Removed                  // deleted, or terminating
	Gone                     // not found
	Changed                  // no longer the version that was evaluated; evaluate the new one
	Busy                     // the server asks for fewer requests
	Refused                  // this subject may not be deleted; others may
	Denied                   // the permission to delete is missing, for every subject of the namespace
	Marked                   // the mark is written
	Unadmitted               // admission failed, for example because a webhook does not answer: that concerns subjects like this one only
)

// String is the result as metrics spell it.
func (r Result) String() string {
	return [...]string{"failed", "removed", "gone", "changed", "busy", "refused", "denied", "marked", "unadmitted"}[r]
}

// Outcome is a Result with its particulars.
type Outcome struct {
	Result     Result
	Unsure     bool          // the target may be deleted, now or later: there was no answer, or one that does not say
	Unsent     bool          // no request was sent that could delete the target, so that the Result says nothing about it
	RetryAfter time.Duration // as the server asked; 0 if it did not
	Err        error         // nil when Removed or Marked
}

// Ledger records deletions before they are sent, and their results: exact counts, and limits that hold whatever crashes. It is only
// called for rules whose policy has a ledger.
type Ledger interface {
	// Open takes the ledgers over from the leader before. It is called before anything is listed; the error is ctx's.
	Open(ctx context.Context) error
	// Lookup returns the target that is recorded for an intent; false if there is none.
	Lookup(i policy.Intent) (policy.Target, bool)
	// Reserve has the target of an intent recorded as soon as limits permit.
	Reserve(i policy.Intent, t policy.Target, c Candidate)
	// MarkSent reports whether the DELETE of a recorded target may be sent now. If so, the caller sends it and calls Finish.
	MarkSent(i policy.Intent, t policy.Target) bool
	// Withdraw is called when the subject of an intent is put off: its entry is withdrawn, unless a DELETE is under way.
	Withdraw(i policy.Intent)
	// Finish is called with the result of the DELETE.
	Finish(i policy.Intent, t policy.Target, o Outcome)
}

// Candidate is a subject that waits to be recorded. Its methods do not block.
type Candidate interface {
	// Intent is the deletion to expect of the subject as it is now; false if there is none soon.
	Intent() (policy.Intent, bool)
	// Ready is called once the target is recorded, or when the subject is to be decided about again.
	Ready()
}
