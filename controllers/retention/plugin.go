package retention

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/policy"
)

// Source gives every subject of one kind, with what a set of rules says about each. With Remover it is all that differs
// between one sort of subject and another.
type Source interface {
	// Run lists, then watches, until ctx ends. It tells the sink of all it sees and of what stands in its way, retries
	// whatever fails, and returns only when ctx has ended.
	Run(ctx context.Context, sink Sink)
	// Read gives one subject as it is now to take; nil when it is gone for certain, as when another has its name. That
	// nothing is found is an error where a server may not have read its store yet. Take is called in turn with the sink, so
	// that nothing older reaches either of them after something newer.
	Read(ctx context.Context, s policy.Subject, take func(*index.Row)) error
	// Ask changes what rows answer that are read from now on. It reports false when the Source cannot, and has to be
	// opened anew.
	Ask(q Questions) bool
	// List gives all subjects of one namespace ("" for those that have none) as they are now to take, in turn with the sink, but for those whose answers are
	// known. Take reports whether they count: not if something else is asked by now.
	List(ctx context.Context, namespace string, knows func(policy.Subject, *index.Layout) bool, take func([]*index.Row) bool) error
	// Confirm tells the sink of a subject once more where the answers depend on more than the subject: a subject is never
	// judged for the last time by what they were a moment ago. It asks nobody else. The error says why the answers may be
	// out of date all the same: nothing goes by them then, and soon they are not.
	Confirm(s policy.Subject) error
}

// Sources opens Sources. Opening does no I/O and cannot fail; trouble is told while a Source runs.
type Sources interface {
	// Open gives a Source of a kind whose rows answer the questions.
	Open(q Questions) Source
}

// Sink takes in what a Source sees. Replace, Apply and Forget are called in the order in which things happened, one at a
// time; the others at any time.
type Sink interface {
	// Replace is called with a complete listing. The sink keeps the rows.
	Replace(rows []*index.Row)
	// Apply is called with a subject that was added or has changed, or about which the answers have. The sink keeps the row.
	Apply(row *index.Row)
	// Forget is called when a subject is gone.
	Forget(uid types.UID)
	// Lost is called when changes may have been missed: nothing may go until the next Replace. Why is for people; nil
	// when it is routine.
	Lost(why *Trouble)
	// Undeletable is called when the kind cannot be deleted, and with nil when it can.
	Undeletable(why *Trouble)
	// Unmarkable is called when the kind cannot be marked though rules ask for it, and with nil when it can.
	Unmarkable(why *Trouble)
}

// Trouble is what stands between a kind and its rules, said to the person who can remove it.
type Trouble struct {
	Reason  string // CamelCase, a condition reason
	Message string // what is missing and what to do

	Resource schema.GroupResource // that rights are missing on; zero where nothing is to be granted
}

// Remover deletes subjects, and marks them.
type Remover interface {
	// Aim finds what is to go: the subject, or its owner as it is now, if that may go. The Outcome is nil when it was
	// found, and otherwise says what stands in the way.
	Aim(ctx context.Context, i policy.Intent) (policy.Target, *Outcome)
	// Prepare does what takes a while before a target can be removed, and reads past every cache what a removal depends on
	// beside the rules where no condition of the removal itself says so: of an owner that goes the subject, of an image what uses
	// it. The Outcome says what stands in the way; nil when nothing does. The warrant tells of what is likely: the one to carry
	// out comes with Send.
	Prepare(ctx context.Context, w policy.Warrant, t policy.Target) (Prepared, *Outcome)
	// Mark writes on exactly the version the marking names, and says how it went. It tries once, and not at all when that rests
	// on answers that are not Fresh.
	Mark(ctx context.Context, kind schema.GroupVersionKind, m policy.Marking, since time.Time) Outcome
}

