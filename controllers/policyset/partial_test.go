// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestListThatLacksPoliciesEndsNone: policies that keep objects must stay in force if a server has not loaded all of its
// store, or a proxy has truncated a response.
func TestListThatLacksPoliciesEndsNone(t *testing.T) {
	listing := func(metadata map[string]any) map[string]any {
		return map[string]any{"metadata": metadata, "items": []any{}}
	}
	tests := map[string]struct {
		part  string // suffix of paths
		said  any
		fails error // result of a GET of the policy; nil for the policy
	}{
		"an empty list":                              {"policies", listing(map[string]any{"resourceVersion": "999"}), nil},
		"a list with a continue token":               {"policies", listing(map[string]any{"resourceVersion": "999", "continue": "more"}), nil},
		"a list with a remaining item count":         {"policies", listing(map[string]any{"resourceVersion": "999", "remainingItemCount": 7}), nil},
		"an empty list, and failing GETs":            {"policies", listing(map[string]any{"resourceVersion": "999"}), statusError(http.StatusServiceUnavailable)},
		"an empty list, and NotFound":                {"policies", listing(map[string]any{"resourceVersion": "999"}), statusError(http.StatusNotFound)},
		"not a list":                                 {"policies", map[string]any{}, nil},
		"another object than the namespace":          {"namespaces/team-a", map[string]any{}, nil},
		"not a list of namespaces":                   {"namespaces", map[string]any{}, nil},
		"a list of namespaces with a continue token": {"namespaces", listing(map[string]any{"resourceVersion": "999", "continue": "more"}), nil},
		"an empty list of namespaces":                {"namespaces", listing(map[string]any{"resourceVersion": "999"}), nil},
		"another object than the new policy":         {"clusterretentionpolicies/veto", map[string]any{}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := oneEnforced(t)
			l.policy("team-a/pause", "{overrides: [{policy: p, suspend: true}]}")
			l.refresh()
			l.later(2 * time.Second)
			if test.part == "namespaces" {
				l.fillOneByOne()
			}
			l.policy("veto", spec("Suspend", "1h"))
			l.said = saying(test.part, test.said)
			l.fail = func(path string) error {
				if strings.HasSuffix(path, "/p") || strings.HasSuffix(path, "/pause") {
					return test.fails
				}
				return nil
			}
			if rules, err := l.check("team-a"); err == nil {
				t.Errorf("allowed: %v", rules)
			}
			l.said, l.fail = nil, nil
			l.later(2 * time.Second)
			expect.Equal(t, "rules", []string{"p/jobs Enforce 1h suspended", "veto/jobs Suspend 1h"}, sorted(l.allowed("team-a")))
		})
	}
}

// TestNamesakeThatIsNewerThanTheList: the previous policy of the same name is still gone.
func TestNamesakeThatIsNewerThanTheList(t *testing.T) {
	l := oneEnforced(t)
	l.removePolicy("p")
	l.during = func(path string) {
		if strings.HasSuffix(path, "/retentionpolicies") || !strings.HasSuffix(path, "policies") {
			return
		}
		l.during = nil
		l.policy("p", spec("DryRun", "1h"))
	}
	expect.Equal(t, "rules", []string{}, l.allowed("team-a"))
	l.later(2 * time.Second)
	expect.Equal(t, "rules a second later", []string{"p/jobs DryRun 1h"}, l.allowed("team-a"))
}

// TestListThatLacksNamespacesForgetsNone, in a check and in a reconciliation.
func TestListThatLacksNamespacesForgetsNone(t *testing.T) {
	l := selecting(t)
	l.said = emptied("/namespaces")
	l.fillOneByOne()
	if _, err := l.check("team-a"); err == nil {
		t.Error("allowed by the list of the check")
	}
	if _, err := l.Reconcile(t.Context(), reconcile.Request{}); err == nil {
		t.Error("confirmed by an incomplete list")
	}
	for _, name := range []string{"team-a", "team-b", "other-0"} {
		if !l.snapshot().Knows(name) {
			t.Errorf("%s is no longer known", name)
		}
	}
	l.said = nil
	l.later(2 * time.Second)
	expect.Equal(t, "rules", enforced, l.allowed("team-a"))
}

