// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"slices"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
)

// The model of an archive: its records, its index, and what a leader that archives does besides writing the ledger. Only the leader
// elected last begins to write to the archive, because a process checks its lease before each write. A write that began before may
// have its effect later.

// result is what the index of the archive has about a version. Of two results, the larger one wins.
type result byte

const (
	noResult result = iota
	keptResult
	absentResult
	goneResult
	deletedResult
)

func (r result) counts() bool { return r >= goneResult }

// record is what the archive has of one version of an object.
type record struct {
	exists bool
	result result
}

const maxVersions = 4

// archive is the archive of all leaders, by object and version.
type archive [maxUIDs][maxVersions]record

func (a *archive) of(t policy.Target) *record { return &a[t.UID[0]-'A'][t.ResourceVersion[0]-'1'] }

// counted returns how many versions of an object the index has as deleted or gone.
func (a *archive) counted(object int) (n int64) {
	for _, r := range a[object] {
		if r.result.counts() {
			n++
		}
	}
	return n
}

// finding is a result that a leader has not written to the index.
type finding struct {
	target policy.Target
	result result
	// answer is what the ledger takes when the result is written; Unknown for nothing.
	answer ledger.DeleteResult
}

// archiver is what a leader knows of the archive.
type archiver struct {
	unread   [maxUIDs]byte // the version of a record that it has written and not read back; 0 for none
	receipts [maxUIDs]byte // the version of a record that it has read back
	findings []finding
}

// hasReceipt reports whether a leader may delete a target.
func (w *modelState) hasReceipt(l *leader, t policy.Target) bool {
	receipt := l.receipts[t.UID[0]-'A']
	return !w.archives || receipt == t.ResourceVersion[0] || receipt != 0 && w.flaw == acceptsOther
}

// movesOfArchiver are the moves of a leader that write to the archive.
func (w *modelState) movesOfArchiver(of int, add func(s step, leader, about int, when bool)) {
	l := &w.leaders[of]
	if !w.archives || of != len(w.leaders)-1 && w.flaw != formerWrites {
		return
	}
	for i := range w.things[:w.bounds.things] {
		t := l.known[i]
		if !l.wants(i) || !l.machine.IsOpen(t.entry(i).Target) {
			continue
		}
		unread, isNeeded := l.unread[t.uid-'A'] == t.version, !w.hasReceipt(l, t.entry(i).Target)
		add(recording, of, i, isNeeded && !unread && w.things[i] == t)
		add(lie, of, i, isNeeded && !unread && w.things[i] == t && w.left.lies > 0)
		add(verify, of, i, isNeeded && unread)
	}
	for i, k := range l.looks {
		add(settle, of, i, !k.settling && l.machine.WouldEnd(k.entry, k.sight, k.began))
	}
	isFlushing := slices.ContainsFunc(w.requests, func(r request) bool { return r.from == of && !r.orphan && r.isIndex() })
	add(flush, of, 0, len(l.findings) > 0 && !isFlushing)
}

// mayTake reports whether a leader may pass a read to the ledger: what it shows is in the index, or it ends nothing.
func (w *modelState) mayTake(l *leader, k look) bool {
	return !w.archives || w.flaw == endsUnsettled || k.settled || !k.settling && !l.machine.WouldEnd(k.entry, k.sight, k.began)
}

// archive makes a move of a leader that writes to the archive.
func (w *modelState) archive(m move, l *leader) error {
	switch m.step {
	case recording:
		t := l.known[m.about]
		w.archived.of(t.entry(m.about).Target).exists = true
		l.wrote(t, w.flaw)
	case lie:
		w.left.lies--
		l.wrote(l.known[m.about], w.flaw)
	case verify:
		t := l.known[m.about]
		if l.unread[t.uid-'A'] = 0; w.archived.of(t.entry(m.about).Target).exists {
			l.receipts[t.uid-'A'] = t.version
		}
	case settle:
		k := &l.looks[m.about]
		k.settling = true
		l.find(k.finding())
	case flush:
		w.requests = append(w.requests, request{from: m.leader, findings: slices.Clone(l.findings)})
	}
	return nil
}

// wrote notes a record that the store claims to have.
func (l *leader) wrote(t thing, f flaw) {
	if l.unread[t.uid-'A'] = t.version; f == readsNothingBack {
		l.receipts[t.uid-'A'] = t.version
	}
}

// finding is the result that a read shows.
func (k look) finding() finding {
	if k.sight.Gone(k.entry.Target) {
		return finding{target: k.entry.Target, result: goneResult}
	}
	return finding{target: k.entry.Target, result: keptResult}
}

func (l *leader) find(f finding) {
	if !slices.Contains(l.findings, f) {
		l.findings = append(l.findings, f)
	}
}

// deleteAnswered takes the result of a DELETE. If it is about a deletion, the ledger gets it after the index.
func (w *modelState) deleteAnswered(l *leader, r request) {
	found := w.resultOf(l, r)
	if !w.archives || found == noResult {
		w.flaw.answered(l, r)
		return
	}
	l.receipts[r.target.UID[0]-'A'] = 0
	if found == keptResult || w.flaw == countsFirst {
		l.find(finding{target: r.target, result: found})
		w.flaw.answered(l, r)
		return
	}
	l.find(finding{target: r.target, result: found, answer: r.answer})
}

