package ledger_test

import (
	"fmt"
	"slices"

	"github.com/sunset-k8s/sunset/policy/ledger"
)

// step is a sort of move.
type step int

const (
	edit     step = iota // somebody changes an object
	removal              // somebody else deletes one
	finalize             // its finalizer is taken off
	birth                // somebody makes another under its name
	election             // there is another leader
	tickTock             // time goes on
	lapsed               // so much time that what was sent before is carried out no more

	read      // it reads the ledger
	write     // it writes it, and opens what it wants to delete
	writeOnly // it writes it, and opens nothing
	list      // it lists the objects
	watch     // its watch tells it about one
	whim      // it does not want to delete one any more
	withdraw  // it says so about an entry that was not sent
	drop      // it drops one that was: see voidsSent
	send      // it sends a DELETE
	glance    // it looks at an object
	take      // it takes what that showed

	execute // the API server carries a request out
	vague   // the same, and it does not tell another UID from another version
	refuse  // it refuses it
	answer  // the answer arrives
	lose    // it never does
)

var steps = map[step]string{
	edit: "somebody changes object", removal: "somebody else deletes object", finalize: "a finalizer is taken off object",
	birth: "somebody makes anew object", election: "elected is leader", tickTock: "the clock ticks to",
	lapsed: "what was sent is carried out no more at",
	read:   "reads the ledger", write: "writes, opening", writeOnly: "writes, opening nothing", list: "lists",
	watch: "hears of object", whim: "wants no more to delete", withdraw: "withdraws", drop: "drops", send: "sends a DELETE of",
	glance: "looks at", take: "takes what it saw, first of", execute: "carried out is request", vague: "answered with a vague 409 is request",
	refuse: "refused is request", answer: "answered is request", lose: "lost is the answer to request",
}

// move is one step of somebody about something.
type move struct {
	step
	leader int // -1 if of none
	about  int // a name, a request, a leader
}

func (m move) String() string {
	if m.leader < 0 {
		return fmt.Sprintf("%s %d", steps[m.step], m.about)
	}
	return fmt.Sprintf("leader %d %s %d", m.leader, steps[m.step], m.about)
}

// moves are what can happen next. Some turn out to be none when they are made.
//
// What others do to an object happens just before something touches the object: whatever comes in between would be the
// same if it came before.
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
		add(vague, -1, i, !r.done && !r.isWrite() && w.things[r.name].exists() && uidOf(w.things[r.name].uid) != r.target.UID)
		add(refuse, -1, i, !r.done && !r.orphan && !r.isWrite() && w.left.refusals > 0)
		add(answer, -1, i, r.done)
		add(lose, -1, i, !r.orphan && w.left.losses > 0)
	}
	if w.touched > 0 {
		all = slices.DeleteFunc(all, func(m move) bool { return !w.touches(m, w.touched-1) })
	}
	return all
}

// touches reports whether a move has to do with an object: reads it or changes it.
func (w *modelState) touches(m move, name int) bool {
	switch m.step {
	case edit, removal, finalize, birth, watch:
		return m.about == name
	case glance:
		return nameOf(w.leaders[m.leader].keeper.Doubtful()[m.about]) == name
	case list:
		return true
	case execute, vague:
		return !w.requests[m.about].isWrite() && w.requests[m.about].name == name
	default:
		return false
	}
}

func (w *modelState) movesOf(of int, add func(s step, leader, about int, when bool)) {
	l := &w.leaders[of]
	add(read, of, 0, l.blind)
	add(read, of, 0, !l.blind && !w.writing(of) && of == len(w.leaders)-1 && !w.isCurrent(l)) // now and then
	add(write, of, 0, !l.blind && !w.writing(of) && l.listed == l.sealed)
	add(writeOnly, of, 0, !l.blind && !w.writing(of) && l.listed)
	add(list, of, 0, !l.listed && l.sealed)
	for i := range w.things[:w.bounds.things] {
		add(watch, of, i, l.listed && l.known[i] != w.things[i])
		add(whim, of, i, w.left.whims > 0 && l.wants(i))
		add(send, of, i, l.wants(i))
	}
	for i, e := range l.keeper.Unsent() {
		add(withdraw, of, i, !l.wants(nameOf(e)) || l.known[nameOf(e)].entry(nameOf(e)) != e)
	}
	for i, e := range l.keeper.Doubtful() {
		looks := slices.ContainsFunc(l.looks, func(k look) bool { return k.entry == e })
		add(glance, of, i, !looks && (w.hasNews(e) || w.flaw == sameIsVoid || w.bounds.lapses > 0))
		add(drop, of, i, w.flaw == voidsSent)
	}
	for i := range l.looks {
		add(take, of, i, true)
	}
}

func nameOf(e ledger.Entry) int { return int(e.Name[0] - '0') }

// hasNews reports whether looking at an object would show anything but the version that may be deleted: that changes
// nothing, and is left out.
func (w *modelState) hasNews(e ledger.Entry) bool {
	return w.things[nameOf(e)].sight() != ledger.SightOf(like(e))
}

// make makes a move. It fails if that breaks a promise, and with errNothing if it turns out to be none.
func (w *modelState) make(m move) (*modelState, error) {
	next := w.clone(m.leader)
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

// touch has others do something to an object.
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

// lapse lets so much time go by that no DELETE which was sent before is carried out any more: its sender has given up waiting long
// ago. Who does not lead any more has noticed: its lease has ended by both of its clocks.
func (w *modelState) lapse() {
	w.left.lapses--
	w.clock += lapse
	for i := len(w.requests) - 1; i >= 0; i-- {
		if r := w.requests[i]; !r.isWrite() && !r.orphan {
			w.lose(i)
		}
	}
	w.requests = slices.DeleteFunc(w.requests, func(r request) bool { return !r.isWrite() })
	for i := range len(w.leaders) - 1 {
		w.bury(i)
	}
}

// isVain reports whether a request can do nothing any more, and nobody waits for its answer.
func (w *modelState) isVain(r request) bool {
	if !r.orphan {
		return false
	}
	if r.isWrite() {
		return r.object.ResourceVersion != w.ledger.ResourceVersion && r.object.ResourceVersion != ""
	}
	t := w.things[r.name]
	return uidOf(t.uid) != r.target.UID || versionOf(t) != r.target.ResourceVersion
}

// remove is what a DELETE does.
func (w *modelState) remove(name int) {
	t := &w.things[name]
	if !t.finalizer {
		*t = thing{}
		return
	}
	t.terminating = true
	t.version++
}
