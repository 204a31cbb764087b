// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"slices"

	"github.com/sunset-k8s/sunset/policy/ledger"
)

// step is a kind of move.
type step int

const (
	edit     step = iota // another client changes an object
	removal              // another client deletes an object
	finalize             // the finalizer of an object is removed
	birth                // another client creates an object of the same name
	election             // another leader starts
	tickTock             // time passes
	lapsed               // RequestLife passes: earlier requests have no effect any more

	read      // the leader reads the ledger
	write     // it writes the ledger, and opens the entries that it wants to delete
	writeOnly // it writes the ledger without new entries
	list      // it lists the objects
	see       // it reads an object that it knew before it was sealed
	watch     // its watch delivers an object
	whim      // it no longer wants to delete an object
	withdraw  // it withdraws an entry that was not sent
	drop      // it drops an entry that was sent: see voidsSent
	send      // it sends a DELETE
	glance    // it reads an object
	take      // it uses the result

	recording // it writes a record of an object to the archive
	lie       // the same, but the store only claims to have the record
	verify    // it reads the record back
	settle    // it has to write to the index what a read shows
	flush     // it writes the index

	execute // the API server handles a request
	vague   // the same, with a 409 that does not distinguish UID and version
	refuse  // it refuses a request
	answer  // the response arrives
	lose    // the response is lost
)

var steps = map[step]string{
	edit: "another client changes object", removal: "another client deletes object", finalize: "the finalizer is removed from object",
	birth: "another client creates again object", election: "start of leader", tickTock: "the clock advances to",
	lapsed: "RequestLife passes until",
	read:   "reads the ledger", write: "writes, opening", writeOnly: "writes, opening nothing", list: "lists", see: "reads before it opens an entry",
	watch: "receives from its watch object", whim: "no longer wants to delete", withdraw: "withdraws", drop: "drops", send: "sends a DELETE of",
	recording: "records", lie: "records, in a store that lies,", verify: "reads the record back of", settle: "finds a result by read", flush: "writes the index",
	glance: "reads", take: "uses the result of read", execute: "the API server handles request", vague: "the API server answers with a vague 409 request",
	refuse: "the API server refuses request", answer: "the response arrives for request", lose: "the response is lost for request",
}

// changesMachine reports whether a step changes the machine or the looks of the leader that takes it.
func (s step) changesMachine() bool {
	switch s {
	case read, write, writeOnly, withdraw, drop, send, glance, take, settle:
		return true
	default:
		return false
	}
}

// move is one step, by a leader or another client.
type move struct {
	step
	leader int // -1 for none
	about  int // index of a name, request or leader
}

func (m move) String() string {
	if m.leader < 0 {
		return fmt.Sprintf("%s %d", steps[m.step], m.about)
	}
	return fmt.Sprintf("leader %d %s %d", m.leader, steps[m.step], m.about)
}

// moves are the possible next moves. Some of them turn out to change nothing.
//
// Other clients change an object only directly before a move that touches the object, because moves of other objects in between
// could also come before.
func (w *modelState) moves() []move {
	all := make([]move, 0, 16)
	add := func(s step, leader, about int, when bool) {
		if when {
			all = append(all, move{s, leader, about})
		}
	}
	for i, t := range w.things[:w.bounds.things] {
		stays := t.exists() && !t.terminating
		add(edit, -1, i, stays && w.left.edits > 0)
		add(removal, -1, i, stays && w.left.removals > 0)
		add(finalize, -1, i, t.terminating)
		add(birth, -1, i, !t.exists() && w.left.births > 0 && w.born < maxUIDs)
	}
	add(election, -1, len(w.leaders), w.left.leaders > 0)
	add(tickTock, -1, w.clock+1, w.left.ticks > 0)
	add(lapsed, -1, w.clock+lapse, w.left.lapses > 0)
	for i := range w.leaders {
		if w.leaders[i].alive {
			w.movesOf(i, add)
		}
	}
	for i, r := range w.requests {
		add(execute, -1, i, !r.done)
		add(vague, -1, i, !r.done && r.isDelete() && w.things[r.name].exists() && uidOf(w.things[r.name].uid) != r.target.UID)
		add(refuse, -1, i, !r.done && !r.orphan && r.isDelete() && w.left.refusals > 0)
		add(answer, -1, i, r.done)
		add(lose, -1, i, !r.orphan && w.left.losses > 0)
	}
	if w.touched > 0 {
		all = slices.DeleteFunc(all, func(m move) bool { return !w.touches(m, w.touched-1) })
	}
	return all
}

// touches reports whether a move reads or changes an object.
func (w *modelState) touches(m move, name int) bool {
	switch m.step {
	case edit, removal, finalize, birth, watch, see, recording, lie:
		return m.about == name
	case glance:
		return nameOf(w.leaders[m.leader].machine.Doubtful()[m.about]) == name
	case list:
		return true
	case execute, vague:
		return w.requests[m.about].isDelete() && w.requests[m.about].name == name
	default:
		return false
	}
}

