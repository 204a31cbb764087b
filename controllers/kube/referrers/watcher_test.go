// SPDX-License-Identifier: Apache-2.0

package referrers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var (
	configMaps = references.Asked{references.ConfigMap: policy.AsksReferences}
	secrets    = references.Asked{references.Secret: policy.AsksReferences}
	both       = references.Asked{references.ConfigMap: policy.AsksReferences, references.Secret: policy.AsksReferences}

	site   = configMap("shop", "site")
	tls    = secret("shop", "tls")
	ofApps = references.Declared{From: appKind, To: references.Secret, Names: "[object.spec.secret]"}
)

func TestWatcherFollowsReferrers(t *testing.T) {
	for way, streams := range map[string]bool{"streamed": true, "page by page": false} {
		t.Run(way, func(t *testing.T) {
			s := newServer(streams)
			s.objects[pathOf(fixture.Pods)] = []string{mounting("a", "site"), mounting("b", "site"), mounting("c", "other")}
			watching(t, s, func(w *harness) {
				w.expectDoubt("before a rule asks", references.ConfigMap, "no kind is watched")
				w.change(func() { // nothing is served before it returns
					w.Use(nil, configMaps)
					w.expectDoubt("at once", references.ConfigMap, "has not been listed yet")
				})
				bubble.Pass(time.Second)
				w.expectUses("listed", site, 2)
				w.expectUses("listed", configMap("shop", "third"), 0)
				w.expectDoubt("a kind about which no rule asks", references.Secret, "no kind is watched")
				w.event(fixture.Pods, "ADDED", mounting("d", "site"))
				w.expectUses("one more", site, 3)
				w.event(fixture.Pods, "MODIFIED", mounting("d", "other"))
				w.expectUses("one changed", site, 2)
				w.expectUses("one changed", configMap("shop", "other"), 2)
				bubble.Pass(time.Minute) // a bookmark
				w.event(fixture.Pods, "DELETED", `{"metadata":{"namespace":"shop","name":"a","uid":"uid-a","resourceVersion":"102"}}`)
				w.expectUses("one deleted", site, 1)
				expect.Equal(t, "by", []references.Name{{Kind: "Pod", Namespace: "shop", Name: "b"}}, w.index.By(site))
				expect.Equal(t, "troubles", []referrers.State{}, w.Errors())
			})
		})
	}
}

// TestWatcherUseBeforeStart: Use is called before Start, because the leader loads the rules first.
func TestWatcherUseBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, newServer(true))
		expect.Equal(t, "leader only", true, w.NeedLeaderElection())
		w.Use(nil, both)
		bubble.Pass(time.Minute)
		w.expectDoubt("before the start", references.ConfigMap, "has not been listed yet")
		expect.Equal(t, "requests", 0, len(w.requests))
		expect.Equal(t, "troubles", 28-1, len(w.Errors()))
	})
}

func TestKindsComeAndGo(t *testing.T) {
	watching(t, newServer(true), func(w *harness) {
		watched := func(kind schema.GroupVersionKind) bool { return w.watchOf(kind) != nil }
		w.Use(nil, configMaps)
		bubble.Pass(time.Second)
		expect.Equal(t, "Pods are watched", true, watched(fixture.Pods))
		expect.Equal(t, "ServiceAccounts are watched, which refer only to Secrets", false, watched(accountKind))
		w.index.Take()
		w.change(func() {
			w.kinds[appKind] = true
			w.objects[pathOf(appKind)] = []string{object("a", `,"spec":{"secret":"tls"}`)}
		})
		w.Use([]references.Declared{ofApps}, both)
		whole := w.index.Take().Whole // the doubt may have ended by now
		expect.Equal(t, "doubt about Secrets", true, slices.Contains(whole, references.Secret))
		expect.Equal(t, "doubt about ConfigMaps", false, slices.Contains(whole, references.ConfigMap))
		bubble.Pass(time.Second)
		w.expectUses("declared", tls, 1)
		expect.Equal(t, "ServiceAccounts are watched", true, watched(accountKind))
		w.Use(nil, secrets)
		bubble.Pass(time.Second)
		w.expectUses("no longer declared", tls, 0)
		expect.Equal(t, "Apps are watched", false, watched(appKind))
		w.expectUses("rules no longer ask about ConfigMaps", site, 0)
		w.Use(nil, nil)
		bubble.Pass(time.Second)
		w.expectDoubt("no rule asks", references.Secret, "no kind is watched")
		for _, kind := range []schema.GroupVersionKind{fixture.Pods, accountKind} {
			expect.Equal(t, kind.Kind+" is watched", false, watched(kind))
		}
		expect.Equal(t, "states", nil, w.States())
	})
}

