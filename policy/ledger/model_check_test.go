// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// counted are the counts of the ledger for each object.
func (w *modelState) counted() [maxUIDs]v1alpha1.LedgerCount {
	var all [maxUIDs]v1alpha1.LedgerCount
	for _, rule := range w.ledger.Rules {
		for _, o := range rule.Outcomes {
			all[o.Name[0]-'A'] = o.LedgerCount
		}
	}
	return all
}

// countedOnce must hold after each write of the ledger. No object is counted twice. Only objects that our DELETE deleted are
// counted as deleted. Only objects that our DELETE may have deleted are counted as gone.
func (w *modelState) countedOnce() error {
	for i, n := range w.counted() {
		f, uid := w.fates[i], uidOf('A'+byte(i))
		switch {
		case n.Deleted+n.Gone > 1:
			return fmt.Errorf("object %s is counted twice: %v", uid, n)
		case n.Deleted > 0 && !f.ours:
			return fmt.Errorf("object %s is counted as deleted, but we have not deleted it", uid)
		case n.Gone > 0 && !f.ours && !f.others:
			return fmt.Errorf("object %s is counted as gone, but no client has deleted it", uid)
		case n.Gone > 0 && !f.doubted:
			return fmt.Errorf("object %s is counted as gone, but no response for it was lost", uid)
		}
	}
	return nil
}

// wasCovered must hold when a DELETE removes an object: its entry is open in the ledger, and the budget allows it.
func (w *modelState) wasCovered(r *request) error {
	covered := false
	for _, t := range w.openTargets() {
		covered = covered || t.Is(r.target)
	}
	if !covered {
		return fmt.Errorf("object %s was deleted without an entry", r.target.UID)
	}
	if w.budget == nil {
		return nil
	}
	var within int64
	for _, f := range w.fates {
		if f.ours && time.Duration(w.clock-f.at)*tick < w.budget.Window {
			within++
		}
	}
	if within > w.budget.Max {
		return fmt.Errorf("%d objects were deleted within %v", within, w.budget.Window)
	}
	return nil
}

// settled must hold when the last leader has no open questions: each object that our DELETE removed is counted, and no entry is
// open for an object that has changed or no longer exists.
func (w *modelState) settled() error {
	for i, n := range w.counted() {
		if w.fates[i].ours && n.Deleted+n.Gone != 1 {
			return fmt.Errorf("we deleted object %s, but it is not counted", uidOf('A'+byte(i)))
		}
	}
	for _, t := range w.openTargets() {
		now := w.things[t.Name[0]-'0']
		if now.uid == 0 || types.UID(rune(now.uid)) != t.UID || versionOf(now) != t.ResourceVersion || now.terminating {
			return fmt.Errorf("the entry of object %s stays open, but the object is %v", t.UID, now)
		}
	}
	return w.agree()
}

// isSettled reports whether the last leader has nothing left to read or to write.
func (w *modelState) isSettled() bool {
	if w.left.leaders > 0 {
		return false
	}
	of := len(w.leaders) - 1
	l := w.leaders[of]
	if l.blind || !l.sealed || !w.isCurrent(&l) || len(l.looks) > 0 || len(l.findings) > 0 || len(l.machine.Unsent()) > 0 {
		return false
	}
	for _, r := range w.requests {
		if r.from == of && !r.orphan {
			return false
		}
	}
	for _, e := range l.machine.Doubtful() {
		if w.hasNews(e) {
			return false
		}
	}
	return !l.machine.Clone().NewUpdate(w.now(of)).Changed()
}

// mustHappen reports whether a move happens eventually if nothing else does. Failures and moves of former leaders, which may have
// stopped, are not among them.
func (w *modelState) mustHappen(m move) bool {
	last := len(w.leaders) - 1
	switch {
	case m.leader >= 0:
		return m.leader == last && m.step != whim && m.step != lie
	case m.step == execute || m.step == answer:
		return w.requests[m.about].from == last && !w.requests[m.about].orphan
	case m.step == election:
		return true
	default:
		return m.step == finalize || w.touched > 0
	}
}

// ended must hold if no move must happen any more: the last leader has no open questions, and has deleted the objects that it
// wants to delete.
func (w *modelState) ended() error {
	if w.touched > 0 || w.budget != nil && w.left.ticks > 0 {
		return nil
	}
	if !w.isSettled() {
		return errors.New("the last leader cannot continue")
	}
	l := &w.leaders[len(w.leaders)-1]
	for i := range w.things[:w.bounds.things] {
		waits := w.bounds.lapses > 0 && l.machine.HasStopped(l.known[i].entry(i).Target) // for one more lapse
		if l.wants(i) && !waits && w.left.opens > 0 && w.budget == nil {
			return fmt.Errorf("object %d is not deleted", i)
		}
	}
	return nil
}