// Prepared is a removal of which nothing is missing but the request.
type Prepared struct {
	// Since is when the answer came to what Prepare has read; when Prepare ended if it need not read anything.
	Since time.Time
	// Send removes exactly the version of the target that was prepared, on the word of the warrant, and says how it went. It
	// sends one request, with nothing before it that takes a while, and none when the oldest answer that it rests on is not
	// Fresh. It is called once at most.
	Send func(ctx context.Context, w policy.Warrant, since time.Time) Outcome
	// Release gives back what Prepare has taken, once nothing is sent any more; nil for nothing.
	Release func()
}

// Result is how an attempt to remove a subject went.
type Result int

// The results. The zero value says that nothing is known.
const (
	Failed     Result = iota // no answer, or one that says nothing about the subject
	Removed                  // it is gone, or on its way out
	Gone                     // it is not there, or so the other side says
	Changed                  // it is no longer the version that was judged; judge the new one
	Busy                     // the other side asks for less
	Refused                  // this subject may not be removed; others may
	Denied                   // the right to remove is missing, for every subject of the namespace
	Marked                   // the mark is written
	Unadmitted               // admission failed, such as a webhook that does not answer: that concerns subjects like this one only
)

// String is the result as metrics spell it.
func (r Result) String() string {
	return [...]string{"failed", "removed", "gone", "changed", "busy", "refused", "denied", "marked", "unadmitted"}[r]
}

// Outcome is a Result with its particulars.
type Outcome struct {
	Result     Result
	Unsure     bool          // it may have happened, or still happen: there was no answer, or one that does not tell
	Unsent     bool          // nothing was sent that could remove it, and so nothing is known of the target either
	RetryAfter time.Duration // how long the other side asked to be left alone; 0 when it did not say
	Err        error         // nil when Removed or Marked
}

// Ledger writes down what is going to be removed before it is, and how that ended: exact counts, and limits that hold
// whatever crashes. It is only asked about rules whose policy keeps a ledger.
type Ledger interface {
	// Open takes the ledgers over from whoever kept them before. It is called before anything is listed; the error is
	// ctx's.
	Open(ctx context.Context) error
	// Written gives the target that stands in the ledger for an intent; false when none does.
	Written(i policy.Intent) (policy.Target, bool)
	// Write has the target of an intent written down as soon as limits allow.
	Write(i policy.Intent, t policy.Target, c Candidate)
	// Sending reports whether a target that stands in the ledger may be removed this very moment. Whoever is told so
	// removes it and tells Ended.
	Sending(i policy.Intent, t policy.Target) bool
	// Stays is told that the subject of an intent is put off: what stands for it is withdrawn, unless it is being removed.
	Stays(i policy.Intent)
	// Ended is told how that went.
	Ended(i policy.Intent, t policy.Target, o Outcome)
}

// Candidate is a subject that waits to be written down. Its methods do not block.
type Candidate interface {
	// Intent is what is to be expected of the subject as it is now; false when it is not going to be removed soon.
	Intent() (policy.Intent, bool)
	// Ready is called once the target stands in the ledger, or when the subject is to be judged anew.
	Ready()
}

// Fence says whether deleting is safe now, beyond what the verdict on one subject can tell: leadership, live policies
// and namespaces, clocks.
type Fence interface {
	// Check returns no error when subjects of the namespace ("" for none) may be deleted right now, and since when all that it
	// says so by is known. It may first put newer rules in force. The error says what is in doubt.
	Check(ctx context.Context, namespace string) (since time.Time, err error)
	// Permit returns no error when a rule may delete what it is about, and since when that is known. A rule of a namespace's own
	// needs the rights of its ServiceAccount. The error says what is missing.
	Permit(ctx context.Context, rule *policy.Rule) (since time.Time, err error)
	// PermitOwner returns no error when a rule may delete the owner of what it is about, as far as its kind tells, and since
	// when that is known. It is asked before anything is read of the owner.
	PermitOwner(ctx context.Context, rule *policy.Rule, owner *policy.Owner) (since time.Time, err error)
}
