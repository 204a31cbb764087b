// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/test/expect"
)

func schemaGroupKind(group, kind string) schema.GroupKind {
	return schema.GroupKind{Group: group, Kind: kind}
}

var enforced = []string{"p/jobs Enforce 1h"}

// oneEnforced returns a reconciler with a policy p in force everywhere.
func oneEnforced(t *testing.T) *harness {
	t.Helper()
	return withPolicy(t, spec("Enforce", "1h"))
}

func TestLiveReadsAreSharedForASecond(t *testing.T) {
	l := oneEnforced(t)
	for range 100 {
		expect.Equal(t, "rules", enforced, l.allowed("team-a"))
	}
	once := map[string]int{"clusterretentionpolicies": 1, "clusterretentionapprovals": 1, "retentionpolicies": 1, "retentionapprovals": 1, "namespaces/team-a": 1}
	expect.Equal(t, "requests", once, l.asked())
	l.later(time.Second)
	l.allowed("team-a")
	expect.Equal(t, "requests a second later", map[string]int{}, l.asked())
	l.later(1)
	l.allowed("team-a")
	expect.Equal(t, "requests a nanosecond after that", once, l.asked())
	l.allowed("team-b")
	expect.Equal(t, "requests for another namespace", map[string]int{"namespaces/team-b": 1}, l.asked())
	l.allowed("")
	expect.Equal(t, "requests without a namespace", map[string]int{}, l.asked())
	expect.Equal(t, "snapshots", 1, len(l.published))
}

func TestCheckPublishesLiveChanges(t *testing.T) {
	tests := map[string]struct {
		change func(s *server)
		want   []string
	}{
		"nothing":                         {func(*server) {}, enforced},
		"suspended":                       {func(s *server) { s.policy("p", spec("Suspend", "1h")) }, []string{"p/jobs Suspend 1h"}},
		"a dry run":                       {func(s *server) { s.policy("p", spec("DryRun", "1h")) }, []string{"p/jobs DryRun 1h"}},
		"a longer TTL":                    {func(s *server) { s.policy("p", spec("Enforce", "2d")) }, []string{"p/jobs Enforce 2d"}},
		"made invalid":                    {func(s *server) { s.policy("p", spec("Enforce", "soon")) }, []string{"p/jobs Enforce 0s invalid"}},
		"removed":                         {func(s *server) { s.removePolicy("p") }, []string{}},
		"another policy":                  {func(s *server) { s.policy("veto", spec("Suspend", "1h")) }, []string{"p/jobs Enforce 1h", "veto/jobs Suspend 1h"}},
		"being deleted":                   {func(s *server) { s.edit("p", deleted) }, []string{"p/jobs Suspend 1h"}},
		"a dry run that is being deleted": {func(s *server) { s.policy("p", spec("DryRun", "1h")); s.edit("p", deleted) }, []string{"p/jobs DryRun 1h"}},
		"another policy of the same name": {func(s *server) { s.removePolicy("p"); s.policy("p", spec("DryRun", "1h")) }, []string{"p/jobs DryRun 1h"}},
		"the namespace leaves the selection": {func(s *server) {
			s.policy("p", "{mode: Enforce, namespaceSelector: {matchLabels: {tier: ci}}"+spec("", "1h")[len("{mode: "):])
		}, []string{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := oneEnforced(t)
			test.change(l.server)
			expect.Equal(t, "rules", test.want, l.allowed("team-a"))
			l.later(2 * time.Second)
			l.reconcile() // the cache is unchanged
			expect.Equal(t, "rules after a read of the old cache", test.want, l.rules("team-a"))
			l.refresh()
			expect.Equal(t, "rules after a read of the new cache", test.want, l.rules("team-a"))
			expect.Equal(t, "requeue", time.Duration(0), l.reconcile().RequeueAfter)
		})
	}
}

// deleted is the DELETE of an object that a finalizer keeps.
func deleted(p *unstructured.Unstructured) { p.SetDeletionTimestamp(&metav1.Time{Time: now}) }

