package policies

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
)

// quotasEvery is how often ResourceQuotas are read while a rule asks for them. Right before a deletion those of the
// namespace are read live.
const quotasEvery = 15 * time.Second

// quotas is how many objects the ResourceQuotas of each namespace allow, by resource.
type quotas struct {
	needed bool // some rule asks for them
	read   bool // all have been read
	all    map[string]map[string]int64
}

// in is what is known of a namespace; nil while nothing is.
func (q *quotas) in(namespace string) map[string]int64 {
	if known := q.all[namespace]; known != nil || !q.read {
		return known
	}
	return map[string]int64{}
}

func byQuota(p *policy.Policy) bool {
	return slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.Capacity.ByQuota })
}

// followQuotas reads all ResourceQuotas again and again, while they are needed. Without them no rule has a capacity.
func (l *Loop) followQuotas(ctx context.Context) error {
	for {
		if l.needsQuotas() {
			if err := l.readQuotas(ctx, ""); err != nil {
				log.FromContext(ctx).Info("percentOfQuota does not count: ResourceQuotas cannot be read", "err", err.Error())
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.Clock.After(quotasEvery):
		}
	}
}

func (l *Loop) needsQuotas() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quotas.needed
}

// checkQuotas reads the quotas of a namespace live, if any rule asks for them.
func (l *Loop) checkQuotas(ctx context.Context, namespace string) error {
	if namespace == "" || !l.needsQuotas() || l.fresh(l.live.quotas[namespace]) {
		return nil
	}
	maps.DeleteFunc(l.live.quotas, func(_ string, at time.Time) bool { return !l.fresh(at) })
	if err := l.readQuotas(ctx, namespace); err != nil {
		return fmt.Errorf("read quotas of %s: %w", namespace, err)
	}
	if l.live.quotas == nil {
		l.live.quotas = map[string]time.Time{}
	}
	l.live.quotas[namespace] = l.Clock.Now()
	return nil
}

// readQuotas reads the quotas of one namespace, "" for all, and puts them in force.
func (l *Loop) readQuotas(ctx context.Context, namespace string) error {
	path := "/api/v1/resourcequotas"
	if namespace != "" {
		path = namespacesPath + "/" + namespace + "/resourcequotas"
	}
	list := &corev1.ResourceQuotaList{}
	if err := l.readJSON(ctx, path, list); err != nil {
		return err
	}
	found := map[string]map[string]int64{}
	for i := range list.Items {
		add(found, &list.Items[i])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if namespace != "" {
		others := maps.Clone(l.quotas.all)
		delete(others, namespace)
		maps.Copy(found, others)
	} else {
		l.quotas.read = true
	}
	if !maps.EqualFunc(l.quotas.all, found, func(a, b map[string]int64) bool { return maps.Equal(a, b) }) {
		l.quotas.all = found
		l.publish()
	}
	return nil
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