// TestUseOfTheSameChangesNothing: the same policies are published many times.
func TestUseOfTheSameChangesNothing(t *testing.T) {
	watching(t, newServer(true), func(w *harness) {
		w.Use([]references.Declared{ofApps}, both)
		bubble.Pass(time.Second)
		w.index.Take()
		w.asked("")
		w.Use([]references.Declared{ofApps, ofApps}, both)
		bubble.Pass(4 * time.Second)
		expect.Equal(t, "wavered", false, w.wavered(references.Secret) || w.wavered(references.ConfigMap))
		expect.Equal(t, "lists of Pods", 0, len(w.asked(pathOf(fixture.Pods))))
	})
}

func TestPermissionsAreDeniedAndGranted(t *testing.T) {
	for name, refuse := range map[string]func(*server, int){
		"to list and watch": func(s *server, code int) { s.fails[pathOf(fixture.Pods)] = code },
		"to watch":          func(s *server, code int) { s.watches[pathOf(fixture.Pods)] = code },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(false)
			s.objects[pathOf(fixture.Pods)] = []string{mounting("a", "site")}
			refuse(s, 403)
			watching(t, s, func(w *harness) {
				w.Use(nil, configMaps)
				bubble.Pass(time.Second)
				const want = "Pod: Sunset has no permission to list and watch pods; grant its ServiceAccount the verbs list, watch on that resource"
				w.expectDoubt("refused", references.ConfigMap, want)
				w.index.Take()
				bubble.Pass(time.Minute)
				w.expectDoubt("after a minute", references.ConfigMap, want)
				expect.Equal(t, "wavered", false, w.wavered(references.ConfigMap))
				if lists := len(w.asked(pathOf(fixture.Pods))); lists > 60 {
					t.Errorf("%d requests in a minute", lists)
				}
				troubles := w.Errors()
				expect.Equal(t, "troubles", 1, len(troubles))
				expect.Equal(t, "kind", fixture.Pods, troubles[0].Kind)
				w.change(func() { refuse(w.server, 0) })
				bubble.Pass(15 * time.Second)
				w.expectUses("granted", site, 1)
				expect.Equal(t, "troubles", []referrers.State{}, w.Errors())
			})
		})
	}
}

// TestErrorOfAnotherKindIsIgnored: an error of a kind that refers only to Secrets does not affect ConfigMaps.
func TestErrorOfAnotherKindIsIgnored(t *testing.T) {
	s := newServer(true)
	s.fails[pathOf(accountKind)] = 403
	watching(t, s, func(w *harness) {
		w.Use(nil, both)
		bubble.Pass(time.Second)
		w.expectUses("ConfigMaps", site, 0)
		w.expectDoubt("Secrets", references.Secret, "serviceaccounts")
		w.Use(nil, configMaps)
		bubble.Pass(3 * time.Second)
		w.expectUses("ConfigMaps alone", site, 0)
		expect.Equal(t, "paused", false, w.paused())
	})
}

// TestObjectThatIsReadByHalf: if the references of an object to Secrets cannot be read, its references to ConfigMaps are
// still known.
func TestObjectThatIsReadByHalf(t *testing.T) {
	s := newServer(true)
	s.objects[pathOf(fixture.Pods)] = []string{mounting("a", "site")}
	watching(t, s, func(w *harness) {
		w.Use([]references.Declared{{From: fixture.Pods, To: references.Secret, Names: "[object.spec.secret]"}}, both)
		bubble.Pass(time.Second)
		w.expectUses("ConfigMaps", site, 1)
		w.expectDoubt("Secrets", references.Secret, "no such key: secret")
	})
}

