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

// TestAListThatLacksPoliciesEndsNone: what keeps must not vanish because a server has not read all of its store yet, or a proxy
// has lost the rest of an answer.
func TestAListThatLacksPoliciesEndsNone(t *testing.T) {
	listing := func(metadata map[string]any) map[string]any {
		return map[string]any{"metadata": metadata, "items": []any{}}
	}
	tests := map[string]struct {
		part  string // which paths end so
		said  any
		fails error // what a GET of the policy gives; nil for the policy
	}{
		"an empty list":                      {"policies", listing(map[string]any{"resourceVersion": "999"}), nil},
		"a list that goes on":                {"policies", listing(map[string]any{"resourceVersion": "999", "continue": "more"}), nil},
		"a list that has lost where":         {"policies", listing(map[string]any{"resourceVersion": "999", "remainingItemCount": 7}), nil},
		"an empty list, and no answer":       {"policies", listing(map[string]any{"resourceVersion": "999"}), statusError(http.StatusServiceUnavailable)},
		"an empty list, and nothing there":   {"policies", listing(map[string]any{"resourceVersion": "999"}), statusError(http.StatusNotFound)},
		"no list at all":                     {"policies", map[string]any{}, nil},
		"another object than the namespace":  {"namespaces/team-a", map[string]any{}, nil},
		"no list of namespaces":              {"namespaces", map[string]any{}, nil},
		"a list of namespaces that goes on":  {"namespaces", listing(map[string]any{"resourceVersion": "999", "continue": "more"}), nil},
		"an empty list of namespaces":        {"namespaces", listing(map[string]any{"resourceVersion": "999"}), nil},
		"another object than the new policy": {"clusterretentionpolicies/veto", map[string]any{}, nil},
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
			l.policy("veto", spec("Suspended", "1h"))
			l.said = func(path string, answer any) any {
				if strings.HasSuffix(path, test.part) {
					return test.said
				}
				return answer
			}
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
			expect.Equal(t, "rules", []string{"p/jobs Enforce 1h suspended", "veto/jobs Suspended 1h"}, sorted(l.allowed("team-a")))
		})
	}
}