// TestNewObjectMissingInListIsReadNext: the first list lacks new objects that were not known before.
func TestNewObjectMissingInListIsReadNext(t *testing.T) {
	l := selecting(t)
	l.later(2 * time.Second)
	l.policy("veto", spec("Suspend", "1h"))
	l.namespace("team-c", ci)
	l.said = without("veto", "team-c")
	l.fillOneByOne()
	if _, err := l.check("team-c"); err == nil {
		t.Error("allowed in a namespace that was never observed")
	}
	l.said = nil
	l.later(2 * time.Second)
	want := []string{"p/jobs Enforce 1h", "veto/jobs Suspend 1h"}
	expect.Equal(t, "rules", want, sorted(l.allowed("team-c")))
	expect.Equal(t, "known", true, l.snapshot().Knows("team-c"))
}

// TestCacheThatRelistsFromALiarForgetsNone: the new list of the cache, streamed or not, lacks the same objects as the live
// list.
func TestCacheThatRelistsFromALiarForgetsNone(t *testing.T) {
	for name, truth := range map[string]func(*harness){
		"both lists are incomplete":  func(l *harness) { l.said = without("veto", "team-b") },
		"only the list of the cache": func(*harness) {},
		"no read succeeds":           func(l *harness) { l.fail = func(string) error { return statusError(http.StatusServiceUnavailable) } },
	} {
		t.Run(name, func(t *testing.T) {
			l := oneEnforced(t)
			l.policy("veto", spec("Suspend", "1h"))
			l.refresh()
			want := []string{"p/jobs Enforce 1h", "veto/jobs Suspend 1h"}
			expect.Equal(t, "rules before", want, sorted(l.rules("team-a")))
			l.later(2 * time.Second)
			l.lose("veto", "team-b")
			truth(l)
			if _, err := l.Reconcile(t.Context(), reconcile.Request{}); (err == nil) != (name == "only the list of the cache") {
				t.Errorf("reconcile: %v", err)
			}
			expect.Equal(t, "rules", want, sorted(l.rules("team-a")))
			expect.Equal(t, "namespace known", true, l.snapshot().Knows("team-b"))
			expect.Equal(t, "an error at once", false, l.DeletionError() != nil)
			l.later(5 * time.Second)
			expect.Equal(t, "an error after 5 s", name != "only the list of the cache", l.DeletionError() != nil)
			l.said, l.fail = nil, nil
			l.later(2 * time.Second)
			expect.Equal(t, "rules allowed", want, sorted(l.allowed("team-a")))
			l.removePolicy("veto")
			l.reconcile()
			expect.Equal(t, "rules after its deletion", want[:1], l.rules("team-a"))
			expect.Equal(t, "an error after its deletion", false, l.DeletionError() != nil)
		})
	}
}

// lose removes policies and namespaces from the cache.
func (s *server) lose(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache = s.cache.clone()
	for _, name := range names {
		delete(s.cache.policies, name)
		delete(s.cache.namespaces, name)
	}
}

// TestDeletedNamespacesAreConfirmedInParallel: GETs for all of them are sent several at a time, and not again for confirmed ones.
func TestDeletedNamespacesAreConfirmedInParallel(t *testing.T) {
	slowly(t, always(0), func(t *testing.T, l *harness) {
		for i := range 1000 {
			l.namespace(fmt.Sprint("gone-", i), nil)
		}
		l.refresh()
		for i := range 1000 {
			l.removeNamespace(fmt.Sprint("gone-", i))
		}
		l.sync()
		l.asked()
		l.takes = under(namespacesPath+"/gone-", 150*time.Millisecond)
		began, rounds := time.Now(), 1
		for ; rounds < 10; rounds++ {
			if _, err := l.Reconcile(t.Context(), reconcile.Request{}); err == nil {
				break
			}
		}
		if took := time.Since(began); took > 12*time.Second || rounds > 2 {
			t.Errorf("took %s and %d rounds", took, rounds)
		}
		for i := range 1000 {
			if name := fmt.Sprint("gone-", i); l.snapshot().Knows(name) {
				t.Fatalf("%s is still known", name)
			}
		}
		expect.Equal(t, "team-a is known", true, l.snapshot().Knows("team-a"))
		requests := 0
		for _, n := range l.asked() {
			requests += n
		}
		if requests > 1050 {
			t.Errorf("%d requests", requests)
		}
	})
}

