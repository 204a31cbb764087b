package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scene"
)

// may binds rights to a group in the whole cluster, until revoke is called.
func may(s *scene.Scene, group, what string, rules ...rbacv1.PolicyRule) (revoke func()) {
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
	// needed are the rights that Sunset needs whatever policies say.
	needed = []rbacv1.PolicyRule{
		rule(v1alpha1.GroupVersion.Group, []string{"clusterretentionpolicies", "retentionpolicies"}, reads),
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

// secrets deletes preview Secrets at once.
const secrets = `
mode: Enforce
rules:
- name: secrets
  target: {apiVersion: v1, kind: Secret, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// The rights to one kind are taken away while its objects are deleted. They wait, the policy says why, and another kind goes on;
// they go on by themselves when the rights are back.
func TestF27TheRightsToOneKindAreTakenAway(t *testing.T) {
	scene.Long(t)
	const backlog = 80
	s := scene.New(t, scene.Options{})
	group := "replicas-of-" + s.Namespace
	may(s, group, "needed", needed...)
	revoke := may(s, group, "configmaps", on("configmaps"))
	may(s, group, "secrets", on("secrets"))
	leads, waits := pair(s, scene.Start{Groups: []string{group}, Flags: []string{"--max-deletions-per-second=20"}})
	configMaps(s, "cm", backlog, preview)
	s.Policy("secrets", secrets)
	p := s.Policy("previews", previews("Enforce", "0s"))
	atMost(s, preview, backlog-20)

	revoke()
	refuses(s, http.StatusForbidden, leads)
	s.Eventually(func() error {
		if len(with(http.StatusForbidden, leads.Deletes())) == 0 {
			return errors.New("no DELETE is refused yet")
		}
		return nil
	})
	left := s.Left(&corev1.ConfigMapList{}, preview)
	from := time.Now()
	leads.Gate.Cut() // a watch outlives the right to it
	waits.Gate.Cut()
	tells(s, p, v1alpha1.ConditionReady, "Forbidden", "configmaps")
	began := time.Now()
	s.Gone(secret(s, "goes"))
	t.Logf("%d ConfigMaps waited; a Secret was gone after %s", left, time.Since(began).Round(time.Millisecond))
	s.Stays(4*time.Second, secret(s, "bystander", unlabelled))
	if now := s.Left(&corev1.ConfigMapList{}, preview); now != left {
		t.Errorf("%d ConfigMaps are left of %d that waited", now, left)
	}
	vain := len(with(http.StatusForbidden, since(from, leads.Deletes())))
	t.Logf("%d DELETEs were refused in %s", vain, time.Since(from).Round(time.Second))
	if vain > 10 {
		t.Errorf("%d DELETEs in vain", vain)
	}
	may(s, group, "configmaps-again", on("configmaps"))
	atMost(s, preview, 0)
	enforcing(s, p)
	s.Calm()
}

// All rights are taken away but those to what is deleted. Nothing goes any more, as nobody can be sure of anything, and all goes on
// once the rights are back and whoever has ended is started again.
func TestF27AllRightsAreTakenAway(t *testing.T) {
	scene.Long(t)
	const backlog = 80
	s := scene.New(t, scene.Options{})
	group := "replicas-of-" + s.Namespace
	revoke := may(s, group, "needed", needed...)
	may(s, group, "configmaps", on("configmaps"))
	start := scene.Start{Failover: true, Groups: []string{group}, Flags: []string{"--max-deletions-per-second=20"}}
	leads, waits := pair(s, start)
	configMaps(s, "cm", backlog, preview)
	s.Policy("previews", previews("Enforce", "0s")+limited(1000))
	atMost(s, preview, backlog-20)

	revoke()
	revoked := time.Now()
	settled(s, preview)
	late := since(revoked, leads.Deletes())
	left := s.Left(&corev1.ConfigMapList{}, preview)
	t.Logf("%d DELETEs were sent after the rights were taken away, the last %s after; %d are left",
		len(late), lastAfter(revoked, late).Round(time.Millisecond), left)
	s.ExpectThat("something that is left", func() bool { return left > 0 })
	silent(t, 5*time.Second, leads, waits)

	may(s, group, "needed-again", needed...)
	s.Eventually(func() error {
		for _, r := range []*scene.Replica{leads, waits} {
			if !r.Running() {
				r.Restart()
			}
		}
		if now := s.Left(&corev1.ConfigMapList{}, preview); now > 0 {
			return fmt.Errorf("%d are left", now)
		}
		return nil
	})
	s.Calm()
}

// secret creates a preview Secret.
func secret(s *scene.Scene, name string, adjust ...func(*corev1.Secret)) *corev1.Secret {
	s.Helper()
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: preview}}
	for _, a := range adjust {
		a(object)
	}
	s.MustCreate(object)
	return object
}

func unlabelled(object *corev1.Secret) { object.Labels = nil }
