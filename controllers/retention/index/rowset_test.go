// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// TestRowSetEqualsAMap adds, replaces and removes rows at random. Every step finds the same rows as in a map, also while the set grows.
func TestRowSetEqualsAMap(t *testing.T) {
	for seed := range uint64(50) {
		chance := rand.New(rand.NewPCG(seed, 0))
		set, want := newRowSet(chance.IntN(20)), map[types.UID]*FactRow{}
		names := 1 + chance.IntN(200)
		for step := range 2_000 {
			uid := types.UID(fmt.Sprintf("uid-%d", chance.IntN(names)))
			if grows := step/500%2 == 0; chance.IntN(4) == 0 != grows {
				row := NewFactRow(policy.Subject{UID: uid}, noColumns)
				set.put(row)
				want[uid] = row
			} else {
				set.remove(uid)
				delete(want, uid)
			}
			if got := set.get(uid); got != want[uid] || set.count != len(want) {
				t.Fatalf("seed %d, step %d: %s is %v, want %v; %d rows, want %d", seed, step, uid, got, want[uid], set.count, len(want))
			}
		}
		found := 0
		for row := range set.all {
			if found++; want[row.uid()] != row || set.get(row.uid()) != row {
				t.Fatalf("seed %d: the set has %s, or does not find it", seed, row.uid())
			}
		}
		if found != len(want) {
			t.Fatalf("seed %d: %d rows, want %d", seed, found, len(want))
		}
	}
}