// resultOf is the result that an answer means; none if this version may still be deleted.
func (w *modelState) resultOf(l *leader, r request) result {
	doubts := l.machine.Doubts(r.target)
	switch {
	case r.answer == ledger.Deleted:
		return deletedResult
	case r.answer == ledger.NotThere && doubts && w.flaw != absentInDoubt:
		return goneResult
	case r.answer == ledger.NotThere:
		return absentResult
	case r.answer == ledger.Changed && !doubts:
		return keptResult
	default:
		return noResult
	}
}

// index writes results to the index. No version has the result deleted unless our DELETE deleted exactly this version.
func (w *modelState) index(findings []finding) error {
	for _, f := range findings {
		r, fate := w.archived.of(f.target), w.fate(f.target.UID)
		switch {
		case !r.exists && fate.ours:
			return fmt.Errorf("the index has a result of object %s without a record of version %s", f.target.UID, f.target.ResourceVersion)
		case f.result == deletedResult && (!fate.ours || fate.version != f.target.ResourceVersion[0]):
			return fmt.Errorf("version %s of object %s has the result deleted, but we have not deleted it", f.target.ResourceVersion, f.target.UID)
		case f.result == goneResult && !fate.ours && !fate.others:
			return fmt.Errorf("object %s has the result gone, but no client has deleted it", f.target.UID)
		}
		if f.result > r.result || w.flaw == lastResultWins {
			r.result = f.result
		}
	}
	return nil
}

// flushed confirms a write of the index: the ledger takes what waited for it.
func (w *modelState) flushed(l *leader, r request) {
	written := r.findings
	if w.flaw == confirmsLater {
		written = slices.Clone(l.findings)
	}
	l.findings = slices.Clone(l.findings[len(written):])
	for _, f := range written {
		if f.answer != ledger.Unknown {
			w.flaw.answered(l, request{target: f.target, answer: f.answer})
		}
		for i, k := range l.looks {
			l.looks[i].settled = k.settled || k.settling && k.finding() == f
		}
	}
}

// unflushed takes that the result of a write of the index is unknown: the ledger ignores the reads that waited for it.
func (w *modelState) unflushed(l *leader, r request) {
	if w.flaw == confirmsLost {
		w.flushed(l, r)
		return
	}
	l.looks = slices.DeleteFunc(l.looks, func(k look) bool { return k.settling && !k.settled })
}

// isNews reports whether a write of the index would still change it.
func (w *modelState) isNews(r request) bool {
	return slices.ContainsFunc(r.findings, func(f finding) bool { return f.result > w.archived.of(f.target).result }) || w.flaw == lastResultWins
}

// wasRecorded must hold when a leader sends a DELETE: the archive has a record of exactly this version.
func (w *modelState) wasRecorded(t policy.Target) error {
	if w.archives && !w.archived.of(t).exists {
		return fmt.Errorf("a DELETE of version %s of object %s is sent without a record of it", t.ResourceVersion, t.UID)
	}
	return nil
}

// countedInIndex must hold after each write of the ledger: it counts nothing before the index has the result.
func (w *modelState) countedInIndex() error {
	for i, n := range w.counted() {
		if w.archives && n.Deleted+n.Gone > w.archived.counted(i) {
			return fmt.Errorf("object %s is counted before the index has its result", uidOf('A'+byte(i)))
		}
	}
	return nil
}

// agree must hold when the last leader has no open questions: the ledger counts exactly the objects of which the index has a version as
// deleted or gone, and a version that our DELETE removed is one of them.
func (w *modelState) agree() error {
	if !w.archives {
		return nil
	}
	for i, n := range w.counted() {
		uid, fate := uidOf('A'+byte(i)), w.fates[i]
		if versions := w.archived.counted(i); versions != n.Deleted+n.Gone {
			return fmt.Errorf("object %s is counted %d times, but the index has %d versions as deleted or gone", uid, n.Deleted+n.Gone, versions)
		}
		if fate.ours && !w.archived.of(policy.Target{UID: uid, ResourceVersion: string(rune(fate.version))}).result.counts() {
			return fmt.Errorf("the index does not have version %c of object %s as deleted or gone, but we deleted it", fate.version, uid)
		}
	}
	return nil
}

// appendKey appends the records.
func (a *archive) appendKey(b []byte) []byte {
	for _, object := range a {
		for _, r := range object {
			b = append(b, flags(r.exists)<<4|byte(r.result))
		}
	}
	return b
}

func (a *archiver) appendKey(b []byte) []byte {
	b = append(append(b, a.unread[:]...), a.receipts[:]...)
	return appendFindings(b, a.findings)
}

func appendFindings(b []byte, all []finding) []byte {
	for _, f := range all {
		b = append(append(append(b, f.target.UID...), f.target.ResourceVersion...), byte(f.result), byte(f.answer))
	}
	return append(b, '_')
}