// TestWatcherUseOfOtherKindCausesNoDoubt: otherwise a new rule about another kind would remove all marks.
func TestWatcherUseOfOtherKindCausesNoDoubt(t *testing.T) {
	watching(t, newServer(true), func(w *harness) {
		w.Use([]references.Declared{ofApps}, configMaps)
		bubble.Pass(3 * time.Second)
		w.index.Take()
		w.asked("")
		w.Use([]references.Declared{ofApps}, both)
		w.expectUses("at once", site, 0)
		bubble.Pass(3 * time.Second)
		w.expectUses("later", tls, 0)
		expect.Equal(t, "wavered", false, w.wavered(references.ConfigMap))
		expect.Equal(t, "Pods are listed again", true, len(w.asked(pathOf(fixture.Pods))) > 0)
		for _, asked := range []references.Asked{secrets, configMaps, both} {
			w.Use([]references.Declared{ofApps}, asked)
			bubble.Pass(time.Second)
		}
		expect.Equal(t, "wavered when rules come and go", false, len(w.index.Take().Whole) > 0)
		expect.Equal(t, "lists of Pods when rules come and go", 0, len(w.asked(pathOf(fixture.Pods))))
	})
}

func TestKindThatIsInstalledAndRemoved(t *testing.T) {
	watching(t, newServer(true), func(w *harness) {
		phase := func() referrers.Phase {
			for _, s := range w.States() {
				if s.Kind == appKind {
					return s.Phase
				}
			}
			return ""
		}
		w.Use([]references.Declared{ofApps}, secrets)
		bubble.Pass(time.Second)
		w.expectUses("absent", tls, 0)
		expect.Equal(t, "phase", referrers.Absent, phase())
		w.index.Take()
		bubble.Pass(time.Minute)
		expect.Equal(t, "wavered while absent", false, w.wavered(references.Secret))
		w.change(func() {
			w.kinds[appKind] = true
			w.objects[pathOf(appKind)] = []string{object("a", `,"spec":{"secret":"tls"}`)}
			w.fails[pathOf(appKind)] = 500
		})
		bubble.Pass(1500 * time.Millisecond)
		w.expectDoubt("installed, but not listed yet", references.Secret, "App.v1.example.org")
		w.change(func() { w.fails[pathOf(appKind)] = 0 })
		bubble.Pass(10 * time.Second)
		w.expectUses("listed", tls, 1)
		expect.Equal(t, "phase", referrers.Watched, phase())
		bubble.Pass(3 * time.Minute) // until the backoff is reset
		w.asked("")
		w.change(func() { delete(w.kinds, appKind) })
		w.event(appKind, "ERROR", answer.StatusText(410))
		bubble.Pass(8 * time.Second)
		w.expectUses("removed", tls, 0)
		expect.Equal(t, "phase", referrers.Absent, phase())
		if n := len(w.asked("/apis/example.org")); n > 9 {
			t.Errorf("%d requests for the group, want at most 9", n)
		}
	})
}

// TestWatcherDoubtsKindsIfDiscoveryFails: unless the API server says clearly that a kind does not exist, its references are unknown.
func TestWatcherDoubtsKindsIfDiscoveryFails(t *testing.T) {
	other := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Other"}
	for name, test := range map[string]struct {
		fail func(s *server)
		mend func(s *server)
		want string
	}{
		"the group fails":           {func(s *server) { s.fails["/apis/example.org"] = 503 }, func(s *server) { clear(s.fails) }, "cannot discover whether the kind exists"},
		"the group is forbidden":    {func(s *server) { s.fails["/apis/example.org"] = 403 }, func(s *server) { clear(s.fails) }, "cannot discover whether the kind exists"},
		"the group cannot be read":  {func(s *server) { s.garbage["/apis/example.org"] = true }, func(s *server) { clear(s.garbage) }, "cannot discover whether the kind exists"},
		"the server is down":        {func(s *server) { s.broken["/apis/example.org"] = true }, func(s *server) { clear(s.broken) }, "cannot discover whether the kind exists"},
		"a version fails":           {func(s *server) { s.kinds[other] = true; s.fails["/apis/example.org/v1"] = 503 }, func(s *server) { clear(s.fails) }, "cannot discover whether the kind exists"},
		"a version is not found":    {func(s *server) { s.kinds[other] = true; s.fails["/apis/example.org/v1"] = 404 }, func(s *server) { clear(s.fails) }, "lists example.org/v1 but does not serve it"},
		"a version cannot be read":  {func(s *server) { s.kinds[other] = true; s.garbage["/apis/example.org/v1"] = true }, func(s *server) { clear(s.garbage) }, "cannot discover whether the kind exists"},
		"another version is served": {func(s *server) { s.kinds[appKind.GroupKind().WithVersion("v2")] = true }, func(s *server) { delete(s.kinds, appKind.GroupKind().WithVersion("v2")) }, "serves it as example.org/v2, but a policy declares its references as example.org/v1; set from.apiVersion to example.org/v2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(true)
			test.fail(s)
			watching(t, s, func(w *harness) {
				w.Use([]references.Declared{ofApps}, secrets)
				bubble.Pass(time.Minute)
				w.expectDoubt("at first", references.Secret, test.want)
				w.change(func() { test.mend(w.server) })
				bubble.Pass(10 * time.Second)
				w.expectUses("fixed", tls, 0)
				w.change(func() { test.fail(w.server) })
				bubble.Pass(20 * time.Second)
				w.expectDoubt("again", references.Secret, test.want)
			})
		})
	}
}

