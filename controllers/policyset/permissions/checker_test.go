// SPDX-License-Identifier: Apache-2.0

package permissions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/policyset/permissions"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestCheckerAsksForListAndDelete(t *testing.T) {
	s, _, c := newServedChecker()
	if _, err := c.Check(t.Context(), rule()); err != nil {
		t.Fatal(err)
	}
	ask := func(verb string) authorizationv1.SubjectAccessReviewSpec {
		return authorizationv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:team-a:cleaner",
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:team-a", "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: "team-a", Verb: verb, Group: "batch", Version: "v1", Resource: "jobs",
			},
		}
	}
	expect.Equal(t, "asked", []authorizationv1.SubjectAccessReviewSpec{ask("list"), ask("delete")}, s.asked)
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		denied []string
		rule   *policy.Rule
		verbs  []string // requested
		want   string   // empty if permitted
	}{
		"all are granted":                        {nil, rule(), []string{"list", "delete"}, ""},
		"list is missing":                        {[]string{"list"}, rule(), []string{"list", "delete"}, "missing permission: ServiceAccount cleaner may not list jobs.batch in namespace team-a"},
		"delete is missing":                      {[]string{"delete"}, rule(), []string{"list", "delete"}, "missing permission: ServiceAccount cleaner may not delete jobs.batch in namespace team-a"},
		"all are missing":                        {[]string{"list", "delete", "patch"}, rule(), []string{"list", "delete"}, "missing permission: ServiceAccount cleaner may not list, delete jobs.batch in namespace team-a"},
		"patch is missing, and not needed":       {[]string{"patch"}, rule(), []string{"list", "delete"}, ""},
		"patch is missing, and needed for marks": {[]string{"patch"}, rule(fixture.Marking), []string{"list", "delete", "patch"}, "missing permission: ServiceAccount cleaner may not patch jobs.batch in namespace team-a"},
		"patch is granted, and needed for marks": {nil, rule(fixture.Marking), []string{"list", "delete", "patch"}, ""},
		"create is missing, and not needed":      {[]string{"create"}, rule(), []string{"list", "delete"}, ""},
		"create is missing, for snapshots":       {[]string{"create"}, rule(fixture.Marking, snapshots), []string{"list", "delete", "patch", "create"}, "missing permission: ServiceAccount cleaner may not create volumesnapshots.snapshot.storage.k8s.io in namespace team-a"},
		"create is granted, for snapshots":       {nil, rule(fixture.Marking, snapshots), []string{"list", "delete", "patch", "create"}, ""},
		"delete is missing, before snapshots":    {[]string{"delete", "create"}, rule(snapshots), []string{"list", "delete"}, "missing permission: ServiceAccount cleaner may not delete jobs.batch in namespace team-a"},
		"a cluster-scoped kind":                  {nil, rule(fixture.About(fixture.Nodes)), nil, "missing permission: Node is cluster-scoped, and the rules of a RetentionPolicy apply only in its namespace; use a ClusterRetentionPolicy"},
		"without a ServiceAccount":               {nil, rule(of("")), nil, "missing permission: spec.serviceAccountName is empty; set it"},
		"a kind that the cluster does not have":  {nil, rule(fixture.About(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"})), nil, `resolve example.org/v1, Kind=Thing: no matches for kind "Thing" in version "example.org/v1"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, _, c := newServedChecker()
			s.deny(test.denied...)
			_, err := c.Check(t.Context(), test.rule)
			said := ""
			if err != nil {
				said = err.Error()
			}
			expect.Equal(t, "error", test.want, said)
			expect.Equal(t, "asked", test.verbs, s.verbs())
			known, ok := c.Known(test.rule)
			if !ok || !errors.Is(known, err) {
				t.Errorf("known %v, %v", known, ok)
			}
			listed := err == nil || slices.Contains(test.verbs, "create") // VolumeSnapshots are asked for when the rest is granted
			expect.Equal(t, "allowed", listed, c.Allowed(test.rule))
		})
	}
}

// TestSnapshotsNeedAnAnswerOfTheirOwn: the permissions on the kind say nothing about VolumeSnapshots.
func TestSnapshotsNeedAnAnswerOfTheirOwn(t *testing.T) {
	_, _, c := newServedChecker()
	if _, err := c.Check(t.Context(), rule()); err != nil {
		t.Fatal(err)
	}
	_, known := c.Known(rule(snapshots))
	expect.Equal(t, "known", false, known)
	expect.Equal(t, "allowed", true, c.Allowed(rule(snapshots)))
}

