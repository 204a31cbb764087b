// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
)

// quotasEvery is how often all ResourceQuotas are read while a rule uses them. Right before a deletion, those of its namespace
// are read live.
const quotasEvery = 15 * time.Second

// quotas holds how many objects the ResourceQuotas of each namespace allow.
type quotas struct {
	needed bool // some rule uses them
	read   bool // all were read once
	wake   wake.Signal
	all    map[string]namespaceQuotas // by namespace; "" has only the error of the latest list of all
	reads  uint64                     // number of live reads
}

// namespaceQuotas is the latest answer about the quotas of one namespace.
type namespaceQuotas struct {
	limits map[string]int64 // by resource; nil if there are none, or if they cannot be read
	err    error            // why they cannot be read
	at     time.Time        // when a live read last returned; zero for never
	number uint64           // of that live read
}

// in returns the limits of a namespace; nil if they are unknown.
func (q *quotas) in(namespace string) map[string]int64 {
	if known := q.all[namespace].limits; known != nil || !q.read {
		return known
	}
	return map[string]int64{}
}

func byQuota(p *policy.Policy) bool {
	return slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.Capacity.ByQuota })
}

// followQuotas reads all ResourceQuotas periodically while rules use them. Without them, no rule has a capacity by quota.
func (l *Reconciler) followQuotas(ctx context.Context) error {
	for {
		if l.needsQuotas() {
			if err := l.readAllQuotas(ctx); err != nil {
				log.FromContext(ctx).Info("capacity.percentOfQuota has no effect: ResourceQuotas cannot be read", "err", err.Error())
			}
			l.settle()
		}
		if !l.quotas.wake.Wait(ctx, l.Clock, quotasEvery) {
			return nil
		}
	}
}

// firstErr returns why quotas cannot be read, by the first namespace; nil when they can be read.
func (q *quotas) firstErr() (err error) {
	first := ""
	for namespace, known := range q.all {
		if known.err != nil && (err == nil || namespace < first) {
			first, err = namespace, known.err
		}
	}
	return err
}

// needQuotas starts a read at once when a rule begins to use quotas. It returns whether they have not been read yet, and why
// they cannot be read.
func (l *Reconciler) needQuotas(needed bool) (unread bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if needed && !l.quotas.needed {
		l.quotas.wake.Send()
	}
	l.quotas.needed = needed
	err = l.quotas.firstErr()
	return needed && !l.quotas.read && err == nil, err
}

func (l *Reconciler) needsQuotas() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quotas.needed
}

// quotasRead returns when a live read of the quotas of a namespace last returned.
func (l *Reconciler) quotasRead(namespace string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quotas.all[namespace].at
}

// lacksQuotas reports whether a rule uses the quotas of a namespace and they are not fresh at a time.
func (l *Reconciler) lacksQuotas(namespace string, at time.Time) bool {
	return !preflight.Fresh(at, l.quotasRead(namespace)) && l.boundByQuotas(namespace)
}

// boundByQuotas reports whether a rule uses the quotas of a namespace.
func (l *Reconciler) boundByQuotas(namespace string) bool {
	return namespace != "" && l.needsQuotas() && l.current().BoundByQuota(namespace)
}

// current returns the snapshot that was last published.
func (l *Reconciler) current() *policy.Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.snapshot
}

// readQuotasOf reads the quotas of a namespace live. If they cannot be read, they limit no capacity: the rules that use them
// keep objects, and other rules still delete.
func (l *Reconciler) readQuotasOf(ctx context.Context, namespace string) {
	found, err := l.listQuotas(ctx, l.readSoon, namespacesPath+"/"+namespace+"/resourcequotas")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quotas.reads++
	all := map[string]namespaceQuotas{}
	maps.Copy(all, l.quotas.all)
	all[namespace] = namespaceQuotas{limits: found[namespace], err: err, at: l.Clock.Now(), number: l.quotas.reads}
	l.useQuotas(all)
}

// readAllQuotas reads the quotas of all namespaces. It does not replace the results of live reads that returned since it began:
// the list may be older.
func (l *Reconciler) readAllQuotas(ctx context.Context) error {
	l.mu.Lock()
	began := l.quotas.reads
	l.mu.Unlock()
	found, err := l.listQuotas(ctx, l.read, "/api/v1/resourcequotas") // may take long: no deletion waits for it
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]namespaceQuotas{"": {err: err}}
	for namespace, limits := range found {
		all[namespace] = namespaceQuotas{limits: limits}
	}
	for namespace, known := range l.quotas.all {
		switch {
		case known.number > began:
			all[namespace] = known
		case l.fresh(known.at): // it stays fresh for deletions
			all[namespace] = namespaceQuotas{limits: found[namespace], at: known.at}
		}
	}
	if err == nil && !l.quotas.read {
		l.quotas.read = true
		l.changes.in("")
	}
	l.useQuotas(all)
	return err
}

// listQuotas returns the limits of a list of ResourceQuotas by namespace.
func (l *Reconciler) listQuotas(ctx context.Context, read func(ctx context.Context, path, accept string, into any) error, path string) (map[string]map[string]int64, error) {
	list := &corev1.ResourceQuotaList{}
	if err := read(ctx, path, asJSON, list); err != nil {
		return nil, err
	}
	if !isComplete(list) {
		return nil, errPartial // the lowest of several quotas counts: the limit from a part would be too high, and the rest would change it
	}
	found := map[string]map[string]int64{}
	for _, q := range list.Items {
		if len(q.Spec.Scopes) == 0 && q.Spec.ScopeSelector == nil {
			found[q.Namespace] = policy.AddQuota(found[q.Namespace], q.Spec.Hard)
		}
	}
	return found, nil
}

// useQuotas replaces the known quotas, and records the namespaces where they have changed. Changes that wait for a count keep
// waiting while quotas cannot be read: an unknown quota does not count as a removed one.
func (l *Reconciler) useQuotas(all map[string]namespaceQuotas) {
	for _, from := range []map[string]namespaceQuotas{l.quotas.all, all} {
		for namespace := range from {
			before, now := l.quotas.all[namespace].limits, all[namespace].limits
			if (before == nil) != (now == nil) || !maps.Equal(before, now) {
				l.changes.in(namespace)
			}
		}
	}
	failed := l.quotas.firstErr() != nil
	l.quotas.all = all
	l.changes.others = l.changes.others || failed != (l.quotas.firstErr() != nil)
}
