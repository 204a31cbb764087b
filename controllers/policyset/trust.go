// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// trust says which marks of a rule count: those that are not older than since or, in the namespaces of in, not older than the
// time there. With the zero value, all marks count.
type trust struct {
	since time.Time
	in    map[string]time.Time
	blind bool // no objects are watched for the rule: it is invalid, or its ServiceAccount lacks a permission
}

// trusts sets which marks of a rule count, given the permissions of its ServiceAccount. While no objects are watched for the
// rule, no process sees whether they are used. When the watch starts, earlier marks no longer count.
func (l *Reconciler) trusts(own *policy.Rule, err error, known bool) {
	t, marks := l.marking[own.Mark]
	switch {
	case !marks:
		return
	case known && own.Unwatched:
		t.blind = true
	case t.blind && err == nil && known:
		t = trust{since: l.Clock.Now()}
	}
	l.marking[own.Mark] = t
	own.MarksSince, own.MarksSinceIn = t.since, t.in
}

// noteMarks sets which marks of the rules of a policy count. It decides once for each rule that is enforced or suspended, as
// long as the rule and this process exist: the index observes all later changes.
func (l *Reconciler) noteMarks(e, before *entry, status v1alpha1.RetentionPolicyStatus) {
	if l.marking == nil {
		l.marking = map[string]trust{}
	}
	kept := map[string]bool{}
	for _, r := range e.policy.Rules {
		if r.Mark == "" {
			continue
		}
		kept[r.Mark] = true
		known, ok := l.marking[r.Mark]
		if !ok && (r.Mode == v1alpha1.Enforce || r.Mode == v1alpha1.Suspend) {
			known = trust{since: l.Clock.Now()} // the rule is enforced from now on: no leader has maintained its marks before
			if !l.complete {
				known = trustOf(r, e.generation, status, l.Clock.Now())
			}
			l.marking[r.Mark] = known
		}
		r.MarksSince, r.MarksSinceIn = known.since, known.in
	}
	if before == nil {
		return
	}
	for _, r := range before.policy.Rules {
		if !kept[r.Mark] {
			delete(l.marking, r.Mark)
		}
	}
}

// forgetMarks drops what is known of the marks of rules that no longer exist.
func (l *Reconciler) forgetMarks(entries []*entry) {
	kept := map[string]bool{}
	for _, e := range entries {
		for _, r := range e.policy.Rules {
			kept[r.Mark] = true
		}
	}
	maps.DeleteFunc(l.marking, func(mark string, _ trust) bool { return !kept[mark] })
}

// noteUnasked records the rules that are invalid because another rule reads their kind at another version.
func (l *Reconciler) noteUnasked(snapshot *policy.Snapshot) {
	for _, p := range snapshot.Policies() {
		for _, r := range p.Rules {
			if t, marks := l.marking[r.Mark]; marks && r.Invalid() {
				t.blind = true
				l.marking[r.Mark] = t
			}
		}
	}
}

// trustOf returns which marks of a rule count for a new leader, by the status that the previous leader has written. Marks from
// before now do not count in namespaces of distrustedMarks. They count nowhere if the policy was a dry run (also because of
// --dry-run) or has changed since then, as the change may concern the rule.
func trustOf(r *policy.Rule, generation int64, status v1alpha1.RetentionPolicyStatus, now time.Time) (t trust) {
	enforcing := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionEnforcing)
	dryRun := status.ObservedGeneration != 0 && (enforcing == nil || enforcing.Reason == string(v1alpha1.DryRun))
	var distrusted []string
	for i := range status.Rules {
		if status.Rules[i].Name == r.ID.Rule {
			distrusted = status.Rules[i].DistrustedMarks
		}
	}
	changed := status.ObservedGeneration != 0 && status.ObservedGeneration != generation
	if dryRun || changed || slices.Contains(distrusted, v1alpha1.AllNamespaces) {
		return trust{since: now}
	}
	for _, namespace := range distrusted {
		if t.in == nil {
			t.in = map[string]time.Time{}
		}
		t.in[namespace] = now
	}
	return t
}

// statusesTimeout limits the read of all policies with their statuses.
const statusesTimeout = 30 * time.Second

// readStatuses reads the approvals and the statuses of all policies live: the cache of a new process may be older than the last
// status that the previous leader has written.
func (l *Reconciler) readStatuses(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, statusesTimeout)
	defer cancel()
	statuses, approved := map[types.UID]v1alpha1.RetentionPolicyStatus{}, []sets.Set[types.UID](nil)
	for _, collection := range l.collections() {
		listed, err := l.listApprovals(ctx, collection)
		if err != nil {
			return err
		}
		approved = append(approved, listed)
		list := &unstructured.UnstructuredList{}
		if err := l.read(ctx, collection.list(), asJSON, &list.Object); err != nil {
			return fmt.Errorf("read the status of all %s: %w", collection.plural, err)
		}
		items, ok := list.Object["items"].([]any)
		if !ok || !isComplete(list) {
			return fmt.Errorf("read the status of all %s: %w", collection.plural, errPartial)
		}
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				u := &unstructured.Unstructured{Object: object}
				statuses[u.GetUID()] = statusOf(u)
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statuses = statuses
	for i, collection := range l.collections() {
		collection.approvals.listed = approved[i]
	}
	return nil
}
