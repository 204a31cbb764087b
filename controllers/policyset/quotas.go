// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
)

// quotasEvery is how often all ResourceQuotas are read while a rule uses them. Right before a deletion, those of its namespace
// are read live.
const quotasEvery = 15 * time.Second

// quotas holds how many objects the ResourceQuotas of each namespace allow, by resource.
type quotas struct {
	needed bool             // some rule uses them
	read   bool             // all were read once
	errs   map[string]error // why those of a namespace, "" for all, cannot be read
	wake   wake.Signal
	all    map[string]map[string]int64
	// The namespaces that were read, or could not be read, since the current list of all began, which may be older. It is nil
	// while no such list is in progress.
	readDuringList sets.Set[string]
	readDuringLast sets.Set[string] // those namespaces of the latest list
}

// in returns the quotas of a namespace; nil if they are unknown.
func (q *quotas) in(namespace string) map[string]int64 {
	if known := q.all[namespace]; known != nil || !q.read {
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
			err := l.readQuotas(ctx, "")
			if err != nil {
				log.FromContext(ctx).Info("capacity.percentOfQuota has no effect: ResourceQuotas cannot be read", "err", err.Error())
				l.forgetQuotas("")
			}
			l.setQuotaErr("", err)
			l.settle()
		}
		if !l.quotas.wake.Wait(ctx, l.Clock, quotasEvery) {
			return nil
		}
	}
}

// setQuotaErr records for the rules concerned why quotas of a namespace, "" for all, cannot be read; nil when they can be
// read. Changes that wait for a count keep waiting: an unknown quota does not count as a removed one.
func (l *Reconciler) setQuotaErr(namespace string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	had := len(l.quotas.errs) > 0
	switch {
	case err != nil && l.quotas.errs == nil:
		l.quotas.errs = map[string]error{namespace: err}
	case err != nil:
		l.quotas.errs[namespace] = err
	case namespace == "": // all were read, except those that have failed since the list began
		maps.DeleteFunc(l.quotas.errs, func(name string, _ error) bool { return !l.quotas.readDuringLast.Has(name) })
	default:
		delete(l.quotas.errs, namespace)
	}
	l.changes.others = l.changes.others || had != (len(l.quotas.errs) > 0)
}

// firstErr returns why quotas cannot be read; nil when they can be read.
func (q *quotas) firstErr() error {
	for _, namespace := range slices.Sorted(maps.Keys(q.errs)) {
		return q.errs[namespace]
	}
	return nil
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
	return needed && !l.quotas.read && len(l.quotas.errs) == 0, l.quotas.firstErr()
}

func (l *Reconciler) needsQuotas() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quotas.needed
}

// lacksQuotas reports whether a rule uses the quotas of a namespace and they are not fresh at a time.
func (l *Reconciler) lacksQuotas(namespace string, at time.Time) bool {
	l.live.mu.Lock()
	read := l.live.quotas[namespace]
	l.live.mu.Unlock()
	return !preflight.Fresh(at, read) && l.boundByQuotas(namespace)
}

// boundByQuotas reports whether a rule uses the quotas of a namespace.
func (l *Reconciler) boundByQuotas(namespace string) bool {
	return namespace != "" && l.needsQuotas() && l.current().BoundByQuota(namespace)
}

// readQuotasOf reads the quotas of a namespace live. If they cannot be read, they limit no capacity: the rules that use them
// keep objects, and other rules still delete.
func (l *Reconciler) readQuotasOf(ctx context.Context, namespace string) {
	err := l.readQuotas(ctx, namespace)
	l.setQuotaErr(namespace, err)
	if err != nil {
		l.forgetQuotas(namespace)
	}
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	maps.DeleteFunc(l.live.quotas, func(_ string, at time.Time) bool { return !l.fresh(at) })
	if l.live.quotas == nil {
		l.live.quotas = map[string]time.Time{}
	}
	l.live.quotas[namespace] = l.Clock.Now()
}

// current returns the snapshot that was last published.
func (l *Reconciler) current() *policy.Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.snapshot
}

// forgetQuotas makes the quotas of a namespace, "" for all, unknown.
func (l *Reconciler) forgetQuotas(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quotas.isRead(namespace)
	left := maps.Clone(l.quotas.all)
	maps.DeleteFunc(left, func(name string, _ map[string]int64) bool { return namespace == "" || name == namespace })
	l.useQuotas(left)
}

// readQuotas reads the quotas of one namespace, "" for all.
func (l *Reconciler) readQuotas(ctx context.Context, namespace string) error {
	path, read := "/api/v1/resourcequotas", l.read // no deletion waits for a list of all
	if namespace != "" {
		path, read = namespacesPath+"/"+namespace+"/resourcequotas", l.readSoon
	} else {
		defer l.quotas.list(&l.mu)()
	}
	list := &corev1.ResourceQuotaList{}
	if err := read(ctx, path, asJSON, list); err != nil {
		return err
	}
	if !isComplete(list) {
		return errPartial // the lowest of several quotas counts: the limit from a part would be too high, and the rest would change it
	}
	found := map[string]map[string]int64{}
	for i := range list.Items {
		add(found, &list.Items[i])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quotas.isRead(namespace)
	if namespace == "" {
		for name := range l.quotas.readDuringList {
			replace(found, name, l.quotas.all)
		}
		l.quotas.readDuringLast = l.quotas.readDuringList
	} else {
		others := maps.Clone(l.quotas.all)
		delete(others, namespace)
		maps.Copy(found, others)
	}
	if namespace == "" && !l.quotas.read {
		l.quotas.read = true
		l.changes.in("")
	}
	l.useQuotas(found)
	return nil
}

// list begins a list of all quotas, and returns the function that ends it.
func (q *quotas) list(mu sync.Locker) (end func()) {
	begin := func(meanwhile sets.Set[string]) {
		mu.Lock()
		defer mu.Unlock()
		q.readDuringList = meanwhile
	}
	begin(sets.New[string]())
	return func() { begin(nil) }
}

// isRead records that the quotas of one namespace were read.
func (q *quotas) isRead(namespace string) {
	if q.readDuringList != nil && namespace != "" {
		q.readDuringList.Insert(namespace)
	}
}

// replace sets an entry to that of another map, or deletes it if there is none.
func replace(all map[string]map[string]int64, name string, by map[string]map[string]int64) {
	if known, ok := by[name]; ok {
		all[name] = known
	} else {
		delete(all, name)
	}
}

// useQuotas replaces the known quotas, and records the namespaces where they have changed.
func (l *Reconciler) useQuotas(all map[string]map[string]int64) {
	for _, from := range []map[string]map[string]int64{l.quotas.all, all} {
		for namespace := range from {
			before, had := l.quotas.all[namespace]
			if now, has := all[namespace]; had != has || !maps.Equal(before, now) {
				l.changes.in(namespace)
			}
		}
	}
	l.quotas.all = all
}

func add(found map[string]map[string]int64, q *corev1.ResourceQuota) {
	if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
		return
	}
	if found[q.Namespace] == nil {
		found[q.Namespace] = map[string]int64{}
	}
	policy.AddQuota(found[q.Namespace], q.Spec.Hard)
}
