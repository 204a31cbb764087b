// SPDX-License-Identifier: Apache-2.0

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

// TestRoleThatIsMissingIsInTheCondition as a whole, and only if permissions on the kind are missing. Ready contains only the
// sentence.
func TestRoleThatIsMissingIsInTheCondition(t *testing.T) {
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
			const command = "; to grant what is missing, run kubectl sunset rbac p --missing | kubectl apply -f -"
			expect.Equal(t, "has the command", test.role, strings.HasSuffix(message(s, test.condition), command))
			want := rbac.OfSunset(p, fixture.Jobs.GroupKind(), resource).Status()
			if !test.role {
				want = nil
			}
			expect.Equal(t, "missing permissions", want, s.MissingPermissions)
			if ready := message(s, v1alpha1.ConditionReady); !strings.HasPrefix(ready, "Sunset may not ") {
				t.Errorf("ready: %s", ready)
			}
		})
	}
}

func TestPermissionsThatAnAccountLacks(t *testing.T) {
	p := ownPolicy(v1alpha1.Enforce, rule("a"), rule("b"))
	lack := &permissions.Missing{Resource: resource, What: "ServiceAccount cleaner may not list jobs.batch in namespace team-a"}
	s := status.View{Compiled: compiledOf(p), Permissions: func(*policy.Rule) (error, bool) { return lack, true }, Now: now}.Status(p)
	expect.Equal(t, "message", lack.What+"; to grant what is missing, run kubectl sunset rbac own -n team-a --missing | kubectl apply -f -", message(s, v1alpha1.ConditionPermitted))
	expect.Equal(t, "missing permissions", []v1alpha1.MissingPermission{
		{ServiceAccount: "cleaner", APIGroup: "batch", Resource: "jobs", Verbs: []string{"list", "delete"}, Namespace: "team-a"},
	}, s.MissingPermissions)
}

// TestSnapshotsThatAnAccountMayNotCreate: the status has the permission on VolumeSnapshots, besides those of a rule that deletes them.
func TestSnapshotsThatAnAccountMayNotCreate(t *testing.T) {
	makes := func(r *policy.Rule) { r.Kind, r.Snapshot = policy.ClaimKind, &policy.ClaimSnapshot{} }
	deletes := func(r *policy.Rule) { r.Kind = policy.VolumeSnapshotKind }
	lack := &permissions.Missing{Resource: rbac.VolumeSnapshots, What: "ServiceAccount cleaner may not create volumesnapshots.snapshot.storage.k8s.io in namespace team-a"}
	for name, test := range map[string]struct {
		policy *policy.Policy
		verbs  []string
	}{
		"a rule that makes them":              {ownPolicy(v1alpha1.Enforce, rule("a", makes)), []string{"create"}},
		"another rule that deletes them":      {ownPolicy(v1alpha1.Enforce, rule("a", makes), rule("b", deletes)), []string{"list", "create", "delete"}},
		"only a rule that does not make them": {ownPolicy(v1alpha1.Enforce, rule("b", deletes)), []string{"list", "delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := status.View{Compiled: compiledOf(test.policy), Permissions: func(*policy.Rule) (error, bool) { return lack, true }, Now: now}.Status(test.policy)
			expect.Equal(t, "message", lack.What+"; to grant what is missing, run kubectl sunset rbac own -n team-a --missing | kubectl apply -f -", message(s, v1alpha1.ConditionPermitted))
			expect.Equal(t, "missing permissions", []v1alpha1.MissingPermission{
				{ServiceAccount: "cleaner", APIGroup: "snapshot.storage.k8s.io", Resource: "volumesnapshots", Verbs: test.verbs, Namespace: "team-a"},
			}, s.MissingPermissions)
		})
	}
}