// TestOverridesOfAPolicyThatIsBeingDeleted count where they keep objects longer, and no longer count where they delete sooner.
func TestOverridesOfAPolicyThatIsBeingDeleted(t *testing.T) {
	for ttl, want := range map[string][2]string{"2h": {"p/jobs Enforce 2h", "p/jobs Enforce 2h"}, "30m": {"p/jobs Enforce 30m", "p/jobs Enforce 1h"}} {
		s := newServer()
		s.policy("p", strings.Replace(spec("Enforce", "1h"), "ttl: 1h", "ttl: 1h, overrideBounds: {minTTL: 1m}", 1))
		s.policy("team-a/own", "{mode: Enforce, overrides: [{policy: p, rule: jobs, ttl: "+ttl+"}]}")
		l := newHarness(t, s)
		expect.Equal(t, "rules", []string{want[0]}, l.allowed("team-a"))
		l.later(2 * time.Second)
		l.edit("team-a/own", deleted)
		expect.Equal(t, "rules during its deletion", []string{want[1]}, l.allowed("team-a"))
	}
}

// selecting returns a reconciler with a policy about namespaces with tier=ci, among them team-a.
func selecting(t *testing.T) *harness {
	t.Helper()
	s := newServer()
	s.policy("p", strings.Replace(spec("Enforce", "1h"), "{mode", "{namespaceSelector: {matchLabels: {tier: ci}}, mode", 1))
	s.namespace("team-a", ci)
	return newHarness(t, s)
}

func TestNamespacesSeenOnlyLive(t *testing.T) {
	tests := map[string]struct {
		change func(s *server)
		asked  string
		want   []string
		doubt  bool
	}{
		"unchanged":          {func(*server) {}, "team-a", enforced, false},
		"relabelled":         {func(s *server) { s.namespace("team-a", map[string]string{"tier": "prod"}) }, "team-a", []string{}, false},
		"labelled":           {func(s *server) { s.namespace("team-b", ci) }, "team-b", enforced, false},
		"new":                {func(s *server) { s.namespace("team-c", ci) }, "team-c", enforced, false},
		"new, not selected":  {func(s *server) { s.namespace("team-c", nil) }, "team-c", []string{}, false},
		"terminating":        {func(s *server) { s.terminate("team-a") }, "team-a", enforced, true},
		"missing":            {func(s *server) { s.removeNamespace("team-a") }, "team-a", enforced, true},
		"never existed":      {func(*server) {}, "nowhere", enforced, true},
		"another is missing": {func(s *server) { s.removeNamespace("team-b") }, "team-a", enforced, false},
	}
	for name, test := range tests {
		for _, way := range []string{"one by one", "in one list"} {
			t.Run(name+" "+way, func(t *testing.T) {
				l := selecting(t)
				if way == "in one list" {
					l.fillOneByOne()
				}
				test.change(l.server)
				rules, err := l.check(test.asked)
				if doubt := errors.Is(err, preflight.ErrNamespace); doubt != test.doubt || (err != nil) != test.doubt {
					t.Errorf("error %v", err)
				}
				if !test.doubt {
					expect.Equal(t, "rules", test.want, rules)
				}
			})
		}
	}
}

func TestHoldOnANamespaceSeenOnlyLive(t *testing.T) {
	for _, way := range []string{"one by one", "in one list"} {
		t.Run(way, func(t *testing.T) {
			l := oneEnforced(t)
			if way == "in one list" {
				l.fillOneByOne()
			}
			for _, step := range []struct {
				value string
				want  bool
			}{{"true", true}, {"false", false}, {"please", true}, {"", false}} {
				l.hold("team-a", step.value)
				l.later(time.Second + 1)
				l.allowed("team-a")
				held := l.snapshot().Effective(jobs, "team-a").Held
				expect.Equal(t, "held by "+step.value, step.want, held)
			}
		})
	}
}

// fillOneByOne reads so many namespaces that the next read is a list of all.
func (l *harness) fillOneByOne() {
	for i := range policyset.ManyNamespaces {
		name := fmt.Sprint("other-", i)
		l.namespace(name, nil)
		l.allowed(name)
	}
	l.asked()
}

