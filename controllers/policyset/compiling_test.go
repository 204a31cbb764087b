// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// slowCompiler takes long to compile policies of some names.
type slowCompiler struct {
	policyset.Compiler
	mu       sync.Mutex
	takes    map[string]time.Duration
	compiled []string
}

func (c *slowCompiler) take(takes map[string]time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takes = takes
}

func (c *slowCompiler) LoadWithin(p *policy.Policy, room int) (map[string]*engine.Program, int) {
	c.mu.Lock()
	takes := c.takes[p.Name]
	c.compiled = append(c.compiled, p.Name)
	c.mu.Unlock()
	time.Sleep(takes)
	return c.Compiler.LoadWithin(p, room)
}

// floods returns how many policies of the namespaces flood-0, flood-1 and so on have been compiled.
func (c *slowCompiler) floods() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range c.compiled {
		if strings.HasPrefix(name, "flood-") {
			n++
		}
	}
	return n
}

// compilingSlowly runs a test in a bubble in which some policies take long to compile.
func compilingSlowly(t *testing.T, takes map[string]time.Duration, test func(*testing.T, *harness, *slowCompiler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := oneEnforced(t)
		l.Clock, l.dates = clock.RealClock{}, time.Now
		c := &slowCompiler{Compiler: l.Compiler, takes: takes}
		l.Compiler = c
		test(t, l, c)
		l.compiled()
	})
}

// TestTenantCompilationDelaysNoOthers blocks the compiler for an hour.
func TestTenantCompilationDelaysNoOthers(t *testing.T) {
	compilingSlowly(t, map[string]time.Duration{"team-b/own": time.Hour}, func(t *testing.T, l *harness, _ *slowCompiler) {
		l.policy("team-b/own", ownRules("Enforce", "1m"))
		began := time.Now()
		if err := l.checked("team-a"); err != nil {
			t.Errorf("check of another namespace: %v", err)
		}
		l.hold("team-a", "true")
		time.Sleep(maxAge + 1)
		if err := l.checked("team-a"); err != nil || !l.snapshot().Effective(jobs, "team-a").Held {
			t.Errorf("a hold in another namespace is not in force: %v", err)
		}
		l.policy("p", spec("Suspend", "1h"))
		time.Sleep(maxAge + 1)
		if err := l.checked("team-a"); err != nil {
			t.Errorf("check after an edit of a ClusterRetentionPolicy: %v", err)
		}
		expect.Equal(t, "rules after it", []string{"p/jobs Suspend 1h"}, l.rules("team-a"))
		if took := time.Since(began) - 2*maxAge; took > 10 {
			t.Errorf("others waited for %s", took)
		}
		if err := l.checked("team-b"); !errors.Is(err, preflight.ErrNamespace) {
			t.Errorf("check of the namespace itself: %v; want an error about the namespace", err)
		}
		time.Sleep(time.Hour)
		l.compiled()
		expect.Equal(t, "rules of the namespace at the end", []string{"p/jobs Suspend 1h", "team-b/own/jobs Enforce 1m"}, l.allowed("team-b"))
	})
}

// TestClusterPolicyCompilationStopsChecks, because the effect of the new version is still unknown.
func TestClusterPolicyCompilationStopsChecks(t *testing.T) {
	compilingSlowly(t, map[string]time.Duration{"p": time.Minute}, func(t *testing.T, l *harness, _ *slowCompiler) {
		l.policy("p", spec("Enforce", "2h"))
		if _, err := l.Check(t.Context(), "team-a"); err == nil || errors.Is(err, preflight.ErrNamespace) {
			t.Errorf("check while it is compiled: %v; want an error about all namespaces", err)
		}
		expect.Equal(t, "rules during the compilation", enforced, l.rules("team-a"))
		l.compiled()
		expect.Equal(t, "rules", []string{"p/jobs Enforce 2h"}, l.allowed("team-a"))
	})
}

