// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/ledger"
)

// elect starts another leader, which reads the ledger.
func (w *modelState) elect() error {
	w.left.leaders--
	w.leaders = append(w.leaders, w.lead())
	of := len(w.leaders) - 1
	return w.read(of, &w.leaders[of])
}

// lead makes a leader with a unique holder.
func (w *modelState) lead() leader {
	holder := string(rune('a' + w.holders))
	w.holders++
	if w.flaw == sharesItsName {
		holder = "everybody"
	}
	l := leader{holder: holder, machine: ledger.New(holder), alive: true, blind: true}
	switch {
	case w.flaw == listsFirst:
		l.known, l.listed = w.things, true
	case w.standby:
		l.known = w.things
		for i := range l.seen {
			l.seen[i] = w.flaw == opensUnread
		}
	}
	return l
}

// errNothing means that a move changes nothing.
var errNothing = errors.New("nothing happens")

// act makes a move of a leader.
func (w *modelState) act(m move, l *leader) error {
	switch m.step {
	case read:
		return w.read(m.leader, l)
	case write, writeOnly:
		return w.write(m, l)
	case list:
		l.known, l.listed = w.things, true
	case watch:
		l.known[m.about] = w.things[m.about]
	case see:
		l.known[m.about], l.seen[m.about] = w.things[m.about], true
	case whim:
		w.left.whims--
		l.whims[m.about] = true
	case withdraw:
		l.machine.Withdrawn(l.machine.Unsent()[m.about].Target)
	case drop:
		l.machine.EndVoid(l.machine.Doubtful()[m.about].Target)
	case send:
		return w.send(m, l)
	case recording, lie, verify, settle, flush:
		return w.archive(m, l)
	case glance:
		began := w.now(m.leader)
		e := l.machine.BeginReads(began)[m.about]
		l.looks = append(l.looks, look{entry: e, sight: w.things[nameOf(e)].sight(), began: began})
	case take:
		k := l.looks[m.about]
		l.looks = slices.Delete(l.looks, m.about, m.about+1)
		l.machine.Observe(k.entry, w.flaw.sight(k), w.flaw.began(k, w.now(m.leader)))
	}
	return nil
}

// bury stops a leader; its requests continue.
func (w *modelState) bury(of int) {
	w.leaders[of] = leader{}
	w.requests = slices.DeleteFunc(w.requests, func(r request) bool { return r.from == of && r.done })
	for i := range w.requests {
		if w.requests[i].from == of {
			w.requests[i].orphan = true
		}
	}
}

func (w *modelState) read(of int, l *leader) error {
	err := l.machine.Read(w.ledger)
	if errors.Is(err, ledger.ErrDeposed) {
		w.bury(of)
		if of == len(w.leaders)-1 {
			*l = w.lead() // a former leader took the ledger over, because it noticed late that it no longer leads
		}
		return nil
	}
	l.blind = false
	l.sealed = w.ledger.Holder == l.holder
	w.flaw.afterRead(l)
	return err
}

// write drafts an update and sends it, if there is anything to write.
func (w *modelState) write(m move, l *leader) error {
	d := l.machine.NewUpdate(w.now(m.leader))
	w.flaw.drafted(l, d)
	d.Room(w.flaw.now(w.now(m.leader)), w.flaw.budget(l, w.budget))
	opened := 0
	for i := range w.things[:w.bounds.things] {
		if m.step == write && l.wants(i) && w.left.opens > 0 && w.flaw.open(d, l.known[i].entry(i)) {
			w.left.opens--
			opened++
		}
	}
	if !d.Changed() || m.step == write && opened == 0 && w.opens(l) {
		return errNothing // a write without new entries is a different move
	}
	o := d.Object()
	if w.flaw == ignoresLock {
		o.ResourceVersion = ""
	}
	w.requests = append(w.requests, request{from: m.leader, draft: d, object: o})
	return nil
}

