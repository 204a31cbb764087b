// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

const (
	// longer sets a longer TTL for the rules of policy p.
	longer = `{mode: Enforce, overrides: [{policy: p, ttl: 4h}]}`
	// sparing suspends them.
	sparing = `{mode: Enforce, overrides: [{policy: p, suspend: true}]}`
)

// ownRules returns a RetentionPolicy with a rule.
func ownRules(mode, ttl string) string {
	return strings.Replace(spec(mode, ttl), "{mode", "{serviceAccountName: cleaner, mode", 1)
}

// teamed returns a reconciler with policy p in force, and policy own of team-a.
func teamed(t *testing.T, spec string) *harness {
	t.Helper()
	l := oneEnforced(t)
	l.policy("team-a/own", spec)
	l.refresh()
	l.asked()
	return l
}

func TestRetentionPolicyIsReadForItsNamespaceAlone(t *testing.T) {
	tests := map[string]struct {
		spec string
		want []string // in team-a
	}{
		"a longer TTL": {longer, []string{"p/jobs Enforce 4h"}},
		"a dry run counts too if it keeps longer": {`{overrides: [{policy: p, rule: jobs, ttl: 2d}]}`, []string{"p/jobs Enforce 2d"}},
		"a shorter TTL is not allowed":            {`{mode: Enforce, overrides: [{policy: p, ttl: 1m}]}`, enforced},
		"of another policy":                       {`{mode: Enforce, overrides: [{policy: q, ttl: 4h}]}`, enforced},
		"suspended":                               {sparing, []string{"p/jobs Enforce 1h suspended"}},
		"invalid":                                 {`{mode: Enforce, overrides: [{policy: p, keepAll: true, ttl: 1h}]}`, []string{"p/jobs Enforce 1h suspended"}},
		"own rules":                               {ownRules("Enforce", "5m"), []string{"p/jobs Enforce 1h", "team-a/own/jobs Enforce 5m"}},
		"own rules without an account":            {spec("Enforce", "5m"), []string{"p/jobs Enforce 1h", "team-a/own/jobs Enforce 5m invalid"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := teamed(t, test.spec)
			expect.Equal(t, "rules in its namespace", test.want, l.rules("team-a"))
			expect.Equal(t, "rules in another namespace", enforced, l.rules("team-b"))
		})
	}
}

func TestRetentionPolicyThatOnlyALiveReadShows(t *testing.T) {
	tests := map[string]struct {
		before string // empty for none
		change func(s *server)
		want   []string
	}{
		"no change":                       {longer, func(*server) {}, []string{"p/jobs Enforce 4h"}},
		"new":                             {"", func(s *server) { s.policy("team-a/own", longer) }, []string{"p/jobs Enforce 4h"}},
		"edited":                          {longer, func(s *server) { s.policy("team-a/own", sparing) }, []string{"p/jobs Enforce 1h suspended"}},
		"removed":                         {sparing, func(s *server) { s.removePolicy("team-a/own") }, enforced},
		"another policy of the same name": {longer, func(s *server) { s.removePolicy("team-a/own"); s.policy("team-a/own", sparing) }, []string{"p/jobs Enforce 1h suspended"}},
		"in another namespace":            {longer, func(s *server) { s.policy("team-b/own", sparing) }, []string{"p/jobs Enforce 4h"}},
		"made invalid":                    {longer, func(s *server) { s.policy("team-a/own", strings.Replace(longer, "4h", "soon", 1)) }, []string{"p/jobs Enforce 1h suspended"}},
		"own rules stop": {ownRules("Enforce", "5m"), func(s *server) { s.policy("team-a/own", ownRules("Suspend", "5m")) },
			[]string{"p/jobs Enforce 1h", "team-a/own/jobs Suspend 5m"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := oneEnforced(t)
			if test.before != "" {
				l = teamed(t, test.before)
			}
			test.change(l.server)
			expect.Equal(t, "rules", test.want, l.allowed("team-a"))
			l.later(2 * time.Second)
			l.reconcile()
			expect.Equal(t, "rules after a read of the old cache", test.want, l.rules("team-a"))
			l.refresh()
			expect.Equal(t, "rules after a read of the new cache", test.want, l.rules("team-a"))
			expect.Equal(t, "requeue", time.Duration(0), l.reconcile().RequeueAfter)
		})
	}
}

func TestRetentionPoliciesAreReadFromTheCache(t *testing.T) {
	l := teamed(t, longer)
	expect.Equal(t, "snapshots", 2, len(l.published))
	l.policy("team-a/own", sparing)
	l.refresh()
	expect.Equal(t, "rules after an edit", []string{"p/jobs Enforce 1h suspended"}, l.rules("team-a"))
	l.removePolicy("team-a/own")
	l.refresh()
	expect.Equal(t, "rules after its deletion", enforced, l.rules("team-a"))
	l.reconcile()
	l.allowed("team-a")
	expect.Equal(t, "snapshots", 4, len(l.published))
}

// TestNamesakesOfBothKinds: a ClusterRetentionPolicy and RetentionPolicies of two namespaces with the same name are three
// policies.
func TestNamesakesOfBothKinds(t *testing.T) {
	l := oneEnforced(t)
	l.policy("team-a/p", ownRules("Enforce", "5m"))
	l.policy("team-b/p", ownRules("DryRun", "6m"))
	expect.Equal(t, "rules in team-a", []string{"p/jobs Enforce 1h", "team-a/p/jobs Enforce 5m"}, l.allowed("team-a"))
	expect.Equal(t, "rules in team-b", []string{"p/jobs Enforce 1h", "team-b/p/jobs DryRun 6m"}, l.allowed("team-b"))
	l.removePolicy("team-a/p")
	l.later(2 * time.Second)
	expect.Equal(t, "rules after one is deleted", enforced, l.allowed("team-a"))
	expect.Equal(t, "rules of the other one", []string{"p/jobs Enforce 1h", "team-b/p/jobs DryRun 6m"}, l.allowed("team-b"))
}

