// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
)

// TestDoubtNamesTheFirst: the doubt names the first unreadable referrer by name, after any sequence of changes.
func TestDoubtNamesTheFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("Pod", configMap)
	x.Replace("Pod", nil)
	unread := map[string]bool{}
	for range 2000 {
		name := fmt.Sprintf("web-%02d", random.IntN(20))
		pod := references.Referrer{UID: types.UID(name), Name: references.Name{Kind: "Pod", Namespace: "shop", Name: name}}
		switch delete(unread, name); random.IntN(3) {
		case 0:
			x.Remove("Pod", pod.UID)
		case 1:
			x.Put("Pod", pod)
		default:
			unread[name], pod.Err = true, errUnread
			x.Put("Pod", pod)
		}
		want := ""
		for _, first := range slices.Sorted(maps.Keys(unread)) {
			want = "some references to ConfigMap objects are unknown: Pod: shop/" + first + ": no such field"
			break
		}
		if got := x.Of(targets[0]).Doubt; (got != nil || want != "") && fmt.Sprint(got) != want {
			t.Fatalf("%v, want %s", got, want)
		}
	}
}

// atMost fails the test if do takes longer than d. With quadratic algorithms it took minutes, now it takes a second.
func atMost(t *testing.T, d time.Duration, do func()) {
	t.Helper()
	begun := time.Now()
	if do(); time.Since(begun) > d {
		t.Fatalf("took %s", time.Since(begun))
	}
}

// TestAskingInDoubtIsCheap: a lookup does not search all referrers for the unreadable one.
func TestAskingInDoubtIsCheap(t *testing.T) {
	all := manyReferrers()
	all[manyPods/2].Err = errUnread
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("Pod", configMap)
	x.Replace("Pod", all)
	atMost(t, time.Minute, func() {
		for i := range 200_000 {
			if x.Of(all[i%manyPods].Targets[0]).Doubt == nil {
				t.Fatal("Doubt is nil")
			}
		}
	})
}

// TestIndexOfReferrerWithManyTargets: a referrer with very many targets has exactly these references.
func TestIndexOfReferrerWithManyTargets(t *testing.T) {
	const n = 200_000
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("Pod", configMap)
	x.Replace("Pod", nil)
	all := manyTargets(0, n)
	for _, step := range []struct {
		when     string
		from, to int
	}{{"all", 0, n}, {"without the first quarter", n / 4, n}, {"the first half", 0, n / 2}, {"none", 0, 0}} {
		wanted := slices.Clone(all[step.from:step.to])
		slices.Reverse(wanted)
		atMost(t, time.Minute, func() { x.Put("Pod", references.Referrer{UID: "1", Targets: append(wanted, wanted...)}) })
		if got := x.Len(configMap); got != step.to-step.from {
			t.Errorf("%s: %d references", step.when, got)
		}
		for i := 0; i < n; i += 999 {
			want := 0
			if step.from <= i && i < step.to {
				want = 1
			}
			if got := x.Of(all[i]).Count; got != want {
				t.Errorf("%s: %d references to %s, want %d", step.when, got, all[i].Name, want)
			}
		}
	}
}