func (w *modelState) send(m move, l *leader) error {
	e := l.known[m.about].entry(m.about)
	if !w.hasReceipt(l, e.Target) {
		return errNothing
	}
	sending := l.machine.MarkSent
	if w.flaw == agesOnRetry {
		sending = l.machine.SendingAged
	}
	if !sending(e.Target) && !w.flaw.sends(w, m.leader, e) {
		return errNothing
	}
	w.requests = append(w.requests, request{from: m.leader, name: m.about, target: e.Target})
	return w.wasRecorded(e.Target)
}

// like is an object of the version in an entry.
func like(e ledger.Entry) metav1.Object {
	return &metav1.ObjectMeta{UID: e.UID, ResourceVersion: e.ResourceVersion}
}

// handle makes a move of a request.
func (w *modelState) handle(m move) error {
	r := &w.requests[m.about]
	switch m.step {
	case execute, vague:
		return w.execute(m, r)
	case refuse:
		w.left.refusals--
		r.done, r.answer = true, ledger.Refused
	case answer:
		return w.answer(m.about)
	case lose:
		w.left.losses--
		w.lose(m.about)
	}
	return nil
}

// execute handles a request in the API server.
func (w *modelState) execute(m move, r *request) error {
	r.done = true
	var err error
	switch {
	case r.isWrite():
		err = w.store(r)
	case r.isIndex():
		err = w.index(r.findings)
	default:
		err = w.delete(m, r)
	}
	if r.orphan {
		w.requests = slices.Delete(w.requests, m.about, m.about+1)
	}
	return err
}

// store writes the ledger, unless there is a conflict.
func (w *modelState) store(r *request) error {
	if r.object.ResourceVersion != w.ledger.ResourceVersion && r.object.ResourceVersion != "" {
		return nil
	}
	version, _ := strconv.Atoi(w.ledger.ResourceVersion)
	if r.object.Holder != w.ledger.Holder {
		w.doubtAll()
	}
	stored := *r.object
	stored.ResourceVersion = strconv.Itoa(version + 1)
	w.ledger, r.stored = &stored, &stored
	if err := w.countedOnce(); err != nil {
		return err
	}
	return w.countedInIndex()
}

// doubtAll marks the open entries as inherited by another holder.
func (w *modelState) doubtAll() {
	for _, t := range w.openTargets() {
		w.fate(t.UID).doubted = true
	}
}

// delete removes an object if it is of that UID and version.
func (w *modelState) delete(m move, r *request) error {
	t := w.things[r.name]
	switch {
	case !t.exists():
		r.answer = ledger.NotThere
	case uidOf(t.uid) != r.target.UID && m.step == execute:
		r.answer = ledger.NotThere
	case uidOf(t.uid) != r.target.UID || versionOf(t) != r.target.ResourceVersion:
		r.answer = ledger.Changed
	default:
		r.answer = ledger.Deleted
		f := w.fate(r.target.UID)
		f.ours, f.at, f.version = true, w.clock, t.version
		w.remove(r.name)
		return w.wasCovered(r)
	}
	return nil
}

// answer delivers a response.
func (w *modelState) answer(i int) error {
	r := w.requests[i]
	w.requests = slices.Delete(w.requests, i, i+1)
	l := w.own(r.from)
	switch {
	case r.isIndex():
		w.flushed(l, r)
	case r.isDelete():
		w.deleteAnswered(l, r)
	case r.stored == nil:
		l.machine.Lost()
		l.blind = true
	default:
		l.machine.Wrote(r.draft, r.stored)
		l.sealed = r.stored.Holder == l.holder
	}
	return nil
}

// lose loses a response: the request was handled before, or will be later, or never.
func (w *modelState) lose(i int) {
	r := w.requests[i]
	l := w.own(r.from)
	switch {
	case r.isWrite():
		w.flaw.lost(l)
		l.machine.Lost()
		l.blind = true
	case r.isIndex():
		w.unflushed(l, r)
	default:
		w.fate(r.target.UID).doubted = true
		r.answer = ledger.Unknown
		w.flaw.answered(l, r)
	}
	w.requests[i].orphan = true
	if r.done {
		w.requests = slices.Delete(w.requests, i, i+1)
	}
}

// own gives a leader its own copy of its machine in this state.
func (w *modelState) own(of int) *leader {
	l := &w.leaders[of]
	l.own()
	return l
}
