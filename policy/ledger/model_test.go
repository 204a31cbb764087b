// SPDX-License-Identifier: Apache-2.0

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

// bounds limit the events in a model. The exploration makes all events within the bounds, in every order.
type bounds struct {
	things     int // objects with different names
	finalizers int // how many objects have a finalizer
	leaders    int // leaders, one after the other; a former leader continues until it notices, or has stopped
	losses     int // requests with a lost response: handled before, later, or never
	refusals   int // DELETEs with response 429
	edits      int // changes of objects by other clients
	removals   int // objects that other clients delete
	births     int // objects created again with the name of a deleted one
	whims      int // objects that a leader no longer wants to delete
	opens      int // entries opened in total
	ticks      int // of the clock
	lapses     int // of RequestLife: earlier requests have no effect, and former leaders have stopped
	budget     *ledger.Budget
	skew       time.Duration // how far the clock of every second leader is behind
	standby    bool          // leaders watch objects before they lead
	archives   bool          // the rule archives
	lies       int           // records that the store claims to have and has not
	flaw       flaw
}

const (
	tick      = 5 * time.Second
	lapse     = int(ledger.RequestLife / tick)
	maxThings = 3
	maxUIDs   = 6
)

// modelState is a state of the model. It does not change: each move makes another state.
type modelState struct {
	*bounds
	left     bounds // what may still happen
	ledger   *v1alpha1.RetentionLedger
	archived archive
	things   [maxThings]thing
	born     byte // number of objects created so far
	fates    [maxUIDs]fate
	leaders  []leader
	holders  int // number of machines so far
	requests []request
	clock    int
	touched  int // 1 + the object that another client has just changed; see moves
}

// thing is the object of one name in the API server.
type thing struct {
	uid, version byte // 0 without an object
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

// entry has the UID as outcome, so that the ledger shows which objects it has counted.
func (t thing) entry(name int) ledger.Entry {
	return ledger.Entry{Rule: "r", Outcome: string(uidOf(t.uid)),
		Target: policy.Target{Kind: jobs, Name: strconv.Itoa(name), UID: uidOf(t.uid), ResourceVersion: versionOf(t)}}
}

func uidOf(b byte) types.UID { return types.UID(rune(b)) }

func versionOf(t thing) string { return string(rune(t.version)) }

// fate is the real history of an object, which no leader knows.
type fate struct {
	ours    bool // a DELETE of ours removed it
	others  bool // another client removed it
	doubted bool // an entry of it may have been doubtful
	at      int  // time of our DELETE
	version byte // that it removed
}

// leader is a leader, current or former.
type leader struct {
	holder  string
	machine *ledger.Machine
	alive   bool
	blind   bool             // it must Read
	sealed  bool             // it has read its holder in the ledger
	listed  bool             // it has listed the objects, or its watch has every change from before it was sealed
	known   [maxThings]thing // from its list and its watch, which may be late
	seen    [maxThings]bool  // objects that it has read since it was sealed
	whims   [maxThings]bool  // objects that it no longer wants to delete
	looks   []look
	ended   []ledger.Entry // see countsLostAgain
	archiver
}

// own gives a leader its own copy of its machine.
func (l *leader) own() {
	l.machine, l.looks = l.machine.Clone(), slices.Clone(l.looks)
}

// wants reports whether a leader wants to delete the object that it knows by a name.
func (l *leader) wants(name int) bool {
	t := l.known[name]
	return (l.listed || l.seen[name]) && t.exists() && !t.terminating && !l.whims[name]
}

// look is the result of a quorum read that the leader has not used yet.
type look struct {
	entry ledger.Entry
	sight ledger.Observation
	began time.Time

	settling bool // the leader has to write to the index what the read shows
	settled  bool // it has
}

// request is a request without a response so far.
type request struct {
	from   int
	orphan bool // no leader waits for the response
	done   bool // the API server has handled it

	draft  *ledger.Update            // of a write
	object *v1alpha1.RetentionLedger // the object to write
	stored *v1alpha1.RetentionLedger // the written object; nil after a conflict

	name   int                 // of a DELETE
	target policy.Target       // of a DELETE
	answer ledger.DeleteResult // of a DELETE

	findings []finding // of a write of the index
}

// isWrite reports whether a request writes the ledger.
func (r request) isWrite() bool { return r.object != nil }

func (r request) isIndex() bool { return len(r.findings) > 0 }

func (r request) isDelete() bool { return !r.isWrite() && !r.isIndex() }

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

// clone copies a state. Its leaders share their machines and looks with the original until they own them.
func (w *modelState) clone() *modelState {
	c := *w
	c.leaders = append(make([]leader, 0, len(w.leaders)+1), w.leaders...)
	c.requests = append(make([]request, 0, len(w.requests)+1), w.requests...)
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

// writing reports whether a leader waits for the response to a write.
func (w *modelState) writing(of int) bool {
	return slices.ContainsFunc(w.requests, func(r request) bool { return r.from == of && !r.orphan && r.isWrite() })
}

// openTargets are the open entries in the ledger.
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

// isCurrent reports whether a leader knows the current ledger.
func (w *modelState) isCurrent(l *leader) bool {
	return l.machine.Stored().ResourceVersion == w.ledger.ResourceVersion
}
