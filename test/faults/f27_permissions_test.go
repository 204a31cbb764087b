// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// grant grants permissions to a group in the whole cluster, until revoke is called.
func grant(s *scenario.Scenario, group, what string, rules ...rbacv1.PolicyRule) (revoke func()) {
	s.Helper()
	name := s.Namespace + "-" + what
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	}
	s.MustCreate(role)
	s.MustCreate(binding)
	revoke = func() {
		_ = s.Delete(context.Background(), binding)
		_ = s.Delete(context.Background(), role)
	}
	s.Cleanup(revoke)
	return revoke
}

func rule(group string, resources, verbs []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

var (
	reads = []string{"get", "list", "watch"}
	// needed contains the permissions that Sunset needs regardless of policies.
	needed = []rbacv1.PolicyRule{
		rule(v1alpha1.GroupVersion.Group, []string{"clusterretentionpolicies", "retentionpolicies"}, reads),
		rule(v1alpha1.GroupVersion.Group, []string{"clusterretentionapprovals", "retentionapprovals"}, []string{"get", "list", "watch"}),
		rule(v1alpha1.GroupVersion.Group, []string{"clusterretentionpolicies/status", "retentionpolicies/status"}, []string{"patch"}),
		rule(v1alpha1.GroupVersion.Group, []string{"retentionledgers"}, []string{"get", "list", "watch", "create", "update", "delete"}),
		rule("", []string{"namespaces"}, reads),
		rule("coordination.k8s.io", []string{"leases"}, []string{"get", "create", "update"}),
		rule("apiregistration.k8s.io", []string{"apiservices"}, []string{"get"}),
		rule("events.k8s.io", []string{"events"}, []string{"create"}),
		rule("authorization.k8s.io", []string{"selfsubjectaccessreviews", "subjectaccessreviews"}, []string{"create"}),
	}
)

func on(resource string) rbacv1.PolicyRule {
	return rule("", []string{resource}, []string{"list", "watch", "delete"})
}

// secrets deletes preview Secrets immediately.
const secrets = `
mode: Enforce
rules:
- name: secrets
  target: {apiVersion: v1, kind: Secret, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// TestF27PermissionsForOneKindAreRevoked removes the permissions for one kind while its objects are deleted. The objects are
// kept and the policy reports why; Sunset deletes objects of another kind. When the permissions are back, Sunset deletes the
// waiting objects.
func TestF27PermissionsForOneKindAreRevoked(t *testing.T) {
	scenario.Long(t)
	const backlog = 80
	s := scenario.New(t, scenario.Options{})
	group := "replicas-of-" + s.Namespace
	grant(s, group, "needed", needed...)
	revoke := grant(s, group, "configmaps", on("configmaps"))
	grant(s, group, "secrets", on("secrets"))
	leads, waits := pair(s, scenario.Start{Groups: []string{group}, Flags: []string{"--max-deletions-per-second=20"}})
	configMaps(s, "cm", backlog, preview)
	s.Policy("secrets", secrets)
	p := s.Policy("previews", previews("Enforce", "0s"))
	atMost(s, preview, backlog-20)

	revoke()
	refuses(s, http.StatusForbidden, leads)
	s.Eventually(func() error {
		return cluster.Want(len(with(http.StatusForbidden, leads.Deletes())) > 0, "no DELETE was refused yet")
	})
	left := s.Left(&corev1.ConfigMapList{}, preview)
	from := time.Now()
	leads.Proxy.Cut() // a watch continues without the permission
	waits.Proxy.Cut()
	tells(s, p, v1alpha1.ConditionReady, "Forbidden", "configmaps")
	began := time.Now()
	s.Gone(secret(s, "goes"))
	t.Logf("%d ConfigMaps waited; a Secret was gone after %s", left, time.Since(began).Round(time.Millisecond))
	s.Stays(4*time.Second, secret(s, "bystander", unlabelled))
	if now := s.Left(&corev1.ConfigMapList{}, preview); now != left {
		t.Errorf("%d of %d waiting ConfigMaps left", now, left)
	}
	vain := len(with(http.StatusForbidden, since(from, leads.Deletes())))
	t.Logf("%d DELETEs were refused in %s", vain, time.Since(from).Round(time.Second))
	if vain > left {
		t.Errorf("%d DELETEs were refused, want at most one for each of %d waiting ConfigMaps", vain, left)
	}
	grant(s, group, "configmaps-again", on("configmaps"))
	atMost(s, preview, 0)
	enforcing(s, p)
	s.Calm()
}

// TestF27AllPermissionsAreRevoked removes all permissions except those for the deleted kind. Sunset deletes nothing, because it
// cannot check anything. It continues when the permissions are back and ended replicas are restarted.
func TestF27AllPermissionsAreRevoked(t *testing.T) {
	scenario.Long(t)
	const backlog = 80
	s := scenario.New(t, scenario.Options{})
	group := "replicas-of-" + s.Namespace
	revoke := grant(s, group, "needed", needed...)
	grant(s, group, "configmaps", rule("", []string{"configmaps"}, []string{"get", "list", "watch", "delete"})) // get is needed because of the limits
	start := scenario.Start{Failover: true, Groups: []string{group}, Flags: []string{"--max-deletions-per-second=20"}}
	leads, waits := pair(s, start)
	configMaps(s, "cm", backlog, preview)
	p := s.Policy("previews", previews("Enforce", "0s")+limited(1000))
	atMost(s, preview, backlog-20)

	revoke()
	revoked := time.Now()
	settled(s, preview)
	late := since(revoked, leads.Deletes())
	left := s.Left(&corev1.ConfigMapList{}, preview)
	t.Logf("%d DELETEs sent after the permissions were removed, the last %s after; %d objects left",
		len(late), lastAfter(revoked, late).Round(time.Millisecond), left)
	s.ExpectThat("objects that are left", func() bool { return left > 0 })
	silent(t, 5*time.Second, leads, waits)

	grant(s, group, "needed-again", needed...)
	s.Eventually(func() error {
		for _, r := range []*scenario.Replica{leads, waits} {
			restartIfEnded(r)
		}
		now := s.Left(&corev1.ConfigMapList{}, preview)
		return cluster.Want(now == 0, "%d objects left", now)
	})
	byLedger(s, p, backlog) // deletions without an answer are counted later
	s.Calm()
}

// secret creates a preview Secret.
func secret(s *scenario.Scenario, name string, adjust ...func(*corev1.Secret)) *corev1.Secret {
	s.Helper()
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: preview}}
	for _, a := range adjust {
		a(object)
	}
	s.MustCreate(object)
	return object
}

func unlabelled(object *corev1.Secret) { object.Labels = nil }
