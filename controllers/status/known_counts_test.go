// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestKnownCountsAreTheCountsOfAll: after any changes, a count that reads only what has changed is equal to one that reads
// everything. Only the namespaces team-0 and team-1 have enough objects for remembered counts.
func TestKnownCountsAreTheCountsOfAll(t *testing.T) {
	const namespaces = 4
	r := rand.New(rand.NewSource(1))
	known := map[string]policy.Namespace{}
	for i := range namespaces {
		known[fmt.Sprint("team-", i)] = policy.Namespace{}
	}
	e := policyset.CompiledSnapshot{Snapshot: policy.NewSnapshot(
		[]*policy.Policy{policyOf(v1alpha1.Enforce, rule("a"), rule("b"))}, known, policy.DefaultProtection())}
	at, versions := now, 0
	any := func(i int) *index.FactRow {
		versions++
		start := at.Add(time.Duration(r.Intn(600)-300) * time.Minute)
		facts := func() policy.Facts {
			return policy.Facts{Selected: r.Intn(9) > 0, Eligible: r.Intn(3) > 0, Start: start}
		}
		namespace := fmt.Sprint("team-", i%2)
		if i < 20 {
			namespace = fmt.Sprint("team-", 2+i%2)
		}
		return packed(policy.Subject{
			Namespace: namespace, Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i)), ResourceVersion: fmt.Sprint(versions), Created: start,
		}, facts(), facts())
	}
	var rows []*index.FactRow
	for i := range 300 {
		rows = append(rows, any(i))
	}
	x, counts, remembered := kindOf(e, at, rows...).Index, &status.Counts{}, 0
	for range 400 {
		uid := r.Intn(300)
		switch r.Intn(8) {
		case 0:
			x.Apply(1, any(uid), at)
		case 1:
			x.Forget(1, types.UID(fmt.Sprint(uid)), at)
		case 2:
			x.Claim(types.UID(fmt.Sprint(uid)), at)
		case 3:
			x.Release(types.UID(fmt.Sprint(uid)), at)
		case 4:
			if s, found := x.Subject(types.UID(fmt.Sprint(uid))); found {
				x.MarkGone(s, at)
			}
		case 5:
			e.Snapshot = policy.NewSnapshot(e.Snapshot.Policies(), known, policy.DefaultProtection())
			x.SetSnapshot(e.Snapshot, at)
		default:
			at = at.Add(time.Duration(r.Intn(20)) * time.Minute)
		}
		all := policy.NewStats(at)
		x.ScanAfter(all.AddAfter)
		got := counts.Count(e.Snapshot, x, at, time.Time{})
		if diff := cmp.Diff(all, got, cmpopts.IgnoreUnexported(policy.Stats{}), cmpopts.EquateEmpty()); diff != "" || !all.Changes().Equal(got.Changes()) {
			t.Fatalf("-want +got\n%s\nchanges at %v, want %v", diff, got.Changes(), all.Changes())
		}
		remembered = max(remembered, counts.Known(x))
	}
	expect.Equal(t, "namespaces with remembered counts", 2, remembered)
}

// TestKnownCountsEnd: when a window opens, the counts of all namespaces end, and so do those of an index that is gone. Objects above a
// capacity are due at the time of the count, which shows when that was.
func TestKnownCountsEnd(t *testing.T) {
	e := compiledOf(policyOf(v1alpha1.Enforce, rule("a", func(r *policy.Rule) {
		r.TTL, r.Capacity = policy.NeverTTL, policy.Capacity{Bounded: true}
	})))
	var rows []*index.FactRow
	for i := range 100 {
		rows = append(rows, row(fmt.Sprint(i), now.Add(-24*time.Hour)))
	}
	x, counts, opens := kindOf(e, now, rows...).Index, &status.Counts{}, now.Add(time.Minute)
	for _, at := range []struct{ count, of time.Time }{{now, now}, {opens.Add(-1), now}, {opens, opens}} {
		stats := counts.Count(e.Snapshot, x, at.count, opens)
		expect.Equal(t, "time of the count", at.of, stats.Policies["p"].NextDue)
	}
	expect.Equal(t, "remembered", 1, counts.Known(x))
	counts.Count(e.Snapshot, index.New(fixture.Jobs.GroupKind(), func() {}), now, time.Time{})
	expect.Equal(t, "remembered for an index that is gone", 0, counts.Known(x))
}
