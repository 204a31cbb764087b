// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
)

// listing feeds the subjects of one kind into its index. It is the Sink of its source.
type listing struct {
	reconciler *Reconciler
	kind       *watchedKind
	source     Source
	ctx        context.Context
	cancel     context.CancelFunc
	wake       wake.Signal // a namespace lacks facts, or the listing has become the current one

	listing index.Listing // its ID never changes

	// Guarded by reconciler.mu, like the rest of listing:
	rules       RuleSet
	stale       map[string]time.Time // namespaces that lack facts, and when each was found to lack them
	listed      map[string]time.Time // the earliest time of the next list of each recently listed namespace
	lost        *SourceError
	undeletable *SourceError
	unmarkable  *SourceError
	early       bool // it may lack changes from before the ledgers were opened
}

// open starts a listing.
func (r *Reconciler) open(w *watchedKind, q RuleSet) *listing {
	r.listings++
	ctx, cancel := context.WithCancel(r.running)
	f := &listing{
		reconciler: r,
		kind:       w,
		source:     r.Sources.Open(q),
		ctx:        ctx,
		cancel:     cancel,
		listing:    index.Listing{ID: r.listings, Kind: q.Kind, Layout: q.Everywhere.Layout, Layouts: layoutsOf(q)},
		rules:      q,
		stale:      map[string]time.Time{},
		listed:     map[string]time.Time{},
	}
	r.tasks.Go(func() { f.source.Run(ctx, f) })
	r.tasks.Go(func() { f.relist(ctx) })
	return f
}

func layoutsOf(q RuleSet) map[string]*index.Columns {
	layouts := make(map[string]*index.Columns, len(q.In))
	for namespace, in := range q.In {
		layouts[namespace] = in.Layout
	}
	return layouts
}

func (f *listing) stop() {
	if f != nil {
		f.cancel()
	}
}

// answers reports whether the rows have the facts of all rules, or will have them once namespaces are listed again.
func (f *listing) answers(q RuleSet) bool { return f != nil && f.rules.answers(q) }

// setRules sets the rules of single namespaces, also if the listing answers more than they ask: a rule that no longer exists must not
// use up the time of its namespace. It reports false if the listing cannot evaluate them.
func (f *listing) setRules(q RuleSet) bool {
	if f == nil || !f.rules.answersEverywhere(q) {
		return false
	}
	namespaces := append(f.rules.unanswered(q), f.rules.surplus(q)...)
	if len(namespaces) == 0 {
		return true
	}
	asks := f.rules.with(q, namespaces)
	if source, ok := f.source.(Relister); !ok || !source.SetRules(asks) {
		return false
	}
	f.rules = asks
	f.listing.Layouts = maps.Clone(f.listing.Layouts)
	for _, namespace := range namespaces {
		asked, rows := asks.In[namespace].Layout, f.listing.Layouts[namespace]
		if delete(f.listing.Layouts, namespace); asked != nil && rows != nil && rows.Covers(asked) {
			f.listing.Layouts[namespace] = asked
		}
	}
	f.wake.Send()
	return true
}

const (
	relistPause  = 200 * time.Millisecond // between two namespaces
	relistAgain  = 5 * time.Second        // from the end of a list of a namespace to its next one, even if its rules change,
	relistRest   = 10                     // or this many times as long as the list took,
	relistLater  = time.Minute            // but not longer
	relistLately = time.Minute            // for this long afterwards, other namespaces come first
)

// relist lists the namespaces that lack facts, one after the other, until ctx ends.
func (f *listing) relist(ctx context.Context) {
	for ctx.Err() == nil {
		f.reconciler.dropUnwanted()
		namespace, wait, found := f.nextStale()
		if !found {
			f.wake.Wait(ctx, f.reconciler.Clock, wait)
			continue
		}
		if err := f.relistOne(ctx, namespace); err != nil {
			log.FromContext(ctx).V(1).Info("namespace not listed", "kind", f.kind.index.Kind().String(), "namespace", namespace, "err", err.Error())
		}
		wake.Sleep(ctx, f.reconciler.Clock, relistPause)
	}
}

// findStale finds the namespaces that lack facts. Only the rows in the index show which: any list or event that was read
// before a change of rules may bring rows without facts.
func (f *listing) findStale(now time.Time) {
	lacking := map[string]time.Time{}
	for _, namespace := range f.kind.index.Lacking(f.listing.ID, layoutsOf(f.rules)) {
		lacking[namespace] = now
		if since, known := f.stale[namespace]; known {
			lacking[namespace] = since
		}
	}
	f.stale = lacking
}

