// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// teams stores a policy without a status in each of n namespaces.
func teams(w *harness, n int) (all []*policy.Policy) {
	for i := range n {
		all = append(all, team(w, fmt.Sprintf("team-%03d", i), v1alpha1.Enforce, 0))
	}
	return all
}

// TestNewPoliciesDelayNoEdit: the status shows an edit before the statuses of new policies have been read, and the next
// edit before all of them have been read.
func TestNewPoliciesDelayNoEdit(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		edited := team(w, "z", v1alpha1.DryRun, 0)
		w.Use(compiledOf(edited))
		bubble.Pass(time.Minute)
		w.set(func() { w.slowReads = 10 * time.Second })
		next := *edited
		next.Generation++
		fresh := teams(w, 60)
		all := append(fresh, &next)
		w.Use(compiledOf(all...))
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "generation in status", next.Generation, w.statusOf("z/r").ObservedGeneration)
		later := next
		later.Generation++
		all = append(fresh, &later)
		w.Use(compiledOf(all...))
		bubble.Pass(30 * time.Second)
		expect.Equal(t, "later generation in status", later.Generation, w.statusOf("z/r").ObservedGeneration)
		w.set(func() { w.slowReads = 100 * time.Millisecond })
		bubble.Pass(time.Minute)
		for _, p := range all {
			expect.Equal(t, p.Name+" in status", p.Generation, w.statusOf(p.Name).ObservedGeneration)
		}
	})
}

// TestStatusOfAnEditIsWrittenBeforeOthers: the status shows an edit before all other statuses are written, which takes eight seconds.
func TestStatusOfAnEditIsWrittenBeforeOthers(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		w.slow = func(string) time.Duration { return 400 * time.Millisecond }
		all := teams(w, 320)
		w.Use(compiledOf(all...))
		bubble.Pass(time.Minute)
		w.set(func() { w.preflightErr = errors.New("clock skew") })
		bubble.Pass(2 * time.Second)
		edited := *all[319]
		edited.Generation++
		w.Use(compiledOf(append(all[:319:319], &edited)...))
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "generation in status", edited.Generation, w.statusOf(edited.Name).ObservedGeneration)
	})
}

// TestCountIsWrittenBeforeOtherStatuses: deletions wait for the status with the count of a policy, but not for the statuses of 400 others
// whose messages change all the time.
func TestCountIsWrittenBeforeOtherStatuses(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		all := teams(w, 400)
		for i, p := range all { // they share the lanes of ClusterRetentionPolicies
			p.Namespace, p.Name = "", fmt.Sprintf("p-%03d", i)
			w.store(p, noStatus)
		}
		waits := gated(nil)
		w.store(waits, noStatus)
		w.set(func() { w.slow = func(string) time.Duration { return 400 * time.Millisecond } })
		w.Use(compiledOf(append(all, waits)...))
		bubble.Pass(time.Minute)
		w.set(func() { w.previewed = nil })
		edited := gated(everywhere) // another policy was edited
		e := compiledOf(append(all, edited)...)
		w.set(func() { w.kinds, w.preflightErr = []retention.KindState{kindOf(e, w.began)}, errors.New("clock skew") })
		w.Use(e)
		bubble.Pass(3 * time.Second)
		w.set(func() {
			expect.Equal(t, "counted", true, slices.ContainsFunc(w.previewed, func(c policyset.Count) bool { return c.Policy == waits.UID }))
		})
	})
}

// TestSlowWritesOfClusterRetentionPoliciesGoOn: on a busy machine, every write takes longer than slowWrite, and preparing 200
// statuses takes two seconds.
func TestSlowWritesOfClusterRetentionPoliciesGoOn(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.Warnings = func(string) []policy.Problem { time.Sleep(10 * time.Millisecond); return nil }
	}, func(t *testing.T, w *harness) {
		w.slow = func(string) time.Duration { return 600 * time.Millisecond }
		var all []*policy.Policy
		for i := range 200 {
			p := policyOf(v1alpha1.DryRun, rule("a"))
			p.Name, p.UID = fmt.Sprintf("p-%03d", i), types.UID(fmt.Sprint("uid-", i))
			w.store(p, noStatus)
			all = append(all, p)
		}
		w.Use(compiledOf(all...))
		bubble.Pass(30 * time.Second)
		for _, p := range all {
			expect.Equal(t, "generation of "+p.Name, p.Generation, w.statusOf(p.Name).ObservedGeneration)
		}
	})
}