func TestCheckOwner(t *testing.T) {
	const namespace = "team-a"
	tests := map[string]struct {
		denied []string
		rule   *policy.Rule
		kind   schema.GroupVersionKind
		verbs  []string
		want   string
	}{
		"all are granted":                  {nil, rule(fixture.About(fixture.Pods)), fixture.Jobs, []string{"get", "delete"}, ""},
		"marks need no further permission": {[]string{"patch", "list"}, rule(fixture.About(fixture.Pods), fixture.Marking), fixture.Jobs, []string{"get", "delete"}, ""},
		"delete is missing":                {[]string{"delete"}, rule(fixture.About(fixture.Pods)), fixture.Jobs, []string{"get", "delete"}, "missing permission: ServiceAccount cleaner may not delete jobs.batch in namespace team-a"},
		"get is missing":                   {[]string{"get"}, rule(fixture.About(fixture.Pods)), fixture.Jobs, []string{"get", "delete"}, "missing permission: ServiceAccount cleaner may not get jobs.batch in namespace team-a"},
		"a cluster-scoped owner":           {nil, rule(fixture.About(fixture.Pods)), fixture.Nodes, nil, "missing permission: Node is cluster-scoped, and the rules of a RetentionPolicy apply only in its namespace; use a ClusterRetentionPolicy"},
		"without a ServiceAccount":         {nil, rule(fixture.About(fixture.Pods), of("")), fixture.Jobs, nil, "missing permission: spec.serviceAccountName is empty; set it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, _, c := newServedChecker()
			s.deny(test.denied...)
			said := ""
			if _, err := c.CheckOwner(t.Context(), test.rule, test.kind); err != nil {
				said = err.Error()
			}
			expect.Equal(t, "error", test.want, said)
			for _, asked := range s.asked {
				expect.Equal(t, "namespace", namespace, asked.ResourceAttributes.Namespace)
				expect.Equal(t, "resource", "jobs", asked.ResourceAttributes.Resource)
			}
			expect.Equal(t, "asked", test.verbs, s.verbs())
		})
	}
}

// TestCheckOwnerNeedsMoreThanCheck: an answer to one question does not answer the other.
func TestCheckOwnerNeedsMoreThanCheck(t *testing.T) {
	s, _, c := newServedChecker()
	s.deny("get")
	if _, err := c.Check(t.Context(), rule()); err != nil {
		t.Error(err)
	}
	if _, err := c.CheckOwner(t.Context(), rule(), fixture.Jobs); !errors.Is(err, preflight.ErrPermission) {
		t.Errorf("get is missing: %v", err)
	}
	if _, known := c.Known(rule(fixture.About(fixture.Pods))); known {
		t.Error("an answer about owners counts for the rule")
	}
}

func TestCheckDistinguishesMissingFromErrors(t *testing.T) {
	s, clock, c := newServedChecker()
	s.deny("delete")
	if _, err := c.Check(t.Context(), rule()); !errors.Is(err, preflight.ErrPermission) {
		t.Errorf("missing: %v", err)
	}
	clock.Step(2 * time.Second)
	lost := errors.New("connection refused")
	s.failing(lost)
	if _, err := c.Check(t.Context(), rule()); !errors.Is(err, lost) || errors.Is(err, preflight.ErrPermission) {
		t.Errorf("no response: %v", err)
	}
}

// TestAgeOfAnAnswerCountsFromItsRequest: every caller receives the time of the request, however long the answer took, and
// also if another caller requested it.
func TestAgeOfAnAnswerCountsFromItsRequest(t *testing.T) {
	s, clock, c := newServedChecker()
	s.during = func() { clock.Step(300 * time.Millisecond) }
	for _, name := range []string{"two slow answers", "cached 600 ms later"} {
		since, err := c.Check(t.Context(), rule())
		if err != nil || !since.Equal(now) {
			t.Errorf("%s: since is %s (%v), want %s", name, since, err, now)
		}
	}
	clock.Step(400*time.Millisecond + 1)
	if since, _ := c.Check(t.Context(), rule()); !since.Equal(now.Add(time.Second + 1)) {
		t.Errorf("the answer of %s counts a second after its request", since)
	}
}

// TestLaterRequestCounts: its answer is the newest, also if that of an earlier request arrives after it.
func TestLaterRequestCounts(t *testing.T) {
	s, clock, c := newServedChecker()
	s.during = func() {
		s.during = nil
		s.mu.Unlock()
		defer s.mu.Lock()
		clock.Step(2 * time.Second)
		s.deny("delete")
		_, _ = c.Check(t.Context(), rule())
		s.deny()
	}
	_, err := c.Check(t.Context(), rule())
	expect.NoError(t, err)
	if err, known := c.Known(rule()); !known || !errors.Is(err, preflight.ErrPermission) {
		t.Errorf("known %t, error %v, want that of the later request", known, err)
	}
}