// TestVersionThatFailsIsNoMatterToAnother: a version that fails does not matter if the kind is found in another version.
func TestVersionThatFailsIsNoMatterToAnother(t *testing.T) {
	s := newServer(true)
	s.kinds[appKind], s.kinds[appKind.GroupKind().WithVersion("v2")] = true, true
	s.fails["/apis/example.org/v2"] = 503
	watching(t, s, func(w *harness) {
		w.Use([]references.Declared{ofApps}, secrets)
		bubble.Pass(time.Second)
		w.expectUses("listed", tls, 0)
	})
}

// TestBuiltInKindIsReadAtAnyVersion: an older Gateway API serves only v1beta1.
func TestBuiltInKindIsReadAtAnyVersion(t *testing.T) {
	s := newServer(true)
	older := gatewayKind.GroupKind().WithVersion("v1beta1")
	s.kinds[older] = true
	s.objects[pathOf(older)] = []string{object("g", `,"spec":{"listeners":[{"tls":{"certificateRefs":[{"name":"tls"}]}}]}`)}
	watching(t, s, func(w *harness) {
		w.Use(nil, secrets)
		bubble.Pass(time.Second)
		w.expectUses("listed", tls, 1)
	})
}

func TestObjectThatCannotBeRead(t *testing.T) {
	s := newServer(true)
	s.kinds[appKind] = true
	s.objects[pathOf(appKind)] = []string{object("a", `,"spec":{}`), object("b", `,"spec":{"secret":"tls"}`)}
	watching(t, s, func(w *harness) {
		w.Use([]references.Declared{ofApps}, secrets)
		bubble.Pass(time.Second)
		w.expectDoubt("listed", references.Secret, "App.v1.example.org: shop/a: names: no such key: secret")
		w.event(appKind, "MODIFIED", object("a", `,"spec":{"secret":"other"}`))
		w.expectUses("fixed", tls, 1)
		w.event(appKind, "MODIFIED", object("b", `,"spec":{"secret":7}`))
		w.expectDoubt("changed", references.Secret, "shop/b")
		w.event(appKind, "DELETED", object("b", ``))
		w.expectUses("deleted", tls, 0)
		w.event(appKind, "ADDED", strings.Replace(object("c", `,"spec":{"secret":"tls"}`), `"namespace":"shop",`, "", 1))
		w.expectDoubt("without a namespace", references.Secret, `the reference to Secret "tls" has no namespace`)
	})
}

// rbacKind returns a kind of RBAC, and what it is called in an index.
func rbacKind(name string) (schema.GroupVersionKind, references.Kind) {
	kind := schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: name}
	return kind, references.KindOf(kind.GroupKind())
}

