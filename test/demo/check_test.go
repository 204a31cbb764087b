// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// asPlanned is a frame at the end of a run without errors.
func asPlanned() frame {
	f := at15()
	f.now = after(40 * time.Second)
	f.jobs[2].gone, f.jobs[2].pods = after(24*time.Second), 0
	f.policy.status = v1alpha1.RetentionPolicyStatus{Matched: 2, Eligible: 1, Held: 1, Deleted: 3}
	return f
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*frame)
		want   string
	}{
		"no problem":                   {func(*frame) {}, ""},
		"one is late":                  {func(f *frame) { f.jobs[1].gone = after(13100 * time.Millisecond) }, "shop/on-time was deleted 2.1 s after due"},
		"one is early":                 {func(f *frame) { f.jobs[1].gone = after(10900 * time.Millisecond) }, "shop/on-time was deleted 100 ms early"},
		"one was deleted in a dry run": {func(f *frame) { f.jobs[0].gone = after(9500 * time.Millisecond) }, "shop/early was deleted in a dry run"},
		"one was not deleted":          {func(f *frame) { f.jobs[0].gone = time.Time{} }, "shop/early was not deleted"},
		"one should have stayed":       {func(f *frame) { f.jobs[3].gone = after(20 * time.Second) }, "shop/held was deleted, but should have stayed"},
		"a Pod is left":                {func(f *frame) { f.jobs[0].pods = 1 }, "shop/early was deleted, but Pods remain: 1"},
		"a Pod is missing":             {func(f *frame) { f.jobs[4].pods = 0 }, "shop/runs stays but has 0 Pods"},
		"there was no Pod":             {func(f *frame) { f.jobs[0].ran = false }, "shop/early never had a Pod"},
		"the status is wrong":          {func(f *frame) { f.policy.status.Deleted = 2 }, "[2 1 1 0 2], want [2 1 1 0 3]"},
	} {
		f := asPlanned()
		plans := plansOf(f)
		c.change(&f)
		found := strings.Join(problems(f, plans), "\n")
		if (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s: %q, want %q", name, found, c.want)
		}
	}
}

func TestDryRunIsRight(t *testing.T) {
	scene := func() frame {
		f := asPlanned()
		f.rules, f.jobs[2].failed = f.rules[:1], false
		for i := range f.jobs {
			f.jobs[i].gone = time.Time{}
		}
		f.policy.status = v1alpha1.RetentionPolicyStatus{Matched: 5, Eligible: 4, Held: 1, Due: v1alpha1.DueCounts{Now: 3}}
		return f
	}
	for name, c := range map[string]struct {
		change func(*frame)
		want   string
	}{
		"no problem":          {func(*frame) {}, ""},
		"one was deleted":     {func(f *frame) { f.jobs[0].gone = f.now }, "early was deleted in a dry run"},
		"one runs":            {func(f *frame) { f.jobs[0].finished = time.Time{} }, "early has not finished"},
		"too few are due":     {func(f *frame) { f.now = after(9500 * time.Millisecond) }, "only 1 Jobs are due"},
		"the status is wrong": {func(f *frame) { f.policy.status.Due.Now = 4 }, "[5 4 1 4 0], want [5 4 1 3 0]"},
	} {
		f := scene()
		plans := plansOf(asPlanned())
		c.change(&f)
		err := dryRunIsRight(f, plans)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestPolicyFitsTheScenario: the policy has the rules and the namespaces that the scenario uses.
func TestPolicyFitsTheScenario(t *testing.T) {
	p := &v1alpha1.ClusterRetentionPolicy{}
	expect.NoError(t, yaml.UnmarshalStrict([]byte(policyYAML), p))
	r := rulesOf(p, noon)
	if p.Name != policyName || r.mode != v1alpha1.DryRun || r.ttl[succeededRule] == 0 || r.ttl[failedRule] <= r.ttl[succeededRule] {
		t.Errorf("unexpected policy: %+v", r)
	}
	selected := map[string]bool{shop: true, golden: false, system: false}
	for _, p := range scenario {
		if want, ok := selected[p.namespace]; !ok || (job{namespace: p.namespace}).selected(r) != want {
			t.Errorf("namespace %s: excluded differs from the scenario", p.namespace)
		}
	}
}
