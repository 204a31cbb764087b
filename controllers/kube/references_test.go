// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/kube"
	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// referred is a source of ConfigMaps, and an index of references that the test controls.
type referred struct {
	*testing.T
	*server
	source     fullSource
	sink       *sink
	references *references.Index
	compiler   *engine.Compiler
	cluster    *kube.Cluster
	ctx        context.Context
	versions   int // of objects, so far
}

// unused is the expression of most rules of these tests.
const unused = "references.count == 0"

// inUse runs a test in a bubble with a source that watches ConfigMaps a and b at version 1 for some rules. At first, no object
// refers to them.
func inUse(t *testing.T, expressions []string, test func(u *referred)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		u := &referred{
			T: t, server: &server{objects: []string{configAt("a", "1"), configAt("b", "1")}}, sink: &sink{},
			references: references.New(clock.RealClock{}), compiler: fixture.Compiler(t), ctx: log.IntoContext(t.Context(), logr.Discard()),
		}
		u.references.Expect("Pod", references.ConfigMap)
		u.references.Replace("Pod", nil)
		cluster, err := kube.New(kube.Options{
			Config: &rest.Config{Host: "http://server", QPS: -1}, HTTP: &http.Client{Transport: u.server}, Mapper: u.server,
			Clock: clock.RealClock{}, Compiler: u.compiler, References: u.references,
		})
		expect.NoError(t, err)
		u.cluster = cluster
		u.source = cluster.Open(u.ruleSet(fixture.ConfigMaps, nil, expressions...)).(fullSource)
		stop := running(u.T, u.source, u.sink)
		defer stop()
		u.sink.take()
		test(u)
	})
}

// ruleSet returns rules for all namespaces, and the own rules of team-a.
func (u *referred) ruleSet(kind schema.GroupVersionKind, own []string, everywhere ...string) retention.RuleSet {
	compiled := func(expressions []string) (rules []*engine.Program) {
		for _, e := range expressions {
			rules = append(rules, compile(u.T, u.compiler, kind, eligible(e)))
		}
		return rules
	}
	if own == nil {
		return retention.NewRuleSet(kind, compiled(everywhere), nil)
	}
	return retention.NewRuleSet(kind, compiled(everywhere), map[string][]*engine.Program{"team-a": compiled(own)})
}

// refer sets the references of a Pod to ConfigMaps of team-a.
func (u *referred) refer(pod string, names ...string) {
	r := references.Referrer{UID: types.UID(pod), Name: references.Name{Kind: "Pod", Namespace: "team-a", Name: pod}}
	for _, name := range names {
		r.Targets = append(r.Targets, references.Target{Kind: references.ConfigMap, Namespace: "team-a", Name: name})
	}
	u.references.Put("Pod", r)
}

