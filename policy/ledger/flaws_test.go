package ledger_test

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/ledger"
)

// flaw is one way to get the machine, or what drives it, wrong. The exploration must find each.
type flaw string

const (
	listsFirst      flaw = "lists the objects before its holder is written"
	sharesItsName   flaw = "has the same holder as the leaders before"
	takesOverUnseen flaw = "acts on the ledger before its holder is written"
	ignoresLock     flaw = "writes without the optimistic lock"
	countsLostAgain flaw = "counts the ends of a lost write again"
	sendsUnwritten  flaw = "sends without waiting for the write"
	trustsInherited flaw = "takes an inherited entry for its own"
	notThereIsVoid  flaw = "takes 404 in doubt for void"
	changedIsVoid   flaw = "takes 409 in doubt for void"
	refusedIsVoid   flaw = "takes a refusal in doubt for void"
	unknownDeleted  flaw = "takes no answer for deleted"
	unknownIsVoid   flaw = "takes no answer for void"
	retriesUnseen   flaw = "has its client try again by itself"
	sameIsVoid      flaw = "takes the same version for void"
	otherIsChanged  flaw = "takes another UID for another version"
	removingIsOld   flaw = "takes a terminating object for a changed one"
	absentIsVoid    flaw = "takes an absent object for void"
	opensCounted    flaw = "opens again what it has counted"
	opensTwice      flaw = "opens another version while one is open"
	voidsSent       flaw = "withdraws what was sent"
	endsEarly       flaw = "ends a doubt before its time"
	endsUnread      flaw = "ends a doubt by a read that began before its time"
	agesOnRetry     flaw = "counts the time of a doubt from its first DELETE"

	spendsNothing  flaw = "forgets what was spent"
	chargesOwnOnly flaw = "does not charge what it has inherited"
	ignoresSkew    flaw = "trusts the clock of the leader before"
)

func (f flaw) afterRead(l *leader) {
	switch f {
	case takesOverUnseen:
		l.keeper.PretendSealed()
		l.sealed = true
	case trustsInherited:
		l.keeper.PretendCertain()
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
		l.keeper.Forget(func(types.UID) bool { return false })
	}
}

func (f flaw) open(d *ledger.Update, e ledger.Entry) bool {
	if f == opensTwice {
		return d.OpenTwice(e)
	}
	return d.Open(e)
}

// sends has a leader send what is only being written.
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
		f == sameIsVoid && s == ledger.SightOf(like(k.entry)),
		f == absentIsVoid && s.Absent:
		return ledger.Observation{UID: k.entry.UID, ResourceVersion: "another"}
	}
	return s
}

// began is when a leader says that a look began which it takes now.
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
	doubtful := l.keeper.IsDoubtful(r.target)
	switch {
	case f == notThereIsVoid && doubtful && r.answer == ledger.NotThere,
		f == changedIsVoid && doubtful && r.answer == ledger.Changed,
		f == refusedIsVoid && doubtful && r.answer == ledger.Refused,
		f == unknownIsVoid && r.answer == ledger.Unknown:
		l.keeper.EndVoid(r.target)
	case f == retriesUnseen && r.done && r.answer == ledger.Unknown:
		l.keeper.Answered(r.target, ledger.NotThere)
	case f == unknownDeleted && r.answer == ledger.Unknown:
		l.keeper.Answered(r.target, ledger.Deleted)
	default:
		l.keeper.Answered(r.target, r.answer)
	}
}

func (f flaw) lost(l *leader) {
	if f == countsLostAgain {
		l.ended = l.keeper.Ended()
	}
}

// now is the time at which a leader asks for room.
func (f flaw) now(t time.Time) time.Time {
	if f == ignoresSkew {
		return t.Add(ledger.Skew)
	}
	return t
}

// budget is the one by which a leader asks for room.
func (f flaw) budget(l *leader, b *ledger.Budget) *ledger.Budget {
	if f == chargesOwnOnly {
		return &ledger.Budget{Max: b.Max + int64(len(l.keeper.Doubtful())), Window: b.Window}
	}
	return b
}