func TestWatcherKnowsWhichTargetsAreMissing(t *testing.T) {
	s := newServer(true)
	bindings, binding := rbacKind("RoleBinding")
	roles, _ := rbacKind("Role")
	clusterRoles, _ := rbacKind("ClusterRole")
	s.kinds[roles], s.kinds[clusterRoles] = true, true
	s.objects[pathOf(bindings)] = []string{object("b", `,"roleRef":{"kind":"Role","name":"reader"},"subjects":[{"kind":"ServiceAccount","name":"ci","namespace":"shop"}]`)}
	s.objects[pathOf(roles)] = []string{object("reader", "")}
	watching(t, s, func(w *harness) {
		w.Use(nil, references.Asked{binding: policy.AsksTargets})
		bubble.Pass(time.Second)
		missing := func(when string, want ...references.Name) {
			t.Helper()
			of := references.Target{Kind: binding, Namespace: "shop", Name: "b"}
			if u := w.index.Of(of); u.Doubt != nil || u.Unread != nil || u.Targets != 2 {
				t.Errorf("%s: %+v", when, u)
			}
			expect.Equal(t, when, want, w.index.Missing(of))
		}
		ci, reader := references.Name{Kind: "ServiceAccount", Namespace: "shop", Name: "ci"}, references.Name{Kind: "Role", Namespace: "shop", Name: "reader"}
		missing("listed", ci)
		w.event(accountKind, "ADDED", object("ci", ""))
		missing("the ServiceAccount was created")
		w.event(roles, "DELETED", object("reader", ""))
		missing("the Role was deleted", reader)
		expect.Equal(t, "a kind to which bindings do not refer is watched", false, w.watchOf(fixture.Pods) != nil)
		w.event(bindings, "MODIFIED", object("b", `,"roleRef":{"kind":"ClusterRole","name":"system:Reader"},"subjects":[{"kind":"ServiceAccount","name":"ci","namespace":"shop"}]`))
		missing("the binding names another role", references.Name{Kind: "ClusterRole", Name: "system:Reader"})
	})
}

func TestWatcherCountsWhatSelectorsMatch(t *testing.T) {
	labelled := func(name, labels, more string) string {
		return strings.Replace(object(name, more), `"uid"`, `"labels":`+labels+`,"uid"`, 1)
	}
	services := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	deployments := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	s := newServer(true)
	s.objects[pathOf(services)] = []string{object("web", `,"spec":{"selector":{"app":"web"}}`), object("external", `,"spec":{"externalName":"example.com"}`)}
	s.objects[pathOf(fixture.Pods)] = []string{labelled("a", `{"app":"web","hash":"1"}`, ""), labelled("b", `{"app":"web","hash":"1"}`, ""), labelled("c", `{"app":"other"}`, "")}
	s.objects[pathOf(deployments)] = []string{object("web", `,"spec":{"replicas":0,"template":{"metadata":{"labels":{"app":"web"}}}}`)}
	watching(t, s, func(w *harness) {
		w.Use(nil, references.Asked{"Service": policy.AsksSelected})
		bubble.Pass(time.Second)
		selected := func(when, name string, want int) {
			t.Helper()
			u := w.index.Of(references.Target{Kind: "Service", Namespace: "shop", Name: name})
			if u.Doubt != nil || u.Unread != nil || u.Selected != want {
				t.Errorf("%s: %+v, want %d", when, u, want)
			}
		}
		selected("two Pods and a template", "web", 3)
		selected("no selector", "external", 0)
		w.event(fixture.Pods, "MODIFIED", labelled("c", `{"app":"web"}`, ""))
		selected("a Pod got the label", "web", 4)
		w.event(fixture.Pods, "DELETED", object("a", ""))
		selected("a Pod was deleted", "web", 3)
		w.event(services, "MODIFIED", object("web", `,"spec":{"selector":{"hash":"1"}}`))
		selected("another selector", "web", 1)
	})
}

// TestRuleAboutAnotherKindDoesNotForgetReferences: while Pods are listed again because they must tell more, what is known stays
// known, and the references that both listings have are not removed.
func TestRuleAboutAnotherKindDoesNotForgetReferences(t *testing.T) {
	s := newServer(true)
	s.objects[pathOf(fixture.Pods)] = []string{mounting("a", "site")}
	accounts := references.Asked{references.ConfigMap: policy.AsksReferences, "ServiceAccount": policy.AsksReferences}
	watching(t, s, func(w *harness) {
		w.Use(nil, configMaps)
		bubble.Pass(3 * time.Second)
		since := w.index.Of(site).Since
		w.index.Take()
		w.change(func() { w.fails[pathOf(fixture.Pods)] = 500 })
		w.Use(nil, accounts)
		bubble.Pass(3 * time.Second)
		w.expectUses("while Pods cannot be listed again", site, 1)
		w.expectDoubt("of the new kind", "ServiceAccount", "Pod (read again)")
		phases := map[references.SourceID]referrers.Phase{}
		for _, s := range w.States() {
			if s.Kind == fixture.Pods {
				phases[s.From] = s.Phase
			}
		}
		expect.Equal(t, "states of Pods", map[references.SourceID]referrers.Phase{"Pod": referrers.Watched, "Pod (read again)": referrers.Unknown}, phases)
		w.event(fixture.Pods, "ADDED", mounting("b", "site"))
		w.expectUses("the first watch continues", site, 2)
		w.change(func() {
			clear(w.fails)
			w.objects[pathOf(fixture.Pods)] = []string{mounting("a", "site"), mounting("b", "site")}
		})
		bubble.Pass(time.Minute)
		w.expectUses("listed again", site, 2)
		w.expectUses("of the new kind", references.Target{Kind: "ServiceAccount", Namespace: "shop", Name: "default"}, 2)
		expect.Equal(t, "since when", since, w.index.Of(site).Since)
		expect.Equal(t, "wavered", false, w.wavered(references.ConfigMap))
		expect.Equal(t, "troubles", []referrers.State{}, w.Errors())
	})
}

