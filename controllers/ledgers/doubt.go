// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
)

const (
	observeFirst   = time.Second // between two reads of doubtful objects
	observeMost    = time.Minute
	observeAtOnce  = 50
	observeTimeout = 3 * time.Second // for all reads of a step, and for archives to write what they show: deletions wait to be recorded
)

// Archives has the results of deletions by rules that archive before a ledger counts them: after a crash, the deletions that ledgers
// count are those whose records have the result.
type Archives interface {
	// Gone takes that a target no longer exists, after an earlier request that may have deleted it. It does not block.
	Gone(archive string, t policy.Target)
	// Written calls then when the results that a RetentionArchive got so far are written. It does not block.
	Written(archive string, then func())
	// Settled writes what reads have shown of targets whose DELETE had no definite answer: whether each is gone. An empty archive is that
	// of a rule that does not archive now.
	Settled(ctx context.Context, archive string, targets map[policy.Target]bool) error
}

// Finish implements retention.Ledger. A deletion by a rule that archives is counted after its record has the result.
func (m *Manager) Finish(i policy.Intent, t policy.Target, o retention.Outcome) (counts bool) {
	w, answer := m.worker(i.Rule.PolicyUID), answerOf(o)
	switch {
	case w == nil:
		return false
	case !i.Rule.Ledger:
		return w.counts(t)
	case m.Archives != nil && i.Rule.Archive != nil && (answer == ledger.Deleted || answer == ledger.NotThere):
		if answer == ledger.NotThere && w.doubts(t) {
			m.Archives.Gone(i.Rule.Archive.To, t)
		}
		m.Archives.Written(i.Rule.Archive.To, func() { w.answered(i, t, answer) })
	default:
		w.answered(i, t, answer)
	}
	return true
}

// counts reports whether the ledger counts the deletion of a target although a rule without a ledger has deleted it.
func (w *worker) counts(t policy.Target) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.machine.CountsAnyway(t.UID)
}

// doubts reports whether an earlier request to delete a target may have had an effect.
func (w *worker) doubts(t policy.Target) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.machine.Doubts(t)
}

// resolveDoubt reads the objects of doubtful entries.
func (w *worker) resolveDoubt(ctx context.Context) {
	w.mu.Lock()
	now := w.manager.Clock.Now()
	if now.Sub(w.observedAt) < w.observePause || !w.known {
		w.mu.Unlock()
		return
	}
	doubtful := w.machine.BeginReads(now)
	if len(doubtful) == 0 {
		w.readErr = nil
		w.mu.Unlock()
		return
	}
	w.observedAt = now
	w.mu.Unlock()
	observed, reads, unread := w.observe(ctx, doubtful)
	unread = cmp.Or(w.settle(ctx, observed, now), unread)
	resolved := 0
	for e, observation := range observed {
		if w.observed(e, observation, now) {
			resolved++
		}
	}
	w.mu.Lock()
	changed := reads > 0 && (unread == nil) != (w.readErr == nil)
	w.readErr = unread
	w.observeFrom += reads - resolved
	if resolved > 0 {
		w.observePause = 0
		w.ends(now)
	} else {
		w.observePause = min(max(observeFirst, 2*w.observePause), observeMost)
	}
	w.mu.Unlock()
	if changed {
		w.manager.Changed()
	}
}

// observe reads the objects of some entries. unread says why one of them could not be read.
func (w *worker) observe(ctx context.Context, doubtful []ledger.Entry) (observed map[ledger.Entry]ledger.Observation, reads int, unread error) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	observed = map[ledger.Entry]ledger.Observation{}
	for reads < min(len(doubtful), observeAtOnce) && ctx.Err() == nil {
		e := doubtful[(w.observeFrom+reads)%len(doubtful)]
		reads++
		observation, err := w.manager.Objects.Observe(ctx, e.Target)
		if err != nil {
			log.FromContext(ctx).V(1).Info("object not read", "kind", e.Kind.Kind, "namespace", e.Namespace, "name", e.Name, "err", err.Error())
			unread = cmp.Or(unread, fmt.Errorf("read %s %q in namespace %q: %w", e.Kind.Kind, e.Name, e.Namespace, err))
			continue
		}
		observed[e] = observation
	}
	return observed, reads, unread
}

// settle has archives write what reads have shown of the targets of rules that archive. It removes the entries that would not end, and
// those that were not written: they stay doubtful.
func (w *worker) settle(ctx context.Context, observed map[ledger.Entry]ledger.Observation, began time.Time) (unwritten error) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	for archive, targets := range w.archived(observed, began) {
		if err := w.manager.Archives.Settled(ctx, archive, targets); err != nil {
			unwritten = err
			maps.DeleteFunc(observed, func(e ledger.Entry, _ ledger.Observation) bool { _, is := targets[e.Target]; return is })
		}
	}
	return unwritten
}

// archived returns which targets of entries that would end are gone, by the RetentionArchive of their rules. It removes other entries:
// a DELETE under way could end while an archive writes, and the entry would end without a result in the archive.
func (w *worker) archived(observed map[ledger.Entry]ledger.Observation, began time.Time) map[string]map[policy.Target]bool {
	if w.manager.Archives == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]map[policy.Target]bool{}
	for e, observation := range observed {
		if !w.machine.WouldEnd(e, observation, began) {
			delete(observed, e)
			continue
		}
		to := w.archiveOf(e.Rule)
		if all[to] == nil {
			all[to] = map[policy.Target]bool{}
		}
		all[to][e.Target] = observation.Gone(e.Target)
	}
	return all
}

// archiveOf returns the RetentionArchive of a rule; empty if it does not archive.
func (w *worker) archiveOf(rule string) string {
	if w.policy == nil {
		return ""
	}
	for _, r := range w.policy.Rules {
		if r.ID.Rule == rule && r.Archive != nil {
			return r.Archive.To
		}
	}
	return ""
}

// observed takes the result of a read that began at the given time. If that ends the entry of an object that still exists
// unchanged, the object is stuck.
func (w *worker) observed(e ledger.Entry, observation ledger.Observation, began time.Time) (ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended = w.machine.Observe(e, observation, began)
	if ended && observation.Shows(e.Target) {
		pause := min(max(stuckFirst, 2*w.stuck[e.UID].pause), stuckMost)
		w.stuck[e.UID] = stuck{until: began.Add(pause), pause: pause}
	}
	return ended
}
