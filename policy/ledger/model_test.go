package ledger_test

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// bounds are how much may happen in a model. Everything that can happen within them is explored, in every order.
type bounds struct {
	things     int // objects, each of another name
	finalizers int // how many of them have one
	leaders    int // how many are elected, one after the other; a former one goes on until it notices, or never again
	losses     int // requests whose answer is lost: carried out before, later, or never
	refusals   int // DELETEs that are answered with 429
	edits      int // changes of objects by others
	removals   int // objects that others delete
	births     int // objects made again under the name of one that is gone
	whims      int // objects that a leader does not want to delete any more
	opens      int // entries opened in all
	ticks      int // of the clock
	lapses     int // of RequestLife: what was sent before is carried out no more, and former leaders have ended
	budget     *ledger.Budget
	skew       time.Duration // by how much the clock of each second leader is behind
	flaw       flaw
}

const (
	tick      = 5 * time.Second
	lapse     = int(ledger.RequestLife / tick)
	maxThings = 3
	maxUIDs   = 6
)

// modelState is a state of the model. It is never changed: each move makes another.
type modelState struct {
	*bounds
	left     bounds // what may still happen
	ledger   *v1alpha1.RetentionLedger
	things   [maxThings]thing
	born     byte // how many objects there have been
	fates    [maxUIDs]fate
	leaders  []leader
	holders  int // how many keepers there have been
	requests []request
	clock    int
	touched  int // one more than the object that others have just changed; see moves
}

// thing is what the API server has under one name.
type thing struct {
	uid, version byte // 0 if there is nothing
	terminating  bool
	finalizer    bool
}

func (t thing) exists() bool { return t.uid != 0 }

func (t thing) sight() ledger.Observation {
	if !t.exists() {
		return ledger.Observation{Absent: true}
	}
	return ledger.Observation{UID: uidOf(t.uid), ResourceVersion: versionOf(t), Terminating: t.terminating}
}

// entry has the UID as outcome, so that the ledger tells what it has counted.
func (t thing) entry(name int) ledger.Entry {
	return ledger.Entry{Rule: "r", Outcome: string(uidOf(t.uid)),
		Target: policy.Target{Kind: jobs, Name: strconv.Itoa(name), UID: uidOf(t.uid), ResourceVersion: versionOf(t)}}
}

func uidOf(b byte) types.UID { return types.UID(rune(b)) }

func versionOf(t thing) string { return string(rune(t.version)) }

// fate is what has become of an object, which nobody in the model knows.
type fate struct {
	ours    bool // a DELETE of ours removed it
	others  bool // somebody else did
	doubted bool // an entry about it may have been in doubt
	at      int  // when ours did
}

// leader is one that was elected.
type leader struct {
	holder string
	keeper *ledger.Machine
	alive  bool
	blind  bool             // it must read
	sealed bool             // it has seen its holder in the ledger
	listed bool             // it has listed the objects
	known  [maxThings]thing // as its list and its watch have told, the watch any time later
	whims  [maxThings]bool  // what it does not want to delete any more
	looks  []look
	ended  []ledger.Entry // see countsLostAgain
}

// own gives a leader a keeper of its own.
func (l *leader) own() {
	l.keeper, l.looks = l.keeper.Clone(), slices.Clone(l.looks)
}

// wants reports whether a leader wants to delete what it knows under a name.
func (l *leader) wants(name int) bool {
	t := l.known[name]
	return l.listed && t.exists() && !t.terminating && !l.whims[name]
}

// look is what a quorum read has found and the leader has not taken yet.
type look struct {
	entry ledger.Entry
	sight ledger.Observation
	began time.Time
}

// request is one that was sent and not answered.
type request struct {
	from   int
	orphan bool // nobody waits for the answer
	done   bool // the API server has carried it out

	draft  *ledger.Update            // of a write
	object *v1alpha1.RetentionLedger // what it writes
	stored *v1alpha1.RetentionLedger // what it wrote; nil if that was a conflict

	name   int                 // of a DELETE
	target policy.Target       // of a DELETE
	answer ledger.DeleteResult // of a DELETE
}

func (r request) isWrite() bool { return r.object != nil }

func newWorld(b bounds) *modelState {
	w := &modelState{bounds: &b, left: b, ledger: &v1alpha1.RetentionLedger{}}
	w.ledger.ResourceVersion = "1"
	for i := range b.things {
		w.bear(i)
		w.things[i].finalizer = i < b.finalizers
	}
	return w
}

func (w *modelState) bear(name int) {
	w.things[name] = thing{uid: 'A' + w.born, version: '1'}
	w.born++
}

func (w *modelState) fate(uid types.UID) *fate { return &w.fates[uid[0]-'A'] }

// clone copies a state, with a keeper of its own for one leader.
func (w *modelState) clone(of int) *modelState {
	c := *w
	c.leaders = append(make([]leader, 0, len(w.leaders)+1), w.leaders...)
	c.requests = append(make([]request, 0, len(w.requests)+1), w.requests...)
	if of >= 0 {
		c.leaders[of].own()
	}
	return &c
}

// now is the time by the clock of a leader.
func (w *modelState) now(of int) time.Time {
	now := start.Add(time.Duration(w.clock) * tick)
	if of%2 == 1 {
		now = now.Add(-w.skew)
	}
	return now
}

// writing reports whether a leader waits for a write.
func (w *modelState) writing(of int) bool {
	return slices.ContainsFunc(w.requests, func(r request) bool { return r.from == of && !r.orphan && r.isWrite() })
}

// openTargets are what is open in the ledger.
func (w *modelState) openTargets() []policy.Target { return targetsOf(w.ledger) }

func targetsOf(o *v1alpha1.RetentionLedger) []policy.Target {
	var all []policy.Target
	for _, group := range o.Open {
		for _, line := range group.Objects {
			parts := strings.Fields(line)
			all = append(all, policy.Target{Name: parts[0], UID: types.UID(parts[1]), ResourceVersion: parts[2]})
		}
	}
	return all
}

// isCurrent reports whether a leader knows the ledger as it is.
func (w *modelState) isCurrent(l *leader) bool {
	return l.keeper.Stored().ResourceVersion == w.ledger.ResourceVersion
}