// TestExtractorsThatChange: a kind with changed extractors is listed again, and no target counts as unreferenced until then.
func TestExtractorsThatChange(t *testing.T) {
	s := newServer(true)
	s.kinds[appKind] = true
	s.objects[pathOf(appKind)] = []string{object("a", `,"spec":{"secret":"tls","more":["other"]}`)}
	watching(t, s, func(w *harness) {
		w.Use([]references.Declared{ofApps}, secrets)
		bubble.Pass(time.Second)
		for i := range 4 {
			declared := []references.Declared{ofApps}
			if i%2 == 0 {
				declared = append(declared, references.Declared{From: appKind, To: references.Secret, Names: "object.spec.more"})
			}
			w.change(func() { // nothing is served before it returns
				w.Use(declared, secrets)
				w.expectDoubt("at once", references.Secret, "has not been listed yet")
			})
			bubble.Pass(time.Second)
			w.expectUses("reference of the first declaration", tls, 1)
			w.expectUses("reference of the second declaration", secret("shop", "other"), 1-i%2)
		}
	})
}

func TestDeclarationThatIsRefused(t *testing.T) {
	watching(t, newServer(true), func(w *harness) {
		w.Use([]references.Declared{{From: appKind, To: references.Secret, Names: "object."}}, both)
		bubble.Pass(time.Second)
		w.expectDoubt("refused", references.Secret, "the declared references of example.org/v1, Kind=App to Secret by object.")
		w.expectUses("other kind", site, 0)
		expect.Equal(t, "troubles", 1, len(w.Errors()))
		w.Use(nil, both)
		bubble.Pass(time.Second)
		w.expectUses("fixed", tls, 0)
	})
}

// TestInvalidReferenceMayReferToAnything: an invalid declaration may refer to any object of its kinds of targets, until it is fixed.
func TestInvalidReferenceMayReferToAnything(t *testing.T) {
	watching(t, newServer(true), func(w *harness) {
		misread := references.InvalidReference{From: "spec.references[0] of policy p", To: references.Secret, Why: "names: missing"}
		w.Use(nil, both, misread)
		bubble.Pass(time.Second)
		w.expectDoubt("invalid", references.Secret, "spec.references[0] of policy p: names: missing")
		w.expectUses("other kind", site, 0)
		misread.To = ""
		w.Use(nil, both, misread)
		bubble.Pass(time.Second)
		w.expectDoubt("unknown kind of targets", references.ConfigMap, "spec.references[0] of policy p")
		w.expectDoubt("unknown kind of targets", references.Secret, "spec.references[0] of policy p")
		w.Use(nil, both)
		bubble.Pass(time.Second)
		w.expectUses("fixed", tls, 0)
		w.expectUses("fixed", site, 0)
	})
}

// TestDeclarationsThatAreRefusedTogether: the same expression may be declared for targets of several kinds.
func TestDeclarationsThatAreRefusedTogether(t *testing.T) {
	watching(t, newServer(true), func(w *harness) {
		w.Use([]references.Declared{{From: appKind, To: references.Secret, Names: "object."}, {From: appKind, To: references.ConfigMap, Names: "object."}}, both)
		bubble.Pass(time.Second)
		for _, kind := range both.Kinds() {
			w.expectDoubt("refused", kind, "the declared references of example.org/v1, Kind=App to "+string(kind)+" by object.")
		}
	})
}

