// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// dueIn returns due Jobs, by their number in each namespace.
func dueIn(namespaces map[string]int) (rows []*index.FactRow) {
	for namespace, n := range namespaces {
		for i := range n {
			rows = append(rows, packed(policy.Subject{
				Namespace: namespace, Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(namespace, i)), ResourceVersion: "1", Created: now.Add(-2 * time.Hour),
			}, yes(now.Add(-2*time.Hour)), policy.Facts{}))
		}
	}
	return rows
}

// TestApprovalGateOpensByNamespace: namespaces are counted one by one, and a shown approval stays unchanged.
func TestApprovalGateOpensByNamespace(t *testing.T) {
	later := now.Add(time.Minute)
	changed := func(scope policy.ApprovalScope, namespaces ...string) policy.ApprovalScope {
		return scope.Wider(sets.New(namespaces...), later)
	}
	ab := policy.ApprovalScope(nil).Wider(sets.New("team-a", "team-b"), now)
	shown := func(due int64) *v1alpha1.PendingApproval {
		return &v1alpha1.PendingApproval{Hash: gated(nil).ScopeHash([]string{"team-a", "team-b"}, now), Namespaces: []string{"team-a", "team-b"}, SinceTime: &metav1.MicroTime{Time: now}, Due: v1alpha1.ApprovalCounts{Now: due, Week: due}, Matched: due}
	}
	tests := map[string]struct {
		scope  policy.ApprovalScope
		before *v1alpha1.PendingApproval
		due    map[string]int
		opened []string
		hash   string // hash of the pending approval; empty for none
		counts int64
	}{
		"few in all":                           {ab, nil, map[string]int{"team-a": 2, "team-b": 3}, []string{"team-a", "team-b"}, "", 0},
		"many in one":                          {ab, nil, map[string]int{"team-a": 20, "team-b": 3}, []string{"team-b"}, gated(nil).ScopeHash([]string{"team-a"}, now), 20},
		"many in both":                         {ab, nil, map[string]int{"team-a": 20, "team-b": 30}, nil, shown(0).Hash, 50},
		"none in one":                          {ab, nil, map[string]int{"team-b": 30}, []string{"team-a"}, gated(nil).ScopeHash([]string{"team-b"}, now), 30},
		"shown before":                         {ab, shown(50), map[string]int{"team-a": 20, "team-b": 30}, nil, shown(0).Hash, 50},
		"shown, and fewer now":                 {ab, shown(50), map[string]int{"team-a": 2, "team-b": 3}, []string{"team-a", "team-b"}, "", 0},
		"shown, and one changes":               {changed(ab, "team-a"), shown(50), map[string]int{"team-a": 2, "team-b": 30}, nil, shown(0).Hash, 30},
		"shown, and one changes, with none":    {changed(ab, "team-a"), shown(50), map[string]int{"team-b": 30}, nil, shown(0).Hash, 30},
		"shown, and one of two changes":        {changed(ab, "team-a"), shown(8), map[string]int{"team-a": 4, "team-b": 4}, nil, shown(0).Hash, 4},
		"shown, one of two changes, fewer now": {changed(ab, "team-a"), shown(8), map[string]int{"team-a": 2, "team-b": 3}, []string{"team-a", "team-b"}, "", 0},
		"few in each, and many in both":        {ab, nil, map[string]int{"team-a": 4, "team-b": 4}, nil, shown(0).Hash, 8},
		"shown, and one changes, with many":    {changed(ab, "team-a"), shown(50), map[string]int{"team-a": 20, "team-b": 30}, nil, shown(0).Hash, 30},
		"shown, and all change":                {changed(ab, "team-a", "team-b"), shown(50), map[string]int{"team-a": 20, "team-b": 30}, nil, gated(nil).ScopeHash([]string{"team-a", "team-b"}, later), 50},
		"shown, and one is added":              {changed(ab, "team-c"), shown(50), map[string]int{"team-a": 20, "team-b": 30, "team-c": 3}, []string{"team-c"}, shown(0).Hash, 50},
		"shown, and more are added one by one": {changed(ab, "team-c", "team-d"), shown(50), map[string]int{"team-a": 20, "team-b": 30, "team-c": 3, "team-d": 4}, nil, shown(0).Hash, 50},
		"shown for another version":            {ab, &v1alpha1.PendingApproval{Hash: "x", Namespaces: []string{"team-a"}, SinceTime: &metav1.MicroTime{Time: now}}, map[string]int{"team-a": 20, "team-b": 30}, nil, shown(0).Hash, 50},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := gated(&policy.ApprovalGate{Hash: "g", Namespaces: test.scope})
			known := map[string]policy.Namespace{"team-a": {}, "team-b": {}, "team-c": {}, "team-d": {}}
			e := policyset.CompiledSnapshot{Snapshot: policy.NewSnapshot([]*policy.Policy{p}, known, policy.DefaultProtection())}
			view := viewOf(e, nil, dueIn(test.due)...)
			view.Before.PendingApproval = test.before
			expect.Equal(t, "opened", sets.List(sets.New(test.opened...)), view.Opened(p).Names(), cmpopts.EquateEmpty())
			pending := view.Status(p).PendingApproval
			if pending == nil {
				pending = &v1alpha1.PendingApproval{}
			}
			expect.Equal(t, "hash", test.hash, pending.Hash)
			expect.Equal(t, "counts", test.counts, pending.Due.Week)
		})
	}
}