// TestPublishingDelaysNoOtherNamespace: publishing takes long if many rules are in force.
func TestPublishingDelaysNoOtherNamespace(t *testing.T) {
	compilingSlowly(t, nil, func(t *testing.T, l *harness, _ *slowCompiler) {
		slow := func(policyset.CompiledSnapshot) { time.Sleep(time.Hour) }
		l.Subscribers = append([]func(policyset.CompiledSnapshot){slow}, l.Subscribers...)
		began := time.Now()
		l.policy("team-b/own", ownRules("Enforce", "1m"))
		for range 3 {
			if err := l.checked("team-a"); err != nil {
				t.Errorf("check of another namespace: %v", err)
			}
			time.Sleep(maxAge + 1)
		}
		if took := time.Since(began) - 3*(maxAge+1); took > 0 {
			t.Errorf("others waited for %s", took)
		}
		if err := l.checked("team-b"); !errors.Is(err, preflight.ErrNamespace) {
			t.Errorf("check of the namespace itself: %v; want an error about the namespace", err)
		}
		l.compiled()
		expect.Equal(t, "rules of the namespace at the end", []string{"p/jobs Enforce 1h", "team-b/own/jobs Enforce 1m"}, l.allowed("team-b"))
		l.removePolicy("team-b/own")
		time.Sleep(maxAge + 1)
		began = time.Now()
		if err := l.checked("team-a"); err != nil || time.Since(began) > 0 {
			t.Errorf("check of another namespace after the removal took %s: %v", time.Since(began), err)
		}
	})
}

// TestHoldThatTheCacheShowsCountsAtOnce, although policies that were read together with it are still being compiled. A live
// read no longer shows the hold as new.
func TestHoldThatTheCacheShowsCountsAtOnce(t *testing.T) {
	compilingSlowly(t, map[string]time.Duration{"team-b/own": time.Hour}, func(t *testing.T, l *harness, _ *slowCompiler) {
		l.allowed("team-a")
		time.Sleep(maxAge + 1)
		l.allowed("team-b") // the next check reads no policies
		l.policy("team-b/own", ownRules("Enforce", "1m"))
		l.hold("team-a", "true")
		l.sync()
		go l.reconcile()
		synctest.Wait()
		if _, err := l.Check(t.Context(), "team-a"); err != nil || !l.snapshot().Effective(jobs, "team-a").Held {
			t.Errorf("the hold is not in force: %v", err)
		}
	})
}

// TestNewestFormOfAPolicyCounts, however long an earlier one took to compile. A policy that is deleted during the
// compilation does not return.
func TestNewestFormOfAPolicyCounts(t *testing.T) {
	compilingSlowly(t, map[string]time.Duration{"p": time.Minute}, func(t *testing.T, l *harness, c *slowCompiler) {
		l.policy("p", spec("Enforce", "2h"))
		_, _ = l.Check(t.Context(), "team-a")
		c.take(nil) // the first version is still being compiled
		l.policy("p", spec("Enforce", "3h"))
		time.Sleep(maxAge + 1)
		_, _ = l.Check(t.Context(), "team-a")
		l.compiled()
		expect.Equal(t, "rules", []string{"p/jobs Enforce 3h"}, l.allowed("team-a"))

		c.take(map[string]time.Duration{"p": time.Minute})
		l.policy("p", spec("Enforce", "4h"))
		time.Sleep(maxAge + 1)
		_, _ = l.Check(t.Context(), "team-a")
		l.removePolicy("p")
		time.Sleep(maxAge + 1)
		expect.Equal(t, "rules after its deletion", []string{}, l.allowed("team-a"))
		time.Sleep(time.Hour)
		expect.Equal(t, "rules an hour later", []string{}, l.rules("team-a"))
	})
}

// TestNamespaceRestsFromCompiling: other namespaces come first, and a policy that was edited many times is compiled once.
func TestNamespaceRestsFromCompiling(t *testing.T) {
	takes := map[string]time.Duration{"team-a/own": 150 * time.Millisecond, "team-b/own": time.Millisecond}
	compilingSlowly(t, takes, func(t *testing.T, l *harness, c *slowCompiler) {
		edit := func(name, ttl string) {
			l.policy(name, ownRules("Enforce", ttl))
			time.Sleep(maxAge + 1)
			_, _ = l.Check(t.Context(), "team-c")
		}
		edit("team-a/own", "1m")
		for _, ttl := range []string{"2m", "3m", "4m"} {
			l.policy("team-a/own", ownRules("Enforce", ttl))
			l.sync()
			if _, err := l.Reconcile(t.Context(), reconcile.Request{}); err != nil {
				t.Fatal(err)
			}
		}
		edit("team-b/own", "1m")
		l.compiled()
		expect.Equal(t, "compiled", []string{"team-a/own", "team-a/own", "team-b/own"}, sorted(c.compiled))
		expect.Equal(t, "rules", []string{"p/jobs Enforce 1h", "team-a/own/jobs Enforce 4m"}, l.rules("team-a"))
	})
}