// TestWatcherForgetsKindsThatNothingAnswers: otherwise the authors of rules could fill the memory.
func TestWatcherForgetsKindsThatNothingAnswers(t *testing.T) {
	watching(t, newServer(true), func(w *harness) {
		w.Use([]references.Declared{ofApps}, both)
		for i := range 20 {
			custom := references.Kind(fmt.Sprintf("Kind%d.example.com", i))
			w.Use([]references.Declared{ofApps}, references.Asked{references.ConfigMap: policy.AsksReferences, custom: policy.AsksReferences})
			w.expectDoubt("of a kind that nothing refers to", custom, "no kind is watched")
			expect.Equal(t, "asked", []references.Kind{references.ConfigMap, custom, references.Secret}, w.Asked())
		}
	})
}

// TestRuleAsksWhatNothingDeclares: what Apps refer to is declared, but not what refers to Apps.
func TestRuleAsksWhatNothingDeclares(t *testing.T) {
	app := references.KindOf(appKind.GroupKind())
	asked := references.Asked{app: policy.AsksReferences | policy.AsksTargets}
	undeclared := func(w *harness) policy.Relations { return w.index.Of(references.Target{Kind: app}).Undeclared }
	watching(t, newServer(true), func(w *harness) {
		w.Use([]references.Declared{ofApps}, asked)
		bubble.Pass(time.Second)
		w.expectUses("listed", references.Target{Kind: app}, 0)
		expect.Equal(t, "undeclared", policy.AsksReferences, undeclared(w))
		w.index.Take()
		w.change(func() { // nothing is served before it returns
			w.Use([]references.Declared{ofApps, {From: fixture.Pods, To: app, Names: "[]"}}, asked)
			w.expectDoubt("declared, but not listed", app, "Pod: it has not been listed yet")
		})
		expect.Equal(t, "undeclared after a declaration", 0, undeclared(w))
		expect.Equal(t, "wavered", true, w.wavered(app))
		w.Use([]references.Declared{ofApps}, asked)
		expect.Equal(t, "undeclared when it was removed", policy.AsksReferences, undeclared(w))
		w.Use(nil, nil)
		expect.Equal(t, "undeclared when no rule asks", 0, undeclared(w))
	})
}

// TestInvalidReferenceStaysInDoubt: doubt that ends and begins again would remove marks.
func TestInvalidReferenceStaysInDoubt(t *testing.T) {
	watching(t, newServer(true), func(w *harness) {
		misread := references.InvalidReference{From: "spec.references[0] of policy p", To: references.Secret, Why: "names: missing"}
		w.Use(nil, both, misread)
		bubble.Pass(time.Second)
		w.index.Take()
		misread.Why = "names: unknown name"
		w.Use(nil, both, misread)
		expect.Equal(t, "has changed", nil, w.index.Take().Whole)
		w.expectDoubt("with the new reason", references.Secret, "names: unknown name")
		misread.To = "" // about more kinds than before
		w.Use(nil, both, misread)
		expect.Equal(t, "kinds whose doubt has changed", []references.Kind{references.ConfigMap}, w.index.Take().Whole)
	})
}

// TestSecretsAreAskedForTheirMetadata: Sunset must not receive the data of Secrets.
func TestSecretsAreAskedForTheirMetadata(t *testing.T) {
	for way, streams := range map[string]bool{"streamed": true, "page by page": false} {
		s := newServer(streams)
		s.kinds[fixture.Secrets] = true
		s.objects[pathOf(fixture.Secrets)] = []string{`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata",` + object("a", ``)[1:]}
		watching(t, s, func(w *harness) {
			w.Use([]references.Declared{{From: fixture.Secrets, To: references.Secret, Names: "object.kind == 'Secret' ? ['tls'] : []"}}, secrets)
			bubble.Pass(time.Second)
			w.expectUses(way, tls, 1)
			for _, path := range []string{"/api/v1/secrets", "/api/v1/configmaps"} {
				asked := 0
				w.change(func() {
					for _, r := range w.requests {
						if r.URL.Path == path && strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
							asked++
						} else if r.URL.Path == path {
							t.Errorf("%s requests more than metadata", r.URL)
						}
					}
				})
				expect.Equal(t, path+" is requested", true, asked > 0)
			}
		})
	}
}