// TestANamesakeThatIsNewerThanTheList: the one before is gone all the same.
func TestANamesakeThatIsNewerThanTheList(t *testing.T) {
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

// TestAListThatLacksNamespacesForgetsNone, whichever read it was.
func TestAListThatLacksNamespacesForgetsNone(t *testing.T) {
	l := selecting(t)
	l.said = emptied("/namespaces")
	l.fillOneByOne()
	if _, err := l.check("team-a"); err == nil {
		t.Error("allowed by the fence's list")
	}
	if _, err := l.Reconcile(t.Context(), reconcile.Request{}); err == nil {
		t.Error("confirmed while the cache is behind")
	}
	for _, name := range []string{"team-a", "team-b", "other-0"} {
		if !l.snapshot().Knows(name) {
			t.Errorf("%s is forgotten", name)
		}
	}
	l.said = nil
	l.later(2 * time.Second)
	expect.Equal(t, "rules", enforced, l.allowed("team-a"))
}

// TestWhatIsNewAndAListLacksComesWithTheNext: nobody knew that it should have been there.
func TestWhatIsNewAndAListLacksComesWithTheNext(t *testing.T) {
	l := selecting(t)
	l.later(2 * time.Second)
	l.policy("veto", spec("Suspended", "1h"))
	l.namespace("team-c", map[string]string{"tier": "ci"})
	l.said = without("veto", "team-c")
	l.fillOneByOne()
	if _, err := l.check("team-c"); err == nil {
		t.Error("allowed in a namespace that nobody has seen")
	}
	l.said = nil
	l.later(2 * time.Second)
	want := []string{"p/jobs Enforce 1h", "veto/jobs Suspended 1h"}
	expect.Equal(t, "rules", want, sorted(l.allowed("team-c")))
	expect.Equal(t, "known", true, l.snapshot().Knows("team-c"))
}

// TestACacheThatRelistsFromALiarForgetsNone: its list, streamed or not, lacks what the live list lacks too.
func TestACacheThatRelistsFromALiarForgetsNone(t *testing.T) {
	for name, truth := range map[string]func(*harness){
		"both lists lie":      func(l *harness) { l.said = without("veto", "team-b") },
		"only the cache's":    func(*harness) {},
		"nothing is readable": func(l *harness) { l.fail = func(string) error { return statusError(http.StatusServiceUnavailable) } },
	} {
		t.Run(name, func(t *testing.T) {
			l := oneEnforced(t)
			l.policy("veto", spec("Suspended", "1h"))
			l.refresh()
			want := []string{"p/jobs Enforce 1h", "veto/jobs Suspended 1h"}
			expect.Equal(t, "rules before", want, sorted(l.rules("team-a")))
			l.later(2 * time.Second)
			l.lose("veto", "team-b")
			truth(l)
			if _, err := l.Reconcile(t.Context(), reconcile.Request{}); (err == nil) != (name == "only the cache's") {
				t.Errorf("reconcile: %v", err)
			}
			expect.Equal(t, "rules", want, sorted(l.rules("team-a")))
			expect.Equal(t, "namespace known", true, l.snapshot().Knows("team-b"))
			expect.Equal(t, "in trouble at once", false, l.Trouble() != nil)
			l.later(5 * time.Second)
			expect.Equal(t, "in trouble", name != "only the cache's", l.Trouble() != nil)
			l.said, l.fail = nil, nil
			l.later(2 * time.Second)
			expect.Equal(t, "rules allowed", want, sorted(l.allowed("team-a")))
			l.removePolicy("veto")
			l.reconcile()
			expect.Equal(t, "rules when it is deleted", want[:1], l.rules("team-a"))
			expect.Equal(t, "in trouble when it is deleted", false, l.Trouble() != nil)
		})
	}
}

// lose takes policies and namespaces from the cache.
func (s *server) lose(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache = s.cache.clone()
	for _, name := range names {
		delete(s.cache.policies, name)
		delete(s.cache.namespaces, name)
	}
}

// TestManyNamespacesThatAreGone: each is asked for by name, several at a time, and those that are confirmed not again.
func TestManyNamespacesThatAreGone(t *testing.T) {
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
		l.takes = func(path string) time.Duration {
			if strings.Contains(path, "gone-") {
				return 150 * time.Millisecond
			}
			return 0
		}
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

// without takes what has one of the names from lists.
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

// TestANamesakeThatTheListShouldHave: the list says nothing about the one before either.
func TestANamesakeThatTheListShouldHave(t *testing.T) {
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

// emptied takes all items from lists at paths that end so.
func emptied(part string) func(path string, answer any) any {
	return func(path string, answer any) any {
		if list, ok := answer.(map[string]any); ok && strings.HasSuffix(path, part) {
			return map[string]any{"metadata": list["metadata"], "items": []any{}}
		}
		return answer
	}
}

// TestAnEditThatIsNotReadStopsDeletions: what is in force is known to be outdated.
func TestAnEditThatIsNotReadStopsDeletions(t *testing.T) {
	l := oneEnforced(t)
	before := l.live.clone().policies["p"]
	l.policy("p", spec("Suspended", "1h"))
	says := map[string]func(){
		"nothing there": func() { l.fail = about("/p", statusError(http.StatusNotFound)) },
		"what was before": func() {
			l.said = func(path string, answer any) any {
				if strings.HasSuffix(path, "/p") {
					return before.Object
				}
				return answer
			}
		},
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
	expect.Equal(t, "rules", []string{"p/jobs Suspended 1h"}, l.allowed("team-a"))
}

// TestAPolicyThatComesAndGoesStopsItsOwnNamespaceAlone: a tenant may create and delete policies all day, and a list may have each just
// before it is gone.
func TestAPolicyThatComesAndGoesStopsItsOwnNamespaceAlone(t *testing.T) {
	s := newServer()
	s.policy("p", spec("Enforce", "1h"))
	l := newHarness(t, s)
	l.counted("p")
	s.during = func(path string) {
		if path == apiPath+"/retentionpolicies" {
			s.removePolicy("team-b/short")
		}
	}
	for range 3 {
		l.later(1001 * time.Millisecond)
		s.policy("team-b/short", "{mode: DryRun, overrides: [{policy: p, ttl: 2h}]}")
		if _, err := l.check("team-a"); err != nil {
			t.Errorf("another namespace: %v", err)
		}
		if _, err := l.check("team-b"); !errors.Is(err, preflight.ErrNamespace) {
			t.Errorf("its namespace: %v", err)
		}
	}
	s.during = nil
	l.later(1001 * time.Millisecond)
	l.allowed("team-b")
}

// TestDeletedPoliciesAreConfirmedTogether: however fast a tenant deletes policies, the API server is asked for everything once a second.
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
	expect.Equal(t, "policies in force", 0, len(l.published[len(l.published)-1].Snapshot.Policies()))
}

// confirmed is after how long a deletion is known to be one.
const confirmed = 1001 * time.Millisecond

// TestNobodyWaitsForAnEditInAnotherNamespace: tenants may edit large policies all the time, and the API server be slow to give each.
func TestNobodyWaitsForAnEditInAnotherNamespace(t *testing.T) {
	s := newServer()
	s.policy("p", spec("Enforce", "1h"))
	l := newHarness(t, s)
	l.counted("p")
	var asked, answer chan struct{}
	hold := func() {
		began, ends := make(chan struct{}), make(chan struct{})
		asked, answer = began, ends
		s.set(func() {
			s.takes = func(path string) time.Duration {
				if path == apiPath+"/namespaces/team-b/retentionpolicies/own" {
					close(began)
					<-ends
				}
				return 0
			}
		})
	}
	check := func(namespace string) error {
		_, err := l.Check(t.Context(), namespace)
		return err
	}
	hold()
	s.policy("team-b/own", longer)
	l.later(1001 * time.Millisecond)
	expect.Equal(t, "check of another namespace", nil, check("team-a"))
	<-asked
	if err := check("team-b"); !errors.Is(err, preflight.ErrNamespace) {
		t.Errorf("check of its namespace: %v", err)
	}
	l.later(1001 * time.Millisecond)
	expect.Equal(t, "check of another namespace once more", nil, check("team-a")) // does not ask again
	close(answer)
	l.compiled()
	expect.Equal(t, "check of its namespace afterwards", nil, check("team-b"))
	expect.Equal(t, "rules in its namespace", []string{"p/jobs Enforce 4h"}, l.rules("team-b"))

	hold()
	s.policy("team-b/own", sparing)
	l.later(1001 * time.Millisecond)
	expect.Equal(t, "check of another namespace", nil, check("team-a"))
	<-asked
	s.set(func() { s.takes = nil })
	s.removePolicy("team-b/own")
	l.later(1001 * time.Millisecond)
	expect.Equal(t, "check of another namespace after the removal", nil, check("team-a"))
	close(answer)
	l.compiled()
	expect.Equal(t, "rules after the removal", enforced, l.rules("team-b"))
}

// TestAPolicyThatCouldNotBeReadIsReadAgain though nothing is due, and the cache has it: what the cache has is older than the list.
func TestAPolicyThatCouldNotBeReadIsReadAgain(t *testing.T) {
	s := newServer()
	s.policy("p", spec("Enforce", "1h"))
	l := newHarness(t, s)
	s.policy("team-b/own", longer)
	s.set(func() { s.fail = about("/retentionpolicies/own", statusError(http.StatusServiceUnavailable)) })
	if _, err := l.Check(t.Context(), "team-b"); !errors.Is(err, preflight.ErrNamespace) {
		t.Fatalf("check while the policy cannot be read: %v", err)
	}
	l.refresh()
	s.set(func() { s.fail = nil })
	l.later(confirmed)
	if again := l.reconcile().RequeueAfter; again == 0 || again > time.Minute {
		t.Errorf("looks again after %s", again)
	}
	expect.Equal(t, "rules", []string{"p/jobs Enforce 4h"}, l.rules("team-b"))
}
