// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	getPause  = 30 * time.Second // how long requests for single objects are used after a listing was not worth it
	aheadMost = 50_000           // receipts of objects that nothing waits for yet, above which a listing records no more of them
	pageCost  = 10               // requests for single objects that load the API server as much as a page of a listing
)

// sweep reads the objects of a group from a listing of their kind in their namespace, page by page, and records them. In passing it
// records other objects of the same settings whose deletion is expected soon: so a backlog costs one request for each page and not for
// each object.
func (w *worker) sweep(ctx context.Context, key groupKey, l *lease, waiting []*request) {
	err := w.mayRead(key)
	q, complete, skipped := Query{Kind: key.kind, Namespace: key.namespace}, false, false
	left := sets.New(waiting...) // the listing has had the others: those that fail are retried later
	missing := func() []*request { return w.stillWaiting(left.UnsortedList()) }
	for err == nil && !complete {
		var page Page
		found := &found{worker: w, key: key, lease: l}
		page, err = w.list(ctx, l, q, found.visit)
		if err != nil {
			w.again(found.requests()...)
			l.drop(found.items...)
			break
		}
		left.Delete(found.requests()...)
		w.recordAll(ctx, key, l, found.items)
		q.Continue, complete, skipped = page.Continue, page.Continue == "", skipped || found.skipped
		if !complete && !worthwhile(page, len(missing()), found) {
			w.getInstead(key)
			return
		}
	}
	switch {
	case ctx.Err() != nil, apierrors.IsResourceExpired(err): // the pages took too long: the next listing continues with what is left
	case err != nil:
		log.FromContext(ctx).V(1).Info("objects not listed for the archive", "kind", key.kind.Kind, "namespace", key.namespace, "err", err.Error())
		w.getInstead(key)
		w.retry(fmt.Errorf("list %s: %w", key.kind.Kind, err), missing()...)
	default:
		if !skipped {
			w.changed(retention.Changed, missing()...)
		}
	}
}

// worthwhile reports whether to read the next page of a listing: it must not be cheaper to request the objects that wait one by one.
func worthwhile(page Page, waiting int, f *found) bool {
	if len(f.items) > f.seen/10 {
		return true
	}
	pages := page.Remaining/int64(max(1, f.seen)) + 1
	return pages*pageCost <= int64(waiting)
}

// stillWaiting returns those of some requests that nothing has read yet.
func (w *worker) stillWaiting(all []*request) (left []*request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range all {
		if w.requests[r.target.UID] == r && !r.underway && !r.isStale() {
			left = append(left, r)
		}
	}
	return left
}

// getInstead has single requests read the objects of a group for a while.
func (w *worker) getInstead(key groupKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.groups[key]; g != nil {
		g.getUntil = w.manager.Clock.Now().Add(getPause)
	}
}

// found is what one page of a listing has for a worker.
type found struct {
	worker *worker
	key    groupKey
	lease  *lease
	items  []*item
	seen   int // objects of the page

	skipped bool // there was no memory for all
}

// visit takes an object of the page. Without memory it takes only the first that is needed: another request reads the others.
func (f *found) visit(_ schema.GroupVersionKind, data []byte) error {
	id, err := identify(data)
	if err != nil {
		return err
	}
	if f.seen++; f.skipped {
		return nil
	}
	r := f.worker.claim(f.key, id)
	if r == nil {
		return nil
	}
	i := &item{request: r}
	i.hold(data) // the Builder adds apiVersion and kind
	if n := int64(cap(i.object)); f.lease.take(i, n) != nil {
		if len(f.items) > 0 {
			i.clear()
			f.worker.again(r)
			f.skipped = true
			return nil
		}
		f.lease.force(i, n)
	}
	f.items = append(f.items, i)
	return nil
}

func (f *found) requests() (all []*request) {
	for _, i := range f.items {
		all = append(all, i.request)
	}
	return all
}

// claim returns the request for an object of a listing: one that waits, or a new one if the deletion of the object is expected. It
// returns nil if the object is not needed.
func (w *worker) claim(key groupKey, id identity) *request {
	w.mu.Lock()
	r, ahead := w.requests[id.Metadata.UID], len(w.receipts.by) < aheadMost
	switch {
	case r != nil && (r.underway || r.isStale() || r.key != key || r.after.After(w.manager.Clock.Now())):
		r, ahead = nil, false
	case r != nil && id.is(r):
		r.underway, ahead = true, false
	case r != nil: // another version: either the request or the listing is older
		r, ahead = nil, false
	}
	w.mu.Unlock()
	if !ahead || w.manager.Expected == nil {
		return r
	}
	i, ok := w.manager.Expected(key.kind, id.Metadata.UID)
	if !ok || i.Owner != nil || i.Rule.Owner || i.Rule.Kind != key.kind || !i.Rule.Archive.Equal(key.settings) {
		return nil
	}
	return w.expect(i, id)
}

// expect makes a request for an object whose deletion is expected and that nothing waits for yet.
func (w *worker) expect(i policy.Intent, id identity) *request {
	t := policy.TargetOf(i.Rule.Kind, i.Subject)
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, recorded := w.receipts.of(t); recorded || w.requests[t.UID] != nil || w.mayArchive(i.Rule) != nil {
		return nil
	}
	r := &request{key: w.keyOf(t, i.Rule.Archive), target: t, intent: i, underway: true}
	if _, why := w.history.next(t.UID, w.manager.Clock.Now()); !id.is(r) || why != nil {
		return nil
	}
	w.requests[t.UID] = r
	return r
}