// TestAnswersCountForASecond, both for the kind of a rule and for an owner.
func TestAnswersCountForASecond(t *testing.T) {
	for about, test := range map[string]struct {
		check func(context.Context, *permissions.Checker) (time.Time, error)
		verbs []string
	}{
		"the kind": {func(ctx context.Context, c *permissions.Checker) (time.Time, error) { return c.Check(ctx, rule()) }, []string{"list", "delete"}},
		"an owner": {func(ctx context.Context, c *permissions.Checker) (time.Time, error) {
			return c.CheckOwner(ctx, rule(), fixture.Jobs)
		}, []string{"get", "delete"}},
	} {
		t.Run(about, func(t *testing.T) {
			s, clock, c := newServedChecker()
			check := func() bool { _, err := test.check(t.Context(), c); return err == nil }
			expect.Equal(t, "allowed", true, check())
			s.deny("delete")
			s.verbs()
			clock.Step(time.Second)
			expect.Equal(t, "allowed a second later", true, check())
			expect.Equal(t, "asked", nil, s.verbs())
			clock.Step(1)
			expect.Equal(t, "allowed a nanosecond after that", false, check())
			expect.Equal(t, "asked", test.verbs, s.verbs())
			s.deny()
			expect.Equal(t, "a permission that is granted again", false, check())
			clock.Step(time.Second + 1)
			expect.Equal(t, "a permission that is granted again, a second later", true, check())
			s.deny("delete")
			clock.SetTime(now.Add(-time.Hour))
			expect.Equal(t, "allowed by a clock that was set back", false, check())
		})
	}
}

func TestCheckerSharesAnswersBetweenRules(t *testing.T) {
	s, _, c := newServedChecker()
	rules := map[string]*policy.Rule{
		"the same":          rule(func(r *policy.Rule) { r.ID.Rule, r.TTL = "other", time.Hour }),
		"another mark":      rule(fixture.Marking),
		"another account":   rule(of("other")),
		"another namespace": rule(func(r *policy.Rule) { r.Namespace = "team-b" }),
		"another kind":      rule(fixture.About(fixture.Nodes)),
	}
	if _, err := c.Check(t.Context(), rule()); err != nil {
		t.Fatal(err)
	}
	for name, r := range rules {
		_, known := c.Known(r)
		expect.Equal(t, name, name == "the same", known)
	}
	s.verbs()
	_, _ = c.Check(t.Context(), rules["the same"])
	expect.Equal(t, "asked", nil, s.verbs())
}

func TestKnownIsFalseBeforeCheck(t *testing.T) {
	_, _, c := newServedChecker()
	if err, known := c.Known(rule()); err != nil || known {
		t.Errorf("known %v, %v", err, known)
	}
}

func TestKnownIsTheLatestAnswerHoweverOld(t *testing.T) {
	s, clock, c := newServedChecker()
	s.deny("delete")
	_, missing := c.Check(t.Context(), rule())
	clock.Step(time.Hour)
	if err, known := c.Known(rule()); !known || !errors.Is(err, missing) {
		t.Errorf("known %v, %v", err, known)
	}
	clock.Step(1)
	c.Prune()
	if _, known := c.Known(rule()); known {
		t.Error("an unused answer is kept forever")
	}
}

// TestAllowedIsTheLatestAnswerThatTold: an error does not change it.
func TestAllowedIsTheLatestAnswerThatTold(t *testing.T) {
	s, now, c := newServedChecker()
	expect.Equal(t, "before the first answer", false, c.Allowed(rule()))
	for i, step := range []struct {
		denied string
		fail   error
		want   bool
	}{
		{fail: errors.New("no answer"), want: false},
		{want: true},
		{fail: errors.New("no answer"), want: true},
		{denied: "list", want: false},
		{fail: errors.New("no answer"), want: false},
		{want: true},
	} {
		now.Step(time.Minute)
		s.denied, s.fail = map[string]bool{step.denied: true}, step.fail
		_, _ = c.Check(t.Context(), rule())
		expect.Equal(t, fmt.Sprint("step ", i), step.want, c.Allowed(rule()))
	}
}

func TestCheckFailsWhenCanceled(t *testing.T) {
	_, _, c := newServedChecker()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Check(ctx, rule()); !errors.Is(err, context.Canceled) {
		t.Errorf("permitted: %v", err)
	}
}

// TestCanceledCheckKeepsEarlierAnswer: the end of a caller's context says nothing about the permissions of a ServiceAccount. Other
// callers send their own requests, and the rule keeps its previous answer.
func TestCanceledCheckKeepsEarlierAnswer(t *testing.T) {
	_, clock, c := newServedChecker()
	if _, err := c.Check(t.Context(), rule()); err != nil {
		t.Fatal(err)
	}
	clock.Step(time.Minute)
	gaveUp, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, err := c.Check(gaveUp, rule()); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if known, ok := c.Known(rule()); !ok || known != nil {
		t.Errorf("known of the rule: %v, %v", known, ok)
	}
	if _, err := c.Check(t.Context(), rule()); err != nil {
		t.Errorf("the next caller receives: %v", err)
	}
}