// TestConditionMessageIsOneLine, although authors of policies choose the names in it.
func TestConditionMessageIsOneLine(t *testing.T) {
	const evil = "a\r---\u2028b\nc"
	const said = "a --- b c"
	p := ownPolicy(v1alpha1.Enforce, rule("a"))
	view := viewOf(compiledOf(p), func(k *retention.KindState) { k.Lost = &retention.SourceError{Reason: "KindNotFound", Message: evil} })
	for name, err := range map[string]error{"unknown": errors.New(evil), "lacking": &permissions.Missing{Resource: resource, What: evil}} {
		view.Permissions = func(*policy.Rule) (error, bool) { return err, true }
		s := view.Status(p)
		expect.Equal(t, name+": watching", said, message(s, v1alpha1.ConditionWatching))
		permitted, _, _ := strings.Cut(message(s, v1alpha1.ConditionPermitted), "; to grant")
		expect.Equal(t, name+": permitted", said, permitted)
	}
}

// TestPermissionsToFollowReferences: those of the policy that reads references, and those of a policy that declares referrers
// which Sunset may not list.
func TestPermissionsToFollowReferences(t *testing.T) {
	app, pod := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	apps, pods := schema.GroupResource{Group: "example.com", Resource: "apps"}, schema.GroupResource{Resource: "pods"}
	widget, widgets := schema.GroupVersionKind{Group: "example.com", Kind: "Widget"}, schema.GroupResource{Group: "example.com", Resource: "widgets"}
	for name, test := range map[string]struct {
		denied map[schema.GroupVersionKind]bool
		roles  func(p, q *policy.Policy) []rbac.Permission
	}{
		"referrers that Sunset knows":            {map[schema.GroupVersionKind]bool{pod: true}, func(p, _ *policy.Policy) []rbac.Permission { return []rbac.Permission{rbac.OfReferences(p, pods)} }},
		"referrers that another policy declares": {map[schema.GroupVersionKind]bool{app: true}, func(_, q *policy.Policy) []rbac.Permission { return []rbac.Permission{rbac.OfReferences(q, apps)} }},
		"custom resources that no policy declares to refer to others": {map[schema.GroupVersionKind]bool{widget: true}, func(p, _ *policy.Policy) []rbac.Permission {
			return []rbac.Permission{rbac.OfReferences(p, pods, widgets)}
		}},
		"no missing permission": {nil, func(_, _ *policy.Policy) []rbac.Permission { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			withReferences(t, func(t *testing.T, w *harness, _ *references.Index) {
				p, q := policyOf(v1alpha1.DryRun, rule("a", asking)), policyOf(v1alpha1.DryRun, rule("a"))
				q.Name, q.UID = "q", "q"
				q.References = []*policy.Reference{{From: app}}
				w.Referrers = states{
					{Kind: app, From: "App.v1.example.com", Phase: referrers.Unknown, Resource: apps, Denied: test.denied[app], About: []references.Kind{job}},
					{Kind: pod, From: "Pod", Phase: referrers.Unknown, Resource: pods, Denied: test.denied[pod], About: []references.Kind{job}},
				}
				if test.denied[widget] { // twice, as while a kind is listed again
					denied := referrers.State{Kind: widget, From: "Widget.example.com", Phase: referrers.Unknown, Resource: widgets, Denied: true, About: []references.Kind{job}}
					w.Referrers = append(w.Referrers.(states), denied, denied)
				}
				e := w.asks(p)
				e.Snapshot = compiledOf(p, q).Snapshot
				w.Use(e)
				bubble.Pass(10 * time.Second)
				want := "rules that read references, targets or selected keep every Job.batch, because some references are not known: Pod: it has not been listed yet"
				var missing []v1alpha1.MissingPermission
				for _, r := range test.roles(p, q) {
					missing = append(missing, r.Status()...)
					want += "; to grant what is missing, run kubectl sunset rbac --missing | kubectl apply -f -"
				}
				expect.Equal(t, "message of Ready", want, message(w.status(), v1alpha1.ConditionReady))
				expect.Equal(t, "message", want, message(w.status(), v1alpha1.ConditionReferencesKnown))
				expect.Equal(t, "missing permissions", missing, w.status().MissingPermissions)
			})
		})
	}
}