func (w *modelState) movesOf(of int, add func(s step, leader, about int, when bool)) {
	l := &w.leaders[of]
	add(read, of, 0, l.blind)
	add(read, of, 0, !l.blind && !w.writing(of) && of == len(w.leaders)-1 && !w.isCurrent(l)) // from time to time
	add(write, of, 0, !l.blind && !w.writing(of) && (l.listed == l.sealed || w.standby))
	add(writeOnly, of, 0, !l.blind && !w.writing(of) && w.opens(l))
	add(list, of, 0, !l.listed && l.sealed)
	for i := range w.things[:w.bounds.things] {
		add(watch, of, i, (l.listed || w.standby) && l.known[i] != w.things[i])
		add(see, of, i, w.standby && l.sealed && !l.listed && !l.seen[i])
		add(whim, of, i, w.left.whims > 0 && l.wants(i))
		add(send, of, i, l.wants(i))
	}
	for i, e := range l.machine.Unsent() {
		add(withdraw, of, i, !l.wants(nameOf(e)) || l.known[nameOf(e)].entry(nameOf(e)) != e)
	}
	for i, e := range l.machine.Doubtful() {
		looks := slices.ContainsFunc(l.looks, func(k look) bool { return k.entry == e })
		add(glance, of, i, !looks && (w.hasNews(e) || w.flaw == sameIsVoid || w.bounds.lapses > 0))
		add(drop, of, i, w.flaw == voidsSent)
	}
	for i, k := range l.looks {
		add(take, of, i, w.mayTake(l, k))
	}
	w.movesOfArchiver(of, add)
}

// opens reports whether a leader may open entries.
func (w *modelState) opens(l *leader) bool { return l.listed || w.standby && l.sealed }

func nameOf(e ledger.Entry) int { return int(e.Name[0] - '0') }

// hasNews reports whether a read of the object would give anything but the unchanged version. Other reads change nothing and are
// skipped.
func (w *modelState) hasNews(e ledger.Entry) bool {
	return w.things[nameOf(e)].sight() != ledger.ObservationOf(like(e))
}

// make makes a move. It fails if the move breaks a guarantee, and with errNothing if the move changes nothing.
func (w *modelState) make(m move) (*modelState, error) {
	next := w.clone()
	if m.step.changesMachine() {
		next.leaders[m.leader].own()
	}
	next.touched = 0
	var err error
	switch {
	case m.leader >= 0:
		err = next.act(m, &next.leaders[m.leader])
	case m.step >= execute:
		err = next.handle(m)
	case m.step == election:
		err = next.elect()
	case m.step == tickTock:
		next.left.ticks--
		next.clock++
	case m.step == lapsed:
		next.lapse()
	default:
		next.touched = m.about + 1
		next.touch(m, &next.things[m.about])
	}
	next.requests = slices.DeleteFunc(next.requests, next.isVain)
	return next, err
}

// touch is a change of an object by other clients.
func (w *modelState) touch(m move, t *thing) {
	switch m.step {
	case edit:
		w.left.edits--
		t.version++
	case removal:
		w.left.removals--
		w.fates[t.uid-'A'].others = true
		w.remove(m.about)
	case finalize:
		*t = thing{}
	case birth:
		w.left.births--
		w.bear(m.about)
	}
}

// lapse lets RequestLife pass, so that earlier DELETEs have no effect any more, and their senders have stopped waiting. Former
// leaders have stopped, because their leases have ended by both clocks.
func (w *modelState) lapse() {
	w.left.lapses--
	w.clock += lapse
	for i := len(w.requests) - 1; i >= 0; i-- {
		if r := w.requests[i]; r.isDelete() && !r.orphan {
			w.lose(i)
		}
	}
	w.requests = slices.DeleteFunc(w.requests, func(r request) bool { return r.isDelete() })
	for i := range len(w.leaders) - 1 {
		w.bury(i)
	}
}

// isVain reports whether a request can have no effect any more, and no leader waits for its response.
func (w *modelState) isVain(r request) bool {
	if !r.orphan {
		return false
	}
	if r.isWrite() {
		return r.object.ResourceVersion != w.ledger.ResourceVersion && r.object.ResourceVersion != ""
	}
	if r.isIndex() {
		return !w.isNews(r)
	}
	t := w.things[r.name]
	return uidOf(t.uid) != r.target.UID || versionOf(t) != r.target.ResourceVersion
}

// remove is the effect of a DELETE.
func (w *modelState) remove(name int) {
	t := &w.things[name]
	if !t.finalizer {
		*t = thing{}
		return
	}
	t.terminating = true
	t.version++
}
