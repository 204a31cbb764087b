// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/policy"
)

// lead is called once the ledgers are open. Listings from before that may show objects that the previous leader has deleted and
// counted since, so they are synchronized first: see package ledger.
func (r *Reconciler) lead() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leads = true
	for _, w := range r.kinds {
		for _, f := range []*listing{w.current, w.pending} {
			if f != nil {
				f.early = true
				r.tasks.Go(f.synchronize)
			}
		}
	}
}

// synchronize waits until the listing has all changes from before the ledgers were opened.
func (f *listing) synchronize() {
	source, ok := f.source.(Synchronizer)
	for ok && f.ctx.Err() == nil {
		if err := source.Synchronize(f.ctx); err != nil {
			log.FromContext(f.ctx).V(1).Info("watch not synchronized yet", "kind", f.kind.index.Kind().String(), "err", err.Error())
			wake.Sleep(f.ctx, f.reconciler.Clock, behindPause)
			continue
		}
		f.reconciler.mu.Lock()
		defer f.reconciler.mu.Unlock()
		f.early = false
		return
	}
}

// ensureReadSinceOpen reports whether the subject of an intent was read after the ledgers were opened. If not, it reads the subject. If
// that fails, or another deletion is expected now, the subject is retried.
func (p *pipeline) ensureReadSinceOpen(ctx context.Context, it item, i policy.Intent) bool {
	p.reconciler.mu.Lock()
	early := p.kind.current != nil && p.kind.current.early
	p.reconciler.mu.Unlock()
	if !early {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := p.reconciler.reread(ctx, p.kind, i.Subject); err != nil {
		p.retrySoon(ctx, it, fmt.Errorf("%w; check the API server", err))
		return false
	}
	j, _ := p.kind.index.Peek(it.uid, p.reconciler.Clock.Now())
	if j.Expected.Rule == nil || j.Expected.Subject.ResourceVersion != i.Subject.ResourceVersion {
		p.retry(it, 0)
		return false
	}
	return true
}