func TestOverrideOfWhatIsNotThereIsAProblem(t *testing.T) {
	tests := map[string]struct {
		overrides string
		want      []string
	}{
		"an existing policy and rule": {"{policy: p, rule: jobs, ttl: 4h}", nil},
		"every rule":                  {"{policy: p, ttl: 4h}", nil},
		"another policy":              {"{policy: pp, ttl: 4h}", []string{"spec.overrides[0].policy"}},
		"another rule":                {"{policy: p, rule: job, ttl: 4h}", []string{"spec.overrides[0].rule"}},
		"one of two":                  {"{policy: p, ttl: 4h}, {policy: q, ttl: 4h}", []string{"spec.overrides[1].policy"}},
		"the policy itself":           {"{policy: team-a/own, ttl: 4h}", []string{"spec.overrides[0].policy"}},
		"a policy of its namespace":   {"{policy: own, ttl: 4h}", []string{"spec.overrides[0].policy"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := teamed(t, "{overrides: ["+test.overrides+"]}")
			var paths []string
			for _, p := range l.named("team-a/own").Problems {
				paths = append(paths, p.Path)
			}
			expect.Equal(t, "problems", test.want, paths)
		})
	}
}

func TestOverrideBecomesValidWithItsPolicy(t *testing.T) {
	l := teamed(t, "{overrides: [{policy: q, ttl: 4h}]}")
	expect.Equal(t, "problems", 1, len(l.named("team-a/own").Problems))
	l.policy("q", spec("Enforce", "1h"))
	l.refresh()
	expect.Equal(t, "problems", 0, len(l.named("team-a/own").Problems))
	expect.Equal(t, "rules", []string{"p/jobs Enforce 1h", "q/jobs Enforce 4h"}, l.rules("team-a"))
}

func TestPermit(t *testing.T) {
	l := teamed(t, ownRules("Enforce", "5m"))
	l.permissions.err = errors.New("missing permission")
	permit := func(name string) error { _, err := l.Permit(t.Context(), l.named(name).Rules[0]); return err }
	if err := permit("p"); err != nil || len(l.permissions.asked) > 0 {
		t.Errorf("rule of a ClusterRetentionPolicy: %v, asked %v", err, l.permissions.asked)
	}
	if err := permit("team-a/own"); !errors.Is(err, l.permissions.err) {
		t.Errorf("rule of a RetentionPolicy: %v", err)
	}
	l.permissions.err = nil
	if err := permit("team-a/own"); err != nil {
		t.Errorf("with all permissions: %v", err)
	}
	expect.Equal(t, "asked", []string{"team-a/own/jobs", "team-a/own/jobs"}, l.permissions.asked)
}

func TestPermitOwner(t *testing.T) {
	l := teamed(t, ownRules("Enforce", "5m"))
	l.permissions.err = errors.New("missing permission")
	owner := &policy.Owner{Kind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}, Name: "nightly", UID: "u"}
	permit := func(name string) error {
		_, err := l.PermitOwner(t.Context(), l.named(name).Rules[0], owner)
		return err
	}
	if err := permit("p"); err != nil || len(l.permissions.asked) > 0 {
		t.Errorf("rule of a ClusterRetentionPolicy: %v, asked %v", err, l.permissions.asked)
	}
	if err := permit("team-a/own"); !errors.Is(err, l.permissions.err) {
		t.Errorf("rule of a RetentionPolicy: %v", err)
	}
	expect.Equal(t, "asked", []string{"team-a/own/jobs CronJob"}, l.permissions.asked)
}

func TestOwnRules(t *testing.T) {
	l := teamed(t, ownRules("DryRun", "5m"))
	l.policy("team-b/other", ownRules("Enforce", "5m"))
	l.policy("team-b/overrides", longer)
	l.refresh()
	var ids []string
	for _, r := range l.OwnRules() {
		ids = append(ids, r.ID.String())
	}
	slices.Sort(ids)
	expect.Equal(t, "rules", []string{"team-a/own/jobs", "team-b/other/jobs"}, ids)
	expect.Equal(t, "mode", v1alpha1.DryRun, l.named("team-a/own").Mode)
}

// TestEditCopiesNoPolicyOfAnotherNamespace: fifty tenants may have thousands of rules, and one edit affects one tenant.
func TestEditCopiesNoPolicyOfAnotherNamespace(t *testing.T) {
	l := teamed(t, ownRules("DryRun", "5m"))
	l.policy("team-b/own", ownRules("DryRun", "5m"))
	l.refresh()
	before, edited := l.named("team-b/own"), l.named("team-a/own")
	l.policy("team-a/own", ownRules("DryRun", "6m"))
	l.refresh()
	expect.Equal(t, "the edited policy is the same", false, l.named("team-a/own") == edited)
	expect.Equal(t, "the other one is the same", true, l.named("team-b/own") == before)
	for _, now := range []struct {
		err                    error
		unpermitted, unwatched bool
	}{
		{errors.New("no answer"), true, false}, {preflight.ErrPermission, true, true}, {nil, false, false}, {preflight.ErrPermission, true, true}, {errors.New("no answer"), true, true},
	} {
		l.permissions.err = now.err
		l.Republish()
		rule := l.named("team-b/own").Rules[0]
		expect.Equal(t, fmt.Sprintf("after %v unpermitted", now.err), now.unpermitted, rule.Unpermitted)
		expect.Equal(t, fmt.Sprintf("after %v unwatched", now.err), now.unwatched, rule.Unwatched)
	}
}