func TestCheckListsManyNamespacesAtOnce(t *testing.T) {
	s := newServer()
	for i := range 100 {
		s.namespace(fmt.Sprint("ns-", i), nil)
	}
	s.policy("p", spec("Enforce", "1h"))
	l := newHarness(t, s)
	for range 3 {
		for i := range 100 {
			l.allowed(fmt.Sprint("ns-", i))
		}
		asked := l.asked()
		expect.Equal(t, "lists", 1, asked["namespaces"])
		if len(asked) > policyset.ManyNamespaces+5 { // and the lists of namespaces, policies and approvals
			t.Errorf("%d reads in a second", len(asked))
		}
		l.later(time.Second + 1)
	}
	expect.Equal(t, "snapshots", 1, len(l.published))
}

// TestRelabelledNamespaceStaysSo: the cache is older than a live read, and another change triggers a reconciliation from it.
func TestRelabelledNamespaceStaysSo(t *testing.T) {
	for _, way := range []string{"one by one", "in one list"} {
		t.Run(way, func(t *testing.T) {
			l := selecting(t)
			if way == "in one list" {
				l.fillOneByOne()
			}
			l.namespace("team-a", map[string]string{"tier": "prod"})
			expect.Equal(t, "rules", []string{}, l.allowed("team-a"))
			l.later(300 * time.Millisecond)
			l.reconcile()
			expect.Equal(t, "rules after the cache was read", []string{}, l.allowed("team-a"))
		})
	}
}

func TestNamespaceInDoubtIsReadOnceASecond(t *testing.T) {
	tests := map[string]func(s *server){
		"terminating": func(s *server) { s.terminate("team-a") },
		"missing":     func(s *server) { s.removeNamespace("team-a") },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			l := oneEnforced(t)
			change(l.server)
			for range 1000 {
				if _, err := l.check("team-a"); !errors.Is(err, preflight.ErrNamespace) {
					t.Fatalf("error %v", err)
				}
			}
			if n := l.asked()["namespaces/team-a"]; n != 1 {
				t.Errorf("read %d times", n)
			}
		})
	}
}

func TestNamespaceThatComesBackIsAllowed(t *testing.T) {
	l := oneEnforced(t)
	l.removeNamespace("team-a")
	if _, err := l.check("team-a"); err == nil {
		t.Error("allowed while it was missing")
	}
	l.namespace("team-a", nil)
	l.later(time.Second + 1)
	expect.Equal(t, "rules", enforced, l.allowed("team-a"))
}

func TestDoubtFailsClosed(t *testing.T) {
	lost := errors.New("connection refused")
	failing := func(part string, err error) func(l *harness) {
		return func(l *harness) { l.fail = about(part, err) }
	}
	tests := map[string]func(l *harness){
		"policies cannot be listed":          failing("clusterretentionpolicies", statusError(http.StatusInternalServerError)),
		"RetentionPolicies cannot be listed": failing("/retentionpolicies", lost),
		"listing policies is forbidden":      failing("clusterretentionpolicies", statusError(http.StatusForbidden)),
		"policies are not served":            failing("clusterretentionpolicies", statusError(http.StatusNotFound)),
		"no response about policies":         failing("clusterretentionpolicies", lost),
		"no response about a namespace":      failing("team-a", lost),
		"a namespace cannot be read":         failing("team-a", statusError(http.StatusInternalServerError)),
		"reading a namespace is forbidden":   failing("team-a", statusError(http.StatusForbidden)),
		"a changed policy is not read":       func(l *harness) { l.policy("p", spec("DryRun", "1h")); failing("/p", lost)(l) },
		"the server's clock is ahead":        func(l *harness) { l.skewed = 10 * time.Second },
		"the server's clock is behind":       func(l *harness) { l.skewed = -10 * time.Second },
		"the server sends no Date":           func(l *harness) { l.dateless = true },
		"leadership is uncertain":            func(l *harness) { l.leadership = errors.New("not the leader") },
		"leadership is lost during a read": func(l *harness) {
			l.during = func(string) { l.leadership = errors.New("not the leader") }
		},
	}
	for name, arrange := range tests {
		t.Run(name, func(t *testing.T) {
			l := oneEnforced(t)
			arrange(l)
			for range 3 {
				if _, err := l.check("team-a"); err == nil || errors.Is(err, preflight.ErrNamespace) {
					t.Errorf("error %v, want one about all namespaces", err)
				}
				l.later(200 * time.Millisecond)
			}
			l.fail, l.during, l.skewed, l.dateless, l.leadership = nil, nil, 0, false, nil
			l.later(2 * time.Second)
			if _, err := l.check("team-a"); err != nil {
				t.Errorf("once the error is gone: %v", err)
			}
		})
	}
}

