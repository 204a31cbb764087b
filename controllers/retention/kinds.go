// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// watchedKind is one kind with its index and the listing that feeds it. While rules change, it also has the listing that
// will take over.
type watchedKind struct {
	index    *index.Index
	pipeline *pipeline
	current  *listing
	pending  *listing
	until    time.Time   // when to stop watching the kind, because it has no rule; zero while it has one
	beyond   atomic.Bool // the facts of its rules depend on more than the subjects
}

// kind returns the version at which the subjects are read.
func (w *watchedKind) kind() schema.GroupVersionKind { return w.index.Reads() }

func (w *watchedKind) state() KindState {
	now := w.pipeline.reconciler.Clock.Now()
	s := KindState{
		Index: w.index, Relisting: w.pending != nil, Throttled: w.pipeline.throttle.throttled(),
		Delayed: len(w.pipeline.delays.lasting(now)), Delays: w.delays, DelaysVersion: w.pipeline.delays.lastingVersion(),
		Obstacles: func() map[types.UID]Delay { return w.pipeline.delays.byUID(now) },
	}
	for _, f := range []*listing{w.current, w.pending} { // the pending listing wins over the current one
		if f != nil {
			s.Kind = f.rules.Kind
		}
		if f != nil && f.lost != nil {
			s.Lost = f.lost
		}
		if f != nil && f.undeletable != nil {
			s.Undeletable = f.undeletable
		}
		if f != nil && f.unmarkable != nil {
			s.Unmarkable = f.unmarkable
		}
	}
	return s
}

// Use puts rules in force; programs has the compiled rule for each Key. It lists a kind again only if a rule needs new facts
// about it. The present facts stay in use until the new ones are complete.
func (r *Reconciler) Use(snapshot *policy.Snapshot, programs map[string]*engine.Program) {
	r.UseOnStandby(snapshot, programs)
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.ruled:
	default:
		close(r.ruled)
	}
}

// UseOnStandby has the facts of rules listed and watched, like Use, but nothing is deleted by them: Start waits for Use.
func (r *Reconciler) UseOnStandby(snapshot *policy.Snapshot, programs map[string]*engine.Program) {
	ruleSets := ruleSetsOf(snapshot, programs) // outside the lock, which deletions need: many rules take long
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshot, r.programs = snapshot, programs
	if r.running != nil && r.running.Err() == nil {
		r.follow(ruleSets)
	}
}

// begin starts the listings for the current rules, unless Watch has started them.
func (r *Reconciler) begin(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		r.running, r.end = context.WithCancel(ctx)
		r.follow(ruleSetsOf(r.snapshot, r.programs))
	}
}

// follow updates the watched kinds for the snapshot.
func (r *Reconciler) follow(ruleSets map[schema.GroupKind]RuleSet) {
	now := r.Clock.Now()
	for kind, w := range r.kinds {
		if _, wanted := ruleSets[kind]; !wanted {
			w.index.SetSnapshot(r.snapshot, now) // queued subjects are decided by the new rules
			if w.until.IsZero() {
				w.until = now.Add(unwantedLasts)
			}
		}
	}
	for _, kind := range r.snapshot.Kinds() {
		q, wanted := ruleSets[kind]
		if !wanted || r.IgnoreKind != nil && r.IgnoreKind(kind) {
			continue
		}
		w := r.kinds[kind]
		if w == nil {
			w = &watchedKind{index: index.New(kind, r.wake.Send)}
			w.pipeline = newPipeline(r, w)
			r.tasks.Go(func() { w.pipeline.run(r.running) })
			r.kinds[kind] = w
		}
		w.until = time.Time{}
		w.index.SetSnapshot(r.snapshot, now)
		r.ask(w, q)
	}
	r.wake.Send()
}

// unwantedLasts is how long Sunset still watches a kind after its last rule is removed, so that a rule that is repeatedly
// added and removed does not list the cluster each time. During that time nothing of the kind is deleted.
const unwantedLasts = time.Minute

// dropUnwanted stops watching the kinds that have had no rule for unwantedLasts. Every listing calls it before it lists a
// namespace, and at least once a minute otherwise.
func (r *Reconciler) dropUnwanted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Clock.Now()
	for kind, w := range r.kinds {
		if !w.until.IsZero() && !now.Before(w.until) {
			w.current.stop()
			w.pending.stop()
			w.pipeline.stop()
			delete(r.kinds, kind)
		}
	}
}

// ask makes sure that the kind has the facts of the rules, now or when a new listing is complete. If only the rules of a
// namespace have changed, only that namespace is listed.
func (r *Reconciler) ask(w *watchedKind, q RuleSet) {
	w.beyond.Store(q.ReadsReferences())
	switch {
	case w.current.answers(q):
		w.current.setRules(q)
		w.pending.stop()
		w.pending = nil
	case w.pending.setRules(q), w.pending.answers(q):
	case w.current.setRules(q):
		w.pending.stop()
		w.pending = nil
	default:
		w.pending.stop()
		w.pending = r.open(w, q)
	}
}

// reread reads the newest version of a subject live, and applies it to the index.
func (r *Reconciler) reread(ctx context.Context, w *watchedKind, s policy.Subject) error {
	r.mu.Lock()
	f := w.current
	r.mu.Unlock()
	if f == nil {
		return nil
	}
	return f.source.Read(ctx, s, func(row *index.FactRow) {
		if row == nil {
			f.Forget(s.UID)
			return
		}
		w.index.Refresh(f.listing.ID, row, r.Clock.Now())
	})
}

// confirm updates the facts about a subject that depend on other objects, and returns the listing that it updated; 0 if no rule
// about the kind depends on other objects. The error wraps errBehind.
func (r *Reconciler) confirm(w *watchedKind, s policy.Subject) (listing uint64, err error) {
	if !w.beyond.Load() && !w.index.Ranks() {
		return 0, nil
	}
	r.mu.Lock()
	f := w.current
	r.mu.Unlock()
	if f == nil {
		return 0, nil
	}
	if source, ok := f.source.(Confirmer); ok {
		if err := source.Confirm(s); err != nil {
			return 0, fmt.Errorf("%w: %w; Sunset retries", errBehind, err)
		}
	}
	return f.listing.ID, nil
}

// errBehind says that references, or the number of newer objects, may be out of date for a moment.
var errBehind = errors.New("the other objects that the rules depend on are not up to date")
