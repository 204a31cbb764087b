package status_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
	"github.com/sunset-k8s/sunset/controllers/policyset/permissions"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var resource = schema.GroupResource{Group: "batch", Resource: "jobs"}

// TestTheRoleThatIsMissingIsInTheCondition as a whole, and only if permissions on the kind are missing. Ready contains only the
// sentence.
func TestTheRoleThatIsMissingIsInTheCondition(t *testing.T) {
	denied := &retention.SourceError{Reason: "Forbidden", Message: "Sunset may not delete jobs.batch", Resource: resource}
	elsewhere := &retention.SourceError{Reason: "Forbidden", Message: "Sunset may not get apiservices"}
	for name, test := range map[string]struct {
		kind      func(k *retention.KindState)
		condition string
		role      bool
	}{
		"objects cannot be listed":      {func(k *retention.KindState) { k.Lost = denied }, v1alpha1.ConditionWatching, true},
		"objects cannot be deleted":     {func(k *retention.KindState) { k.Undeletable = denied }, v1alpha1.ConditionEnforcing, true},
		"objects cannot be marked":      {func(k *retention.KindState) { k.Unmarkable = denied }, v1alpha1.ConditionEnforcing, true},
		"other permissions are missing": {func(k *retention.KindState) { k.Lost = elsewhere }, v1alpha1.ConditionWatching, false},
		"both kinds are missing":        {func(k *retention.KindState) { k.Lost, k.Undeletable = elsewhere, denied }, v1alpha1.ConditionEnforcing, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := policyOf(v1alpha1.Enforce, rule("a"), rule("b"))
			p.Rules[1].Mark = "m"
			s := viewOf(compiledOf(p), test.kind).Status(p)
			said := message(s, test.condition)
			want := rbac.OfSunset(p, fixture.Jobs.GroupKind(), resource).YAML()
			expect.Equal(t, "has the role", test.role, strings.Contains(said, "\n"+want))
			if ready := message(s, v1alpha1.ConditionReady); strings.Contains(ready, "\n") || !strings.HasPrefix(ready, "Sunset may not ") {
				t.Errorf("ready: %s", ready)
			}
		})
	}
}

func TestTheRoleOfAnAccountIsInTheCondition(t *testing.T) {
	p := ownPolicy(v1alpha1.Enforce, rule("a"), rule("b"))
	lack := &permissions.Missing{Resource: resource, What: "ServiceAccount cleaner may not list jobs.batch in namespace team-a"}
	s := status.View{Compiled: compiledOf(p), Permissions: func(*policy.Rule) (error, bool) { return lack, true }, Now: now}.Status(p)
	expect.Equal(t, "message", rbac.Message(lack.What, rbac.OfAccount(p, fixture.Jobs.GroupKind(), resource)), message(s, v1alpha1.ConditionPermitted))
}

// TestWhatAConditionSaysIsOneLine: users apply the roles in a message as they are, and the author of the policy chooses the
// kind and the account.
func TestWhatAConditionSaysIsOneLine(t *testing.T) {
	const evil = "a\r---\u2028b\nc"
	const said = "a --- b c"
	p := ownPolicy(v1alpha1.Enforce, rule("a"))
	view := viewOf(compiledOf(p), func(k *retention.KindState) { k.Lost = &retention.SourceError{Reason: "KindNotFound", Message: evil} })
	for name, err := range map[string]error{"unknown": errors.New(evil), "lacking": &permissions.Missing{Resource: resource, What: evil}} {
		view.Permissions = func(*policy.Rule) (error, bool) { return err, true }
		s := view.Status(p)
		expect.Equal(t, name+": watching", said, message(s, v1alpha1.ConditionWatching))
		expect.Equal(t, name+": permitted", said, rbac.Sentence(message(s, v1alpha1.ConditionPermitted)))
	}
}

// TestTheRoleToFollowReferencesIsInTheCondition: the role of the policy that reads references, and that of a policy that
// declares referrers which Sunset may not list.
func TestTheRoleToFollowReferencesIsInTheCondition(t *testing.T) {
	app, pod := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	apps, pods := schema.GroupResource{Group: "example.com", Resource: "apps"}, schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		denied map[schema.GroupVersionKind]bool
		roles  func(p, q *policy.Policy) []rbac.Permission
	}{
		"referrers that Sunset knows":            {map[schema.GroupVersionKind]bool{pod: true}, func(p, _ *policy.Policy) []rbac.Permission { return []rbac.Permission{rbac.OfReferences(p, pods)} }},
		"referrers that another policy declares": {map[schema.GroupVersionKind]bool{app: true}, func(_, q *policy.Policy) []rbac.Permission { return []rbac.Permission{rbac.OfReferences(q, apps)} }},
		"no missing permission":                  {nil, func(_, _ *policy.Policy) []rbac.Permission { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			withReferences(t, func(t *testing.T, w *harness, _ *references.Index) {
				p, q := policyOf(v1alpha1.DryRun, rule("a", asking)), policyOf(v1alpha1.DryRun, rule("a"))
				q.Name, q.UID = "q", "q"
				q.References = []*policy.Reference{{From: app}}
				w.Referrers = states{
					{Kind: app, From: "App.v1.example.com", Phase: referrers.Unknown, Resource: apps, Denied: test.denied[app]},
					{Kind: pod, From: "Pod", Phase: referrers.Unknown, Resource: pods, Denied: test.denied[pod]},
				}
				e := w.asks(p)
				e.Snapshot = compiledOf(p, q).Snapshot
				w.Use(e)
				bubble.Pass(10 * time.Second)
				want := "rules that read references keep every Job, because some references are not known: Pod: it has not been listed yet"
				expect.Equal(t, "message of Ready", want, message(w.status(), v1alpha1.ConditionReady))
				if roles := test.roles(p, q); len(roles) > 0 {
					want = rbac.Message(want, roles...)
				}
				expect.Equal(t, "message", want, message(w.status(), v1alpha1.ConditionReferencesKnown))
			})
		})
	}
}