// nextStale returns a namespace ("" for cluster-scoped objects) that may be listed now, or how long to wait for one.
// Recently listed namespaces come after all others, even if their rules change often. A namespace that was just listed is
// soon checked again, because a change of rules may have been in flight.
func (f *listing) nextStale() (namespace string, wait time.Duration, found bool) {
	f.reconciler.mu.Lock()
	defer f.reconciler.mu.Unlock()
	wait = lookEvery
	if f.kind.current != f {
		return "", wait, false
	}
	now := f.reconciler.Clock.Now()
	f.findStale(now)
	if len(f.listed) > 0 {
		wait = relistAgain
	}
	maps.DeleteFunc(f.listed, func(_ string, again time.Time) bool { return !now.Before(again.Add(relistLately)) })
	for name, since := range f.stale {
		again := f.listed[name]
		if now.Before(again) {
			wait = min(wait, again.Sub(now))
			continue
		}
		order := cmp.Or(again.Compare(f.listed[namespace]), since.Compare(f.stale[namespace]), strings.Compare(name, namespace))
		if !found || order < 0 {
			namespace, found = name, true
		}
	}
	return namespace, wait, found
}

func (f *listing) relistOne(ctx context.Context, namespace string) error {
	f.reconciler.mu.Lock()
	layout, began := f.rules.About(namespace).Layout, f.reconciler.Clock.Now()
	f.reconciler.mu.Unlock()
	defer func() {
		f.reconciler.mu.Lock()
		defer f.reconciler.mu.Unlock()
		ended := f.reconciler.Clock.Now()
		f.listed[namespace] = ended.Add(max(relistAgain, min(relistRest*ended.Sub(began), relistLater)))
	}()
	ctx, cancel := context.WithTimeout(ctx, relistTimeout)
	defer cancel()
	source, ok := f.source.(Relister)
	if !ok {
		return errors.New("this kind cannot be listed namespace by namespace")
	}
	return source.List(ctx, namespace, f.kind.index.Knows, func(rows []*index.FactRow) bool { return f.relay(namespace, layout, rows) })
}

// relay applies the rows of a namespace. It reports false, and drops them, if the rules of the namespace have changed
// again.
func (f *listing) relay(namespace string, layout *index.Columns, rows []*index.FactRow) bool {
	f.reconciler.mu.Lock()
	defer f.reconciler.mu.Unlock()
	if f.kind.current != f || f.rules.About(namespace).Layout != layout {
		return false
	}
	f.listing.Layouts = maps.Clone(f.listing.Layouts)
	f.listing.Layouts[namespace] = layout
	f.kind.index.ReplaceNamespace(f.listing, rows, f.reconciler.Clock.Now())
	f.reconciler.wake.Send()
	return true
}

// relistTimeout limits the list of one namespace.
const relistTimeout = time.Minute

// Replace implements Sink. A pending listing takes over here.
func (f *listing) Replace(rows []*index.FactRow) {
	f.reconciler.mu.Lock()
	defer f.reconciler.mu.Unlock()
	if f.kind.pending == f {
		f.kind.current.stop()
		f.kind.current, f.kind.pending = f, nil
	}
	if f.kind.current != f {
		return
	}
	f.lost = nil
	f.kind.index.Replace(f.listing, rows, f.reconciler.Clock.Now())
	f.wake.Send()
}

// Apply implements Sink.
func (f *listing) Apply(row *index.FactRow) {
	f.kind.index.Apply(f.listing.ID, row, f.reconciler.Clock.Now())
}

// Forget implements Sink.
func (f *listing) Forget(uid types.UID) {
	f.kind.index.Forget(f.listing.ID, uid, f.reconciler.Clock.Now())
}

// Lost implements Sink.
func (f *listing) Lost(why *SourceError) {
	f.reconciler.mu.Lock()
	defer f.reconciler.mu.Unlock()
	f.lost = why
	f.kind.index.MarkIncomplete(f.listing.ID)
}

// Undeletable implements Sink.
func (f *listing) Undeletable(why *SourceError) {
	f.reconciler.mu.Lock()
	defer f.reconciler.mu.Unlock()
	f.undeletable = why
}

// Unmarkable implements Sink.
func (f *listing) Unmarkable(why *SourceError) {
	f.reconciler.mu.Lock()
	defer f.reconciler.mu.Unlock()
	f.unmarkable = why
}