// without removes objects with these names from lists.
func without(names ...string) func(path string, answer any) any {
	return func(_ string, answer any) any {
		list, ok := answer.(map[string]any)
		items, isList := list["items"].([]any)
		if !ok || !isList {
			return answer
		}
		items = slices.DeleteFunc(items, func(item any) bool {
			switch item := item.(type) {
			case metav1.PartialObjectMetadata:
				return slices.Contains(names, item.Name)
			case map[string]any:
				return slices.Contains(names, fmt.Sprint(item["metadata"].(map[string]any)["name"]))
			}
			return false
		})
		return map[string]any{"metadata": list["metadata"], "items": items}
	}
}

// TestNamesakeThatTheListShouldHave: the list proves nothing about the previous policy either.
func TestNamesakeThatTheListShouldHave(t *testing.T) {
	l := oneEnforced(t)
	l.removePolicy("p")
	l.policy("p", spec("DryRun", "1h"))
	l.said = emptied("/clusterretentionpolicies")
	if rules, err := l.check("team-a"); err == nil {
		t.Errorf("allowed: %v", rules)
	}
	l.said = nil
	l.later(2 * time.Second)
	expect.Equal(t, "rules", []string{"p/jobs DryRun 1h"}, l.allowed("team-a"))
}

// saying replaces the responses of paths with this suffix.
func saying(part string, said any) func(path string, answer any) any {
	return func(path string, answer any) any {
		if strings.HasSuffix(path, part) {
			return said
		}
		return answer
	}
}

// emptied removes all items from lists at paths with this suffix.
func emptied(part string) func(path string, answer any) any {
	return func(path string, answer any) any {
		if list, ok := answer.(map[string]any); ok && strings.HasSuffix(path, part) {
			return map[string]any{"metadata": list["metadata"], "items": []any{}}
		}
		return answer
	}
}

// TestEditThatIsNotReadStopsDeletions: the policy in force is known to be out of date.
func TestEditThatIsNotReadStopsDeletions(t *testing.T) {
	l := oneEnforced(t)
	before := l.live.clone().policies["p"]
	l.policy("p", spec("Suspend", "1h"))
	says := map[string]func(){
		"NotFound":             func() { l.fail = about("/p", statusError(http.StatusNotFound)) },
		"the previous version": func() { l.said = saying("/p", before.Object) },
	}
	for name, arrange := range says {
		arrange()
		for range 3 {
			if rules, err := l.check("team-a"); err == nil {
				t.Errorf("%s: allowed: %v", name, rules)
			}
			l.later(2 * time.Second)
		}
		l.fail, l.said = nil, nil
	}
	expect.Equal(t, "rules", []string{"p/jobs Suspend 1h"}, l.allowed("team-a"))
}

// TestPolicyThatComesAndGoesStopsItsOwnNamespaceAlone: a tenant may constantly create and delete policies, and a list may
// contain each one just before it is deleted.
func TestPolicyThatComesAndGoesStopsItsOwnNamespaceAlone(t *testing.T) {
	l := oneEnforced(t)
	l.counted("p")
	l.during = func(path string) {
		if path == apiPath+"/retentionpolicies" {
			l.removePolicy("team-b/short")
		}
	}
	for range 3 {
		l.later(1001 * time.Millisecond)
		l.policy("team-b/short", "{mode: DryRun, overrides: [{policy: p, ttl: 2h}]}")
		if _, err := l.check("team-a"); err != nil {
			t.Errorf("another namespace: %v", err)
		}
		if _, err := l.check("team-b"); !errors.Is(err, preflight.ErrNamespace) {
			t.Errorf("its namespace: %v", err)
		}
	}
	l.during = nil
	l.later(1001 * time.Millisecond)
	l.allowed("team-b")
}