// configAt returns the JSON of a ConfigMap with content that rules do not read.
func configAt(name, version string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"team-a","uid":"uid-%s","resourceVersion":%q,
		"creationTimestamp":"1999-12-31T12:00:00Z","labels":{"app":"<web>"},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"private"},
		"managedFields":[{"manager":"private"}]},"data":{"mode":"fast","key":"private"}}`, name, name, version)
}

// says returns the result of each rule in a row: yes, no, doubt or an error.
func says(row *index.FactRow) (answers []string) {
	for _, f := range row.Facts() {
		switch {
		case f.InDoubt():
			answers = append(answers, "doubt")
		case f.Err != nil:
			answers = append(answers, f.Err.Error())
		case f.Eligible:
			answers = append(answers, "yes")
		default:
			answers = append(answers, "no")
		}
	}
	return answers
}

// says returns the last results for a ConfigMap.
func (u *referred) says(name string) string {
	u.sink.mu.Lock()
	defer u.sink.mu.Unlock()
	return strings.Join(says(u.sink.rows[name]), " ")
}

// calls returns the calls of the sink since the last told, sorted: the order of evaluations is random.
func (u *referred) calls() []string {
	synctest.Wait()
	calls := u.sink.take()
	slices.Sort(calls)
	return calls
}

var errLost = errors.New("no permission to list Pods")

// TestMissingTargetsAreReevaluated: rules are evaluated again when a target of an object appears or disappears, and when it becomes
// known what the object refers to. Before a deletion, both watches must have seen the same version of the object.
func TestMissingTargetsAreReevaluated(t *testing.T) {
	inUse(t, []string{"targets.missing.exists(t, t.kind == 'Secret' && t.name == 'tls')"}, func(u *referred) {
		u.calls()
		expect.Equal(t, "before it is known what it refers to", "doubt", u.says("a"))
		owned := references.Referrer{
			UID: "uid-a", Name: references.Name{Kind: "ConfigMap", Namespace: "team-a", Name: "a"},
			Targets: []references.Target{{Kind: references.Secret, Namespace: "team-a", Name: "tls"}},
			Object:  &references.Object{Kind: references.ConfigMap, Version: "1"},
		}
		tls := references.Referrer{UID: "tls", Name: references.Name{Kind: "Secret", Namespace: "team-a", Name: "tls"}, Object: &references.Object{Kind: references.Secret}}
		u.references.Expect("Secret", references.ConfigMap)
		u.references.Expect("ConfigMap", references.ConfigMap)
		u.references.Replace("ConfigMap", []references.Referrer{owned})
		u.calls()
		expect.Equal(t, "before the targets are listed", "doubt", u.says("a"))
		u.references.Replace("Secret", []references.Referrer{tls})
		u.calls()
		expect.Equal(t, "its target exists", "no", u.says("a"))
		expect.Equal(t, "another object, which was not read", "doubt", u.says("b"))
		u.references.Remove("Secret", "tls")
		u.calls()
		expect.Equal(t, "its target is missing", "yes", u.says("a"))
		subject := policy.Subject{Namespace: "team-a", Name: "a", UID: "uid-a", ResourceVersion: "1"}
		expect.NoError(t, u.source.Confirm(subject))
		subject.ResourceVersion = "2"
		if err := u.source.Confirm(subject); err == nil {
			t.Error("a newer version is confirmed although it is not known what it refers to")
		}
	})
}

func TestChangedReferencesAreReevaluated(t *testing.T) {
	inUse(t, []string{unused, "references.by.all(r, r.kind == 'ReplicaSet')"}, func(u *referred) {
		began := time.Now()
		expect.Equal(t, "a without references", "yes yes", u.says("a"))
		u.refer("web", "a")
		expect.Equal(t, "calls for a reference to a", []string{"apply a@1"}, u.calls())
		expect.Equal(t, "a with a reference", "no no", u.says("a"))
		u.refer("web", "b", "elsewhere")
		expect.Equal(t, "calls for a reference to b instead", []string{"apply a@1", "apply b@1"}, u.calls())
		expect.Equal(t, "a without a reference again", "yes yes", u.says("a"))
		expect.Equal(t, "b with a reference", "no no", u.says("b"))
		u.refer("web", "elsewhere")
		expect.Equal(t, "calls without a reference to b", []string{"apply b@1"}, u.calls())
		expect.Equal(t, "time passed", 0, time.Since(began))
	})
}

// TestUnreadableKeptObjectsAreRelisted: without a relist the kind would stay lost.
func TestUnreadableKeptObjectsAreRelisted(t *testing.T) {
	inUse(t, []string{unused}, func(u *referred) {
		kube.Spoil(u.source)
		u.refer("web", "a")
		lost := u.calls()
		if !slices.Contains(lost, "lost ListFailed") {
			t.Errorf("calls %v, want lost ListFailed", lost)
		}
		time.Sleep(time.Second)
		if calls := u.calls(); len(calls) != 1 || !strings.HasPrefix(calls[0], "replace") {
			t.Errorf("calls %v within a second, want one listing", calls)
		}
		expect.Equal(t, "result after the relist", "no", u.says("a"))
	})
}

func TestDoubtReevaluatesEverything(t *testing.T) {
	inUse(t, []string{unused, "has(object.metadata.labels)"}, func(u *referred) {
		u.references.Lose("Pod", errLost)
		expect.Equal(t, "calls when doubt begins", []string{"apply a@1", "apply b@1"}, u.calls())
		expect.Equal(t, "in doubt", "doubt yes", u.says("a"))
		u.refer("web", "a")
		u.references.Replace("Pod", nil)
		expect.Equal(t, "calls when doubt ends", []string{"apply a@1", "apply b@1"}, slices.Compact(u.calls()))
		expect.Equal(t, "after doubt", "yes yes", u.says("a"))
	})
}

// TestQuietPeriodBeginsWithTheLastReference: a quiet period begins when the last reference is removed, and when doubt ends.
func TestQuietPeriodBeginsWithTheLastReference(t *testing.T) {
	inUse(t, []string{unused}, func(u *referred) {
		quiet := func() time.Duration {
			synctest.Wait()
			u.sink.mu.Lock()
			defer u.sink.mu.Unlock()
			return time.Until(u.sink.rows["a"].Facts()[0].NotBefore)
		}
		time.Sleep(time.Hour)
		u.refer("web", "a")
		u.refer("web")
		expect.Equal(t, "after a reference", policy.QuietPeriod, quiet())
		time.Sleep(time.Hour)
		u.references.Lose("Pod", errLost)
		synctest.Wait()
		u.references.Replace("Pod", nil)
		expect.Equal(t, "after doubt", policy.QuietPeriod, quiet())
	})
}

func TestWatchEventsUseCurrentReferences(t *testing.T) {
	inUse(t, []string{unused}, func(u *referred) {
		u.refer("web", "a", "c")
		u.calls()
		u.event("MODIFIED", configAt("a", "101"))
		u.event("ADDED", configAt("c", "102"))
		expect.Equal(t, "calls for the events", []string{"apply a@101", "apply c@102"}, u.calls())
		expect.Equal(t, "a", "no", u.says("a"))
		expect.Equal(t, "c", "no", u.says("c"))
		u.refer("web")
		expect.Equal(t, "calls for the known versions", []string{"apply a@101", "apply c@102"}, u.calls())
		u.event("DELETED", configAt("a", "103"))
		u.refer("web", "a", "c")
		expect.Equal(t, "calls after the deletion of a", []string{"apply c@102", "forget uid-a"}, u.calls())
	})
}

// TestReevaluationWhileListsFail: while lists fail, the known objects are still evaluated again. When a list succeeds, its objects are
// evaluated with the references at that time.
func TestReevaluationWhileListsFail(t *testing.T) {
	inUse(t, []string{unused}, func(u *referred) {
		u.server.set(func() { u.server.failList = []int{500, 500, 500} })
		time.Sleep(2 * time.Second)
		u.event("ERROR", answer.StatusText(410))
		u.sink.take()
		u.refer("web", "a")
		expect.Equal(t, "evaluated again without a list", true, slices.Contains(u.calls(), "apply a@1"))
		u.refer("web", "b")
		time.Sleep(time.Minute)
		calls := u.calls()
		expect.Equal(t, "listed", true, slices.ContainsFunc(calls, func(s string) bool { return strings.HasPrefix(s, "replace") }))
		expect.Equal(t, "a", "yes", u.says("a"))
		expect.Equal(t, "b", "no", u.says("b"))
	})
}

// TestSourceKeepsOnlyFieldsThatRulesRead: a source keeps only the fields that rules read, nothing of objects that no such rule selects,
// and never the last applied configuration.
func TestSourceKeepsOnlyFieldsThatRulesRead(t *testing.T) {
	const identity = `"annotations":{},"creationTimestamp":"1999-12-31T12:00:00Z",%s"name":"a","namespace":"team-a","resourceVersion":"1","uid":"uid-a"`
	tests := map[string]struct {
		rules []string
		want  string
	}{
		"no fields":     {[]string{unused}, `{"metadata":{` + fmt.Sprintf(identity, `"labels":{},`) + `}}`},
		"one label":     {[]string{unused + " && object.metadata.labels.app == '<web>'"}, `{"metadata":{` + fmt.Sprintf(identity, `"labels":{"app":"<web>"},`) + `}}`},
		"data":          {[]string{unused, "object.data.mode == 'fast'"}, `{"data":{"mode":"fast"},"metadata":{` + fmt.Sprintf(identity, `"labels":{},`) + `}}`},
		"no references": {[]string{"object.data.mode == 'fast'"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inUse(t, test.rules, func(u *referred) {
				kept := kube.Kept(u.source)["team-a/a"]
				expect.Equal(t, "kept", test.want, kept)
				if strings.Contains(kept, "private") {
					t.Error("the source keeps fields that no rule reads")
				}
			})
		})
	}
}

func TestOfWhatIsNotSelectedNothingIsKept(t *testing.T) {
	inUse(t, nil, func(u *referred) {
		selecting := compile(t, u.compiler, fixture.ConfigMaps, eligible(unused), selected("app", "other"))
		source, k := u.cluster.Open(retention.NewRuleSet(fixture.ConfigMaps, []*engine.Program{selecting}, nil)).(fullSource), &sink{}
		defer running(u.T, source, k)()
		expect.Equal(t, "kept", map[string]string{"team-a/a": "", "team-a/b": ""}, kube.Kept(source))
		k.take()
		u.refer("web", "a")
		synctest.Wait()
		expect.Equal(t, "calls while no object is selected", nil, k.take())
		u.event("MODIFIED", strings.Replace(configAt("a", "101"), "<web>", "other", 1))
		u.refer("web", "b")
		synctest.Wait()
		expect.Equal(t, "calls when a is selected", []string{"apply a@101", "apply a@101"}, k.take())
	})
}

// TestSeveralFollow: while a kind is listed for new rules, two sources of the kind run, and both receive changes of references.
func TestSeveralFollow(t *testing.T) {
	inUse(t, []string{unused}, func(u *referred) {
		next, k := u.cluster.Open(u.ruleSet(fixture.ConfigMaps, nil, unused, "references.count > 0")).(fullSource), &sink{}
		stop := running(u.T, next, k)
		k.take()
		u.refer("web", "a")
		expect.Equal(t, "calls of the first source", []string{"apply a@1"}, u.calls())
		expect.Equal(t, "calls of the next source", []string{"apply a@1"}, k.take())
		stop()
		u.refer("web", "a", "b")
		expect.Equal(t, "later calls of the first source", []string{"apply b@1"}, u.calls())
		expect.Equal(t, "calls of the ended source", nil, k.take())
		_, err := listed(u.ctx, next, "team-a")
		expect.Equal(t, "list of the ended source fails", true, err != nil)
		_ = next.Confirm(policy.Subject{Namespace: "team-a", Name: "a"})
		expect.Equal(t, "calls of the ended source after Confirm", nil, k.take())
	})
}

// TestConfirmReportsAllChanges: when Confirm returns, the sink has received the result of all changes that were known before.
func TestConfirmReportsAllChanges(t *testing.T) {
	inUse(t, []string{unused}, func(u *referred) {
		want := map[bool]string{true: "no", false: "yes"}
		for i := range 1000 {
			used := i%2 == 0
			if used {
				u.refer("web", "a")
			} else {
				u.refer("web")
			}
			_ = u.source.Confirm(policy.Subject{Namespace: "team-a", Name: "a", UID: "uid-a"})
			if got := u.says("a"); got != want[used] {
				t.Fatalf("result %q, want %q", got, want[used])
			}
		}
		u.calls()
		_ = u.source.Confirm(policy.Subject{Namespace: "team-a", Name: "unknown"})
		expect.Equal(t, "calls for an unknown subject", nil, u.calls())
	})
}

// TestConfirmFailsWhileReferencesArePaused: Confirm fails while references may be out of date, but the result is not in doubt.
func TestConfirmFailsWhileReferencesArePaused(t *testing.T) {
	a := policy.Subject{Namespace: "team-a", Name: "a", UID: "uid-a"}
	inUse(t, []string{unused}, func(u *referred) {
		expect.Equal(t, "confirmed", nil, u.source.Confirm(a))
		u.references.Pause("Pod")
		u.calls()
		expect.Equal(t, "Confirm fails during a pause", true, u.source.Confirm(a) != nil)
		expect.Equal(t, "calls", []string{"apply a@1"}, u.calls())
		expect.Equal(t, "result", "yes", u.says("a"))
		u.references.Resume("Pod")
		expect.Equal(t, "error after the pause", nil, u.source.Confirm(a))
	})
	inUse(t, []string{"true"}, func(u *referred) {
		u.references.Pause("Pod")
		expect.Equal(t, "error if no rule reads references", nil, u.source.Confirm(a))
	})
}

// TestMirrorPodIsNotReevaluated: the watch of a rule that reads references brings mirror Pods too.
func TestMirrorPodIsNotReevaluated(t *testing.T) {
	inUse(t, nil, func(u *referred) {
		u.server.set(func() { u.server.objects = nil })
		k := &sink{}
		stop := running(u.T, u.cluster.Open(u.ruleSet(fixture.Pods, nil, "targets.missing.size() == 0")).(fullSource), k)
		defer stop()
		k.take()
		mirror := pod(`,"annotations":{"kubernetes.io/config.mirror":"x"}`)
		for _, event := range []string{"ADDED", "MODIFIED", "DELETED"} {
			u.event(event, mirror)
		}
		expect.Equal(t, "calls for a mirror Pod", nil, k.take())
		u.event("ADDED", pod(""))
		expect.Equal(t, "calls for a Pod", []string{"apply web-0@17"}, k.take())
	})
}

// TestReadPastTheWatchIsAskedAboutToo: a version that was read outside of the watch is evaluated again too, until the watch
// brings a newer one.
func TestReadPastTheWatchIsAskedAboutToo(t *testing.T) {
	a := policy.Subject{Namespace: "team-a", Name: "a", UID: "uid-a"}
	inUse(t, []string{unused}, func(u *referred) {
		u.server.set(func() { u.server.objects[0] = configAt("a", "105") })
		row, err := readBy(u.ctx, u.source, a)
		expect.NoError(t, err)
		expect.Equal(t, "version", "105", row.Subject().ResourceVersion)
		u.refer("web", "a")
		expect.Equal(t, "calls for the version that was read", []string{"apply a@105"}, u.calls())
		row, err = readBy(u.ctx, u.source, a)
		expect.Equal(t, "result of the next read", []string{"no"}, says(row))
		expect.Equal(t, "error", nil, err)
		u.event("MODIFIED", configAt("a", "106"))
		_, err = readBy(u.ctx, u.source, a)
		expect.Equal(t, "error", nil, err)
		u.refer("web")
		expect.Equal(t, "calls for the version of the watch", []string{"apply a@106", "apply a@106"}, u.calls())
	})
}

// TestReadOfDeletedObjectStopsReevaluation: an object that a read shows to be deleted is not evaluated again, unless the
// watch has brought another object of its name.
func TestReadOfDeletedObjectStopsReevaluation(t *testing.T) {
	a := policy.Subject{Namespace: "team-a", Name: "a", UID: "uid-a"}
	another := strings.Replace(configAt("a", "105"), "uid-a", "uid-another", 1)
	tests := map[string]struct {
		objects []string // of the API server
		brought bool     // the watch has brought the other object
		want    []string
	}{
		"not found":                       {nil, false, []string{"apply a@1"}}, // only the watch reports deletions
		"another UID":                     {[]string{another}, false, nil},
		"another UID, known by the watch": {[]string{another}, true, []string{"apply a@105"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inUse(t, []string{unused}, func(u *referred) {
				if test.brought {
					u.event("MODIFIED", another)
					u.calls()
				}
				u.server.set(func() { u.server.objects, u.server.failList = test.objects, []int{404} }) // for every other object
				row, err := readBy(u.ctx, u.source, a)
				if row != nil {
					t.Errorf("read %v", row)
				}
				expect.Equal(t, "not found", test.objects == nil, apierrors.IsNotFound(err))
				u.refer("web", "a")
				expect.Equal(t, "calls", test.want, u.calls())
			})
		})
	}
}

// TestDeletionThatComesLateLeavesTheNamesake: if a list has shown a newer object of the name, a late deletion event does not
// remove it.
func TestDeletionThatComesLateLeavesTheNamesake(t *testing.T) {
	inUse(t, []string{unused}, func(u *referred) {
		u.server.set(func() { u.server.objects = []string{strings.Replace(configAt("a", "105"), "uid-a", "uid-another", 1)} })
		_, err := listed(u.ctx, u.source, "team-a")
		expect.Equal(t, "error", nil, err)
		u.event("DELETED", configAt("a", "104"))
		u.calls()
		u.refer("web", "a")
		expect.Equal(t, "calls", []string{"apply a@105"}, u.calls())
	})
}

func TestNamespaceAsksForItself(t *testing.T) {
	own := []string{"references.count > 0 && object.metadata.labels.app == '<web>'"}
	inUse(t, []string{unused}, func(u *referred) {
		expect.Equal(t, "accepts rules", true, u.source.SetRules(u.ruleSet(fixture.ConfigMaps, own, unused)))
		u.refer("web", "a")
		expect.Equal(t, "calls before the list", []string{"apply a@1"}, u.calls())
		expect.Equal(t, "before the list", "no", u.says("a"))

		var rows []*index.FactRow
		expect.Equal(t, "error", nil, u.source.List(u.ctx, "team-a", nil, func(all []*index.FactRow) bool { rows = all; return false }))
		expect.Equal(t, "in a list that take refuses", []string{"no", "yes"}, says(rows[0]))
		u.refer("web", "a", "b")
		expect.Equal(t, "calls after the refused list", []string{"apply b@1"}, u.calls())
		expect.Equal(t, "after the refused list", "no", u.says("b"))

		_, err := listed(u.ctx, u.source, "team-a")
		expect.Equal(t, "error", nil, err)
		u.refer("web")
		expect.Equal(t, "calls after the list", []string{"apply a@1", "apply b@1"}, u.calls())
		expect.Equal(t, "after the list", "yes no", u.says("a"))
	})
}

// TestSourceThatKeepsNothingIsReopened: a source that keeps nothing refuses a rule that reads references.
func TestSourceThatKeepsNothingIsReopened(t *testing.T) {
	const labels = "has(object.metadata.labels)"
	inUse(t, []string{labels}, func(u *referred) {
		expect.Equal(t, "kept", nil, kube.Kept(u.source))
		expect.Equal(t, "accepts a rule that reads references", false, u.source.SetRules(u.ruleSet(fixture.ConfigMaps, []string{unused}, labels)))
		expect.Equal(t, "accepts a rule that reads metadata", true, u.source.SetRules(u.ruleSet(fixture.ConfigMaps, []string{"object.metadata.name == 'a'"}, labels)))
		u.refer("web", "a")
		expect.Equal(t, "calls", nil, u.calls())
	})
}

// TestRulesWithoutReferenceIndexAreInDoubt: if references are not tracked, rules that read them are in doubt.
func TestRulesWithoutReferenceIndexAreInDoubt(t *testing.T) {
	s := &server{objects: []string{configAt("a", "1")}}
	asking := func(t *testing.T, c *engine.Compiler) *engine.Program {
		return compile(t, c, fixture.ConfigMaps, eligible(unused))
	}
	followingKind(t, fixture.ConfigMaps, s, []func(*testing.T, *engine.Compiler) *engine.Program{asking}, func(t *testing.T, k *sink, _ fullSource) {
		expect.Equal(t, "result", []string{"doubt"}, says(k.rows["a"]))
	})
}

// TestReevaluatorMergesManyChanges: beyond PendingAtMost changes, each object is evaluated once.
func TestReevaluatorMergesManyChanges(t *testing.T) {
	inUse(t, []string{unused}, func(u *referred) {
		pods := make([]references.Referrer, kube.PendingAtMost+1)
		for i := range pods {
			pods[i] = references.Referrer{UID: types.UID(fmt.Sprint(i)), Targets: []references.Target{
				{Kind: references.ConfigMap, Namespace: "team-a", Name: fmt.Sprint("c", i)},
			}}
		}
		u.references.Replace("Pod", pods)
		expect.Equal(t, "calls", []string{"apply a@1", "apply b@1"}, u.calls())
	})
}

func TestSecretsAreMetadata(t *testing.T) {
	const types = "type!=kubernetes.io/service-account-token,type!=bootstrap.kubernetes.io/token,type!=helm.sh/release.v1"
	secret := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"team-a","uid":"uid-a","resourceVersion":"1",
		"creationTimestamp":"1999-12-31T12:00:00Z"},"data":{"password":"private"}}`
	for way, streams := range ways {
		for name, expression := range map[string]string{"references": unused, "labels": "has(object.metadata.labels)", "anything": "true"} {
			t.Run(name+" "+way, func(t *testing.T) {
				inUse(t, nil, func(u *referred) {
					u.server.set(func() { u.server.objects, u.server.streams = []string{secret}, streams })
					source := u.cluster.Open(u.ruleSet(fixture.Secrets, nil, expression)).(fullSource)
					defer running(u.T, source, &sink{})()
					_, err := listed(u.ctx, source, "team-a")
					expect.Equal(t, "error of a list", nil, err)
					_, err = readBy(u.ctx, source, policy.Subject{Namespace: "team-a", Name: "a", UID: "uid-a"})
					expect.Equal(t, "error of a read", nil, err)
					requests := u.asked("/secrets")
					for _, r := range requests {
						if !strings.HasPrefix(r.Header.Get("Accept"), "application/json;as=PartialObjectMetadata") {
							t.Errorf("%s has Accept %s", r.URL, r.Header.Get("Accept"))
						}
						if many := strings.HasSuffix(r.URL.Path, "/secrets"); many {
							expect.Equal(t, "selector of "+r.URL.String(), types, r.URL.Query().Get("fieldSelector"))
						}
					}
					if len(requests) < 3 {
						t.Errorf("%d requests", len(requests))
					}
					for _, kept := range kube.Kept(source) {
						if strings.Contains(kept, "private") {
							t.Errorf("kept %s", kept)
						}
					}
				})
			})
		}
	}
}