// TestEditWaitsForOneOfTheOthers while 50 other namespaces constantly edit policies that take long to compile. Together,
// these use a quarter of a processor.
func TestEditWaitsForOneOfTheOthers(t *testing.T) {
	const takes = 300 * time.Millisecond
	slow := map[string]time.Duration{}
	for i := range 50 {
		slow[fmt.Sprintf("flood-%d/own", i)] = takes
	}
	compilingSlowly(t, slow, func(t *testing.T, l *harness, c *slowCompiler) {
		see := func(names ...string) {
			for _, name := range names {
				l.policy(name, ownRules("Enforce", fmt.Sprintf("%ds", 1+time.Now().Unix()%1000)))
			}
			l.sync()
			if _, err := l.Reconcile(t.Context(), reconcile.Request{}); err != nil {
				t.Fatal(err)
			}
		}
		var began time.Time
		before := 0
		for second := range 60 {
			if second == 30 { // each has compiled once
				began, before = time.Now(), c.floods()
			}
			var names []string
			for i := range 10 {
				names = append(names, fmt.Sprintf("flood-%d/own", (10*second+i)%50))
			}
			see(names...)
			time.Sleep(500 * time.Millisecond)
			if second < 30 {
				continue
			}
			see("team-b/own")
			if _, err := l.Check(t.Context(), "team-b"); err != nil { // this waits for less than a second
				time.Sleep(takes)
			}
			if _, err := l.Check(t.Context(), "team-b"); err != nil {
				t.Errorf("edit %d: %v", second, err)
			}
		}
		busy, passed := time.Duration(c.floods()-before)*takes, time.Since(began)
		if busy < passed/6 || busy > passed/4+takes {
			t.Errorf("the other namespaces compiled for %s of %s; want a quarter", busy, passed)
		}
		c.take(nil)
	})
}

// TestSmallPolicyIsCompiledBeforeLargeOnes that were edited earlier, when many namespaces edit large policies at the same
// time.
func TestSmallPolicyIsCompiledBeforeLargeOnes(t *testing.T) {
	const takes, large = time.Second, 20
	slow := map[string]time.Duration{}
	for i := range large {
		slow[fmt.Sprintf("flood-%d/own", i)] = takes
	}
	compilingSlowly(t, slow, func(t *testing.T, l *harness, c *slowCompiler) {
		for name := range slow {
			l.policy(name, strings.Replace(ownRules("Enforce", "5m"), "eligible: finished(object)", "eligible: finished(object) && object.metadata.name != '"+strings.Repeat("x", 1000)+"'", 1))
		}
		l.sync()
		go func() { _, _ = l.Reconcile(t.Context(), reconcile.Request{}) }()
		time.Sleep(takes / 2)
		l.policy("team-b/own", ownRules("Enforce", "1m"))
		l.sync()
		go func() { _, _ = l.Reconcile(t.Context(), reconcile.Request{}) }()
		time.Sleep(takes)
		if _, err := l.Check(t.Context(), "team-b"); err != nil || c.floods() > 2 {
			t.Errorf("check after %d of %d large policies: %v", c.floods(), large, err)
		}
		expect.Equal(t, "rules", []string{"p/jobs Enforce 1h", "team-b/own/jobs Enforce 1m"}, l.rules("team-b"))
		c.take(nil)
	})
}

// TestPoliciesOfANamespaceShareItsRoom. Policies of other namespaces and of the cluster have their own.
func TestPoliciesOfANamespaceShareItsRoom(t *testing.T) {
	large := func(size int) string {
		return strings.Replace(ownRules("Enforce", "5m"), "eligible: finished(object)", "eligible: finished(object) && object.metadata.name != '"+strings.Repeat("x", size)+"'", 1)
	}
	const eighth = engine.MaxNamespaceSize / 8
	s := newServer()
	for i := range 9 {
		s.policy(fmt.Sprintf("team-a/own-%d", i), large(eighth))
	}
	s.policy("team-b/own", large(eighth))
	l := newHarness(t, s)
	invalid := func() (names []string) {
		for _, p := range l.snapshot().Policies() {
			if len(p.Problems) > 0 {
				names = append(names, p.Name)
			}
		}
		return sorted(names)
	}
	expect.Equal(t, "invalid", []string{"team-a/own-7", "team-a/own-8"}, invalid())
	l.removePolicy("team-a/own-0")
	l.refresh() // this confirms the deletion
	l.compiled()
	expect.Equal(t, "invalid once there is room for one", []string{"team-a/own-8"}, invalid())
	l.policy("team-a/own-1", large(eighth-300))
	l.refresh()
	l.compiled()
	expect.Equal(t, "invalid where the room is too small", []string{"team-a/own-8"}, invalid())
	l.policy("team-a/own-2", large(eighth-400))
	l.refresh()
	l.compiled()
	expect.Equal(t, "invalid once there is room for all", []string(nil), invalid())
}