// TestDeletedPoliciesAreConfirmedTogether: however fast a tenant deletes policies, the API server receives the confirming reads
// once a second.
func TestDeletedPoliciesAreConfirmedTogether(t *testing.T) {
	s := newServer()
	l := newHarness(t, s)
	for range 10 {
		s.policy("team-b/short", "{mode: DryRun, overrides: [{policy: p, ttl: 2h}]}")
		l.refresh()
		s.removePolicy("team-b/short")
		l.refresh()
	}
	if n := l.asked()["namespaces"]; n > 1 {
		t.Errorf("namespaces were listed %d times in no time", n)
	}
	l.later(confirmed)
	l.refresh()
	expect.Equal(t, "policies in force", 0, len(l.snapshot().Policies()))
}

// confirmed is how long it takes to confirm a deletion.
const confirmed = 1001 * time.Millisecond

// TestSlowEditDelaysNoOtherNamespace: tenants may constantly edit large policies, and the API server may be slow to
// return each.
func TestSlowEditDelaysNoOtherNamespace(t *testing.T) {
	l := oneEnforced(t)
	l.counted("p")
	var asked, answer chan struct{}
	hold := func() {
		began, ends := make(chan struct{}), make(chan struct{})
		asked, answer = began, ends
		l.set(func() {
			l.takes = func(path string) time.Duration {
				if path == apiPath+"/namespaces/team-b/retentionpolicies/own" {
					close(began)
					<-ends
				}
				return 0
			}
		})
	}
	hold()
	l.policy("team-b/own", longer)
	l.later(1001 * time.Millisecond)
	expect.Equal(t, "check of another namespace", nil, l.checked("team-a"))
	<-asked
	if err := l.checked("team-b"); !errors.Is(err, preflight.ErrNamespace) {
		t.Errorf("check of its namespace: %v", err)
	}
	l.later(1001 * time.Millisecond)
	expect.Equal(t, "check of another namespace once more", nil, l.checked("team-a")) // this does not send requests again
	close(answer)
	l.compiled()
	expect.Equal(t, "check of its namespace afterwards", nil, l.checked("team-b"))
	expect.Equal(t, "rules in its namespace", []string{"p/jobs Enforce 4h"}, l.rules("team-b"))

	hold()
	l.policy("team-b/own", sparing)
	l.later(1001 * time.Millisecond)
	expect.Equal(t, "check of another namespace", nil, l.checked("team-a"))
	<-asked
	l.set(func() { l.takes = nil })
	l.removePolicy("team-b/own")
	l.later(1001 * time.Millisecond)
	expect.Equal(t, "check of another namespace after the removal", nil, l.checked("team-a"))
	close(answer)
	l.compiled()
	expect.Equal(t, "rules after the removal", enforced, l.rules("team-b"))
}

// TestPolicyThatCouldNotBeReadIsReadAgain although nothing is due and the cache has it, because the version in the cache is
// older than the list.
func TestPolicyThatCouldNotBeReadIsReadAgain(t *testing.T) {
	l := oneEnforced(t)
	l.policy("team-b/own", longer)
	l.set(func() { l.fail = about("/retentionpolicies/own", statusError(http.StatusServiceUnavailable)) })
	if _, err := l.Check(t.Context(), "team-b"); !errors.Is(err, preflight.ErrNamespace) {
		t.Fatalf("check while the policy cannot be read: %v", err)
	}
	l.refresh()
	l.set(func() { l.fail = nil })
	l.later(confirmed)
	if again := l.reconcile().RequeueAfter; again == 0 || again > time.Minute {
		t.Errorf("requeued after %s", again)
	}
	expect.Equal(t, "rules", []string{"p/jobs Enforce 4h"}, l.rules("team-b"))
}
