// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// grant grants a user more permissions in the whole cluster, until the test ends or calls revoke. It returns when the API server grants
// them. revoke returns when the API server refuses the first permission, which no other role may grant.
func (w *env) grant(user, name string, rules ...rbacv1.PolicyRule) (revoke func()) {
	w.Helper()
	name = w.namespace + "-" + name
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	w.create(role)
	w.create(binding)
	remove := func() {
		_ = w.Client.Delete(context.Background(), binding)
		_ = w.Client.Delete(context.Background(), role)
	}
	w.Cleanup(remove)
	for _, rule := range rules {
		w.waitForPermission("", user, rule, true)
	}
	return func() {
		w.Helper()
		remove()
		w.waitForPermission("", user, rules[0], false)
	}
}

// core are the permissions that Sunset needs for any policies.
var core = []rbacv1.PolicyRule{
	{APIGroups: []string{"sunset-k8s.io"}, Resources: []string{"clusterretentionapprovals", "retentionapprovals"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"sunset-k8s.io"}, Resources: []string{"clusterretentionpolicies", "retentionpolicies"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"sunset-k8s.io"}, Resources: []string{"clusterretentionpolicies/status", "retentionpolicies/status"}, Verbs: []string{"patch"}},
	{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, Verbs: []string{"get"}},
	{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}},
	{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews", "subjectaccessreviews"}, Verbs: []string{"create"}},
}

func onConfigMaps(verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}
}

func TestMissingPermissionsAreReportedUntilGranted(t *testing.T) {
	w := newEnv(t)
	user := "sunset-" + w.namespace
	config, err := w.plane.UserConfig(user)
	expect.NoError(t, err)
	w.grant(user, "core", core...)
	w.grant(user, "secrets", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch", "delete"}})
	w.sunset(func(c *manager.Config) { c.Rest = config })
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	w.policy("secrets", `
mode: Enforce
rules:
- name: secrets
  target: {apiVersion: v1, kind: Secret}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`)
	cm := w.configMap("cm", preview)
	w.expect(p, v1alpha1.ConditionWatching, "Forbidden", "list and watch", "configmaps")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "other-kind"}}
	w.create(secret)
	w.gone(secret)

	w.grant(user, "list", onConfigMaps("list", "watch"))
	w.expect(p, v1alpha1.ConditionEnforcing, "Forbidden", "delete", "configmaps")
	w.stays(time.Second, cm)

	w.grant(user, "delete", onConfigMaps("delete"))
	w.gone(cm)
}

func TestPermissionsThatAreRevokedAndGranted(t *testing.T) {
	w := newEnv(t)
	user := "sunset-" + w.namespace
	config, err := w.plane.UserConfig(user)
	expect.NoError(t, err)
	g := proxy.New(t, config)
	w.grant(user, "core", core...)
	revoke := w.grant(user, "configmaps", onConfigMaps("list", "watch", "delete"))
	w.sunset(func(c *manager.Config) { c.Rest = g.Config() })
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	w.gone(w.configMap("before", preview))
	revoke()
	g.Cut() // a watch continues without permission until it is closed
	w.expect(p, v1alpha1.ConditionWatching, "Forbidden", "list and watch", "configmaps")
	between := w.configMap("between", preview)
	w.stays(time.Second, between)
	w.grant(user, "again", onConfigMaps("list", "watch", "delete"))
	w.gone(between)
}

// expect waits until a condition is not True, with this reason and these parts of its message.
func (w *env) expect(p *v1alpha1.ClusterRetentionPolicy, name, reason string, message ...string) {
	w.Helper()
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		c := w.condition(s, name)
		if c.Status == metav1.ConditionTrue || c.Reason != reason {
			return errors.New(name + " does not have reason " + reason)
		}
		return contains(c.Message, message...)
	})
}
