// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestStatusOfAnotherLeaderIsNotOverwritten: the next report reads it.
func TestStatusOfAnotherLeaderIsNotOverwritten(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		bubble.Pass(5 * time.Second)
		w.set(func() {
			w.server["p"].Status.Deleted, w.server["p"].Status.Rules[0].DistrustedMarks = 7, []string{"team-b"}
			changed(w.server["p"])
			w.preflightErr = errors.New("clock skew")
			w.patches, w.writes = 0, nil
		})
		w.removed(1, rule("a"))
		for w.tried() == 0 {
			bubble.Pass(time.Second)
		}
		expect.Equal(t, "deleted, by the other leader", int64(7), w.status().Deleted)
		expect.Equal(t, "distrusted by the other leader", []string{"team-b"}, w.status().Rules[0].DistrustedMarks)
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "Ready", "False Stale", condition(w.status(), v1alpha1.ConditionReady))
		expect.Equal(t, "requests", 2, w.tried())
	})
}

func (w *harness) tried() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.patches
}

// TestStatusIsWrittenAlthoughThePolicyChanged: a changed spec or label does not delay the status.
func TestStatusIsWrittenAlthoughThePolicyChanged(t *testing.T) {
	betweenSeconds := func(w *harness) {
		bubble.Pass(300 * time.Millisecond) // the API stores whole seconds
		listed()(w)
	}
	inBubble(t, betweenSeconds, func(t *testing.T, w *harness) {
		bubble.Pass(5 * time.Second)
		w.set(func() {
			changed(w.server["p"])
			w.preflightErr = errors.New("clock skew")
			w.patches, w.writes = 0, nil
		})
		for w.tried() == 0 {
			bubble.Pass(time.Second)
		}
		expect.Equal(t, "Ready", "False Stale", condition(w.status(), v1alpha1.ConditionReady))
		expect.Equal(t, "requests", 2, w.tried())
	})
}

// TestStatusOfAnEditedPolicyNeedsOneRequest: the cache has the resourceVersion of the edit. A cache with another status, or another
// policy of that name, is not used.
func TestStatusOfAnEditedPolicyNeedsOneRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(cached *v1alpha1.ClusterRetentionPolicy)
		requests int
	}{
		"the edited policy": {func(*v1alpha1.ClusterRetentionPolicy) {}, 1},
		"an older status":   {func(cached *v1alpha1.ClusterRetentionPolicy) { cached.Status.Matched++ }, 2},
		"another policy":    {func(cached *v1alpha1.ClusterRetentionPolicy) { cached.UID = "another" }, 2},
	} {
		runInBubble(t, name, listed(), func(t *testing.T, w *harness) {
			bubble.Pass(5 * time.Second)
			w.set(func() {
				changed(w.server["p"])
				w.server["p"].Generation++
				cached := w.server["p"].DeepCopy()
				tc.change(cached)
				w.Cache, w.patches = policyCache{"p": cached}, 0
			})
			edited := policyOf(v1alpha1.Enforce, rule("a"))
			edited.Generation++
			w.Use(compiledOf(edited))
			bubble.Pass(5 * time.Second)
			expect.Equal(t, "observed generation", edited.Generation, w.status().ObservedGeneration)
			expect.Equal(t, "PATCH requests", tc.requests, w.tried())
		})
	}
}

// TestStatusIsWrittenWhileLeadershipIsCertain: another leader does not see what this process has written, and need not write what is
// true again.
func TestStatusIsWrittenWhileLeadershipIsCertain(t *testing.T) {
	var confirmed leadership
	confirmed.Store(true)
	leads := func(w *harness) {
		w.Leadership = &confirmed
		listed()(w)
	}
	inBubble(t, leads, func(t *testing.T, w *harness) {
		bubble.Pass(5 * time.Second)
		confirmed.Store(false)
		w.set(func() { w.preflightErr, w.patches = errors.New("this replica has not confirmed its leadership"), 0 })
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "requests", 0, w.tried())
		confirmed.Store(true)
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "Ready", "False Stale", condition(w.status(), v1alpha1.ConditionReady))
		confirmed.Store(false)
		w.set(func() { w.patches = 0 })
		w.removed(1, rule("a"))
		w.stop()
		expect.Equal(t, "requests at the end", 0, w.tried())
	})
}

// leadership is whether a process leads.
type leadership struct{ atomic.Bool }

func (l *leadership) Check() error {
	if !l.Load() {
		return errors.New("not confirmed")
	}
	return nil
}
