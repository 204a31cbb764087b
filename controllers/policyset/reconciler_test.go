// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/test/expect"
)

const two = `
mode: Enforce
rules:
- {name: good, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object), startTime: finishedAt(object), ttl: 1h}
- {name: other, target: {apiVersion: batch/v1, kind: Job}, eligible: failed(object), startTime: finishedAt(object), ttl: 2h}
`

func TestPoliciesAreReadStrictly(t *testing.T) {
	tests := map[string]struct {
		from, to string // an edit of the two rules
		want     []string
	}{
		"valid": {"", "", []string{"p/good Enforce 1h", "p/other Enforce 2h"}},
		"an unknown field in a rule invalidates only that rule": {"ttl: 2h", "ttl: 2h, keepLast: 3",
			[]string{"p/good Enforce 1h", "p/other Enforce 2h invalid"}},
		"an unknown field in a target, too": {"kind: Job}, eligible: failed", "kind: Job, labels: {}}, eligible: failed",
			[]string{"p/good Enforce 1h", "p/other Enforce 2h invalid"}},
		"an expression that does not compile": {"failed(object)", "failed(objct)",
			[]string{"p/good Enforce 1h", "p/other Enforce 2h invalid"}},
		"an invalid TTL": {"ttl: 2h", "ttl: 2 hours",
			[]string{"p/good Enforce 1h", "p/other Enforce 0s invalid"}},
		"an unknown field of the spec invalidates every rule": {"mode: Enforce", "mode: Enforce\nnamespaceSelectr: {}",
			[]string{"p/good Enforce 1h invalid", "p/other Enforce 2h invalid"}},
		"an unknown mode suspends": {"mode: Enforce", "mode: Enforced",
			[]string{"p/good Suspend 1h invalid", "p/other Suspend 2h invalid"}},
		"without a mode, it is a dry run": {"mode: Enforce", "",
			[]string{"p/good DryRun 1h", "p/other DryRun 2h"}},
		"a protected kind is refused, other kinds are not": {"{apiVersion: batch/v1, kind: Job}, eligible: failed(object)", "{apiVersion: v1, kind: Node}, eligible: 'true'",
			[]string{"p/good Enforce 1h"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := withPolicy(t, strings.Replace(two, test.from, test.to, 1))
			expect.Equal(t, "rules", test.want, l.rules("team-a"))
		})
	}
}

func TestInvalidPolicyDoesNotHideOthers(t *testing.T) {
	for name, bad := range map[string]string{
		"no spec":                "null",
		"empty":                  "{}",
		"rules are not a list":   "{mode: Enforce, rules: {name: x}}",
		"spec is text":           "delete everything",
		"all fields are invalid": "{mode: [1], rules: [7]}",
		"an empty expression":    strings.Replace(two, "finished(object)", "''", 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.policy("bad", bad)
			s.policy("p", spec("Enforce", "1h"))
			l := newHarness(t, s)
			if rules := l.rules("team-a"); !slices.Contains(rules, enforced[0]) {
				t.Errorf("rules %v", rules)
			}
			for _, p := range l.published[0].Snapshot.Policies() {
				if p.Name == "bad" && len(p.Problems) == 0 {
					t.Error("the invalid policy has no problem")
				}
			}
			expect.Equal(t, "policies", 2, len(l.published[0].Snapshot.Policies()))
		})
	}
}

func TestPublishedOnlyWhenSomethingHasChanged(t *testing.T) {
	l := oneEnforced(t)
	for range 5 {
		l.reconcile()
		l.allowed("team-a")
		l.later(2 * time.Second)
	}
	expect.Equal(t, "snapshots", 1, len(l.published))
	l.become(spec("Enforce", "2h"))
	l.allowed("team-a")
	expect.Equal(t, "snapshots after an edit", 2, len(l.published))
	l.namespace("team-a", ci)
	l.refresh()
	expect.Equal(t, "snapshots after a namespace got a label", 3, len(l.published))
	l.hold("team-a", "true")
	l.refresh()
	expect.Equal(t, "snapshots after a namespace got a hold", 4, len(l.published))
}

func TestSnapshotHasTheNamespacesOfTheCache(t *testing.T) {
	l := oneEnforced(t)
	knows := func(name string) bool { return l.snapshot().Knows(name) }
	expect.Equal(t, "team-a", true, knows("team-a"))
	expect.Equal(t, "team-c", false, knows("team-c"))
	l.namespace("team-c", nil)
	l.removeNamespace("team-a")
	l.refresh()
	expect.Equal(t, "team-c after its creation", true, knows("team-c"))
	expect.Equal(t, "team-a after its deletion", false, knows("team-a"))
}

func TestSnapshotPrograms(t *testing.T) {
	l := oneEnforced(t)
	e := l.published[0]
	expect.Equal(t, "programs", 1, len(e.Programs))
	for key, program := range e.Programs {
		expect.Equal(t, "key", key, program.Key())
	}
	l.removePolicy("p")
	l.refresh()
	expect.Equal(t, "programs without policies", 0, len(l.last().Programs))
}

func TestCacheThatCannotBeReadChangesNothing(t *testing.T) {
	l := oneEnforced(t)
	l.Reconciler.Cache = unreadable{l.server}
	if _, err := l.Reconcile(t.Context(), reconcile.Request{}); err == nil {
		t.Error("no error")
	}
	expect.Equal(t, "rules", enforced, l.rules("team-a"))
	expect.Equal(t, "snapshots", 1, len(l.published))
}

type unreadable struct{ client.Reader }

func (unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not synced")
}

func TestRespecifiedFiltersUpdates(t *testing.T) {
	object := func(uid string, generation int64) client.Object {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetUID(types.UID(uid))
		u.SetGeneration(generation)
		return u
	}
	tests := map[string]struct {
		before, after client.Object
		want          bool
	}{
		"another status": {object("a", 1), object("a", 1), false},
		"another spec":   {object("a", 1), object("a", 2), true},
		"another policy of the same name, of the same generation": {object("a", 1), object("b", 1), true},
		"another policy of the same name, of a lower generation":  {object("a", 9), object("b", 1), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "counts", test.want, policyset.Respecified.Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}))
		})
	}
}

func TestSnapshotPolicyIsTheOneThatWasWritten(t *testing.T) {
	p := oneEnforced(t).named("p")
	expect.Equal(t, "generation", 1, p.Generation)
	if p.UID == "" {
		t.Error("no UID")
	}
}
