// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/ledger"
)

// flaw is an error in the machine or its driver. The exploration must find each.
type flaw string

const (
	listsFirst      flaw = "lists the objects before its holder is written"
	opensUnread     flaw = "opens entries of objects that it knew before its holder was written"
	sharesItsName   flaw = "has the same holder as earlier leaders"
	takesOverUnseen flaw = "uses the ledger before its holder is written"
	ignoresLock     flaw = "writes without the optimistic lock"
	countsLostAgain flaw = "counts the ended entries of a lost write again"
	sendsUnwritten  flaw = "sends without waiting for the write"
	trustsInherited flaw = "treats an inherited entry as its own"
	notThereIsVoid  flaw = "treats 404 in doubt as void"
	changedIsVoid   flaw = "treats 409 in doubt as void"
	refusedIsVoid   flaw = "treats a refusal in doubt as void"
	unknownDeleted  flaw = "treats no response as deleted"
	unknownIsVoid   flaw = "treats no response as void"
	retriesUnseen   flaw = "uses a client with automatic retries"
	sameIsVoid      flaw = "treats the same version as void"
	otherIsChanged  flaw = "treats another UID as another version"
	removingIsOld   flaw = "treats a terminating object as changed"
	absentIsVoid    flaw = "treats an absent object as void"
	opensCounted    flaw = "opens a counted object again"
	opensTwice      flaw = "opens another version while one is open"
	voidsSent       flaw = "withdraws a sent entry"
	endsEarly       flaw = "ends a doubt before its time"
	endsUnread      flaw = "ends a doubt with a read that began before its time"
	agesOnRetry     flaw = "counts the time of a doubt from its first DELETE"

	acceptsOther     flaw = "deletes a version after a record of another version"
	readsNothingBack flaw = "deletes before the record was read back"
	countsFirst      flaw = "counts a deletion before the index has its result"
	endsUnsettled    flaw = "ends a doubt before the index has its result"
	absentInDoubt    flaw = "has the result absent although an earlier DELETE may have had an effect"
	lastResultWins   flaw = "takes the last result of a version, not the strongest"
	confirmsLater    flaw = "takes a write of the index for one of later results too"
	formerWrites     flaw = "writes the index after another leader has started"
	confirmsLost     flaw = "takes a write of the index without a response for done"

	spendsNothing  flaw = "forgets spent deletions"
	chargesOwnOnly flaw = "does not charge inherited entries"
	ignoresSkew    flaw = "trusts the clock of the previous leader"
)

func (f flaw) afterRead(l *leader) {
	switch f {
	case takesOverUnseen:
		l.machine.PretendSealed()
		l.sealed = true
	case trustsInherited:
		l.machine.PretendCertain()
	}
}

func (f flaw) drafted(l *leader, d *ledger.Update) {
	switch f {
	case countsLostAgain:
		for _, e := range l.ended {
			d.CountAgain(e)
		}
		l.ended = nil
	case spendsNothing:
		d.SpendNothing()
	case opensCounted:
		l.machine.Forget(func(types.UID) bool { return false })
	}
}

func (f flaw) open(d *ledger.Update, e ledger.Entry) bool {
	if f == opensTwice {
		return d.OpenTwice(e)
	}
	return d.Open(e)
}

// sends lets a leader send an entry whose write is not confirmed.
func (f flaw) sends(w *modelState, of int, e ledger.Entry) bool {
	return f == sendsUnwritten && slices.ContainsFunc(w.requests, func(r request) bool {
		return r.from == of && r.isWrite() && slices.ContainsFunc(targetsOf(r.object), e.Is)
	}) && !slices.ContainsFunc(w.requests, func(r request) bool { return !r.isWrite() && r.target.Is(e.Target) })
}

func (f flaw) sight(k look) ledger.Observation {
	s := k.sight
	switch {
	case f == otherIsChanged && s.UID != k.entry.UID && !s.Absent,
		f == removingIsOld && s.Terminating,
		f == sameIsVoid && s == ledger.ObservationOf(like(k.entry)),
		f == absentIsVoid && s.Absent:
		return ledger.Observation{UID: k.entry.UID, ResourceVersion: "another"}
	}
	return s
}

// began is the start time that a leader passes for a read.
func (f flaw) began(k look, now time.Time) time.Time {
	switch f {
	case endsEarly:
		return k.began.Add(ledger.RequestLife)
	case endsUnread:
		return now
	default:
		return k.began
	}
}

func (f flaw) answered(l *leader, r request) {
	doubtful := l.machine.IsDoubtful(r.target)
	switch {
	case f == notThereIsVoid && doubtful && r.answer == ledger.NotThere,
		f == changedIsVoid && doubtful && r.answer == ledger.Changed,
		f == refusedIsVoid && doubtful && r.answer == ledger.Refused,
		f == unknownIsVoid && r.answer == ledger.Unknown:
		l.machine.EndVoid(r.target)
	case f == retriesUnseen && r.done && r.answer == ledger.Unknown:
		l.machine.Answered(r.target, ledger.NotThere)
	case f == unknownDeleted && r.answer == ledger.Unknown:
		l.machine.Answered(r.target, ledger.Deleted)
	default:
		l.machine.Answered(r.target, r.answer)
	}
}

func (f flaw) lost(l *leader) {
	if f == countsLostAgain {
		l.ended = l.machine.Ended()
	}
}

// now is the time that a leader passes to Room.
func (f flaw) now(t time.Time) time.Time {
	if f == ignoresSkew {
		return t.Add(ledger.Skew)
	}
	return t
}

// budget is the budget that a leader passes to Room.
func (f flaw) budget(l *leader, b *ledger.Budget) *ledger.Budget {
	if f == chargesOwnOnly {
		return &ledger.Budget{Max: b.Max + int64(len(l.machine.Doubtful())), Window: b.Window}
	}
	return b
}