// about fails requests for paths with this suffix.
func about(part string, err error) func(path string) error {
	return func(path string) error {
		if strings.HasSuffix(path, part) {
			return err
		}
		return nil
	}
}

func TestSkewFoundByTheLastReadCounts(t *testing.T) {
	l := oneEnforced(t)
	l.allowed("team-b")
	l.skewed = time.Hour
	if _, err := l.check("team-a"); err == nil {
		t.Error("the response about the namespace showed the skew, and the check ignored it")
	}
}

func TestCheckNeedsLeadership(t *testing.T) {
	l := oneEnforced(t)
	l.leadership = errors.New("not the leader")
	if _, err := l.check("team-a"); err == nil {
		t.Error("allowed")
	}
	expect.Equal(t, "requests", map[string]int{}, l.asked())
}

func TestCheckFailsBeforeCacheIsRead(t *testing.T) {
	l := newUnreadHarness(t, newServer())
	if _, err := l.check("team-a"); err == nil {
		t.Error("allowed")
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	l := oneEnforced(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Check(ctx, "team-a"); err == nil {
		t.Error("allowed")
	}
}

// TestPolicyThatIsCreatedDuringALiveRead: the list is older than the cache by the time of its arrival.
func TestPolicyThatIsCreatedDuringALiveRead(t *testing.T) {
	l := oneEnforced(t)
	l.during = func(path string) {
		l.during = nil
		l.policy("new", spec("Suspend", "1h"))
		l.refresh()
	}
	want := []string{"new/jobs Suspend 1h", "p/jobs Enforce 1h"}
	expect.Equal(t, "rules", want, sorted(l.allowed("team-a")))
	l.policy("new", spec("Suspend", "2h"))
	l.refresh()
	expect.Equal(t, "rules after an edit", []string{"new/jobs Suspend 2h", "p/jobs Enforce 1h"}, sorted(l.rules("team-a")))
}

// TestPolicyThatIsEditedDuringALiveRead: the newer one of two versions stays.
func TestPolicyThatIsEditedDuringALiveRead(t *testing.T) {
	l := oneEnforced(t)
	l.policy("p", spec("DryRun", "1h"))
	l.during = func(path string) {
		if strings.HasSuffix(path, "/p") {
			l.during = nil
			l.become(spec("Suspend", "1h"))
		}
	}
	expect.Equal(t, "rules", []string{"p/jobs Suspend 1h"}, l.allowed("team-a"))
}

// TestPolicyThatIsRemovedAfterItWasSeenLive: its veto ends even if nothing is due.
func TestPolicyThatIsRemovedAfterItWasSeenLive(t *testing.T) {
	l := oneEnforced(t)
	l.policy("veto", spec("Suspend", "1h"))
	l.refresh()
	l.allowed("team-a")
	l.removePolicy("veto")
	l.refresh()
	expect.Equal(t, "rules", enforced, l.rules("team-a"))
}

// TestPolicyTheCacheNeverSaw: a live read shows it, and it is removed before the cache has it.
func TestPolicyTheCacheNeverSaw(t *testing.T) {
	l := oneEnforced(t)
	l.policy("veto", spec("Suspend", "1h"))
	l.allowed("team-a")
	l.removePolicy("veto")
	l.refresh()
	expect.Equal(t, "rules", enforced, l.rules("team-a"))
}

func TestRemovedPolicyIsNotTakenBackFromTheCache(t *testing.T) {
	l := oneEnforced(t)
	l.removePolicy("p")
	expect.Equal(t, "rules", []string{}, l.allowed("team-a"))
	for range 3 {
		l.reconcile()
		expect.Equal(t, "rules", []string{}, l.rules("team-a"))
	}
	l.become(spec("Enforce", "1h"))
	expect.Equal(t, "rules of the new policy of that name", enforced, l.rules("team-a"))
}
