// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// account creates a ServiceAccount with permissions in the test's namespace, until revoke is called. After that, the API server no longer
// grants them.
func (w *env) account(name string, rules ...rbacv1.PolicyRule) (revoke func()) {
	w.Helper()
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: name}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: name}},
	}
	for _, object := range []client.Object{&corev1.ServiceAccount{ObjectMeta: meta}, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, binding} {
		w.create(object)
	}
	return func() {
		w.Helper()
		expect.NoError(w, w.Client.Delete(w.Context(), binding))
		w.waitForPermission(w.namespace, "system:serviceaccount:"+w.namespace+":"+name, rules[0], false)
	}
}

const teamRules = `
mode: Enforce
approval: {maxObjects: 1000, maxPercent: 100}
serviceAccountName: cleaner
rules:
- name: previews
  target: {apiVersion: v1, kind: %s, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 1s
`

// permitted requires that the condition Permitted has this reason.
func permitted(w *env, reason string, words ...string) func(v1alpha1.RetentionPolicyStatus) error {
	return func(s v1alpha1.RetentionPolicyStatus) error {
		c := w.condition(s, v1alpha1.ConditionPermitted)
		if c.Reason != reason {
			return fmt.Errorf("permitted is %s", c.Reason)
		}
		return contains(c.Message, words...)
	}
}

// TestOwnRulesUseThePermissionsOfTheirAccount: rules of a namespace act only there, and only as long as their
// ServiceAccount has the permissions.
func TestOwnRulesUseThePermissionsOfTheirAccount(t *testing.T) {
	w, neighbour := newEnv(t), newEnv(t)
	w.sunset()
	revoke := w.account("cleaner", onConfigMaps("list", "delete"))
	other := neighbour.configMap("cm", preview)
	team := w.team("own", fmt.Sprintf(teamRules, "ConfigMap"))
	w.gone(w.configMap("cm", preview))
	w.teamStatus(team, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Deleted != 1 || len(s.Rules) != 1 {
			return errors.New("the deletion is not counted")
		}
		return permitted(w, "Permitted")(s)
	})
	revoke()
	time.Sleep(1100 * time.Millisecond) // permission checks are cached for a second
	late := w.configMap("late", preview)
	w.stays(4*time.Second, late)
	w.teamStatus(team, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Matched != 0 || len(s.Rules[0].Soonest) != 0 {
			return errors.New("the status counts objects that the account may not read")
		}
		return permitted(w, "Forbidden", "ServiceAccount cleaner may not list, delete configmaps in namespace "+w.namespace)(s)
	})
	neighbour.stays(0, other)
}

// TestTenantGainsNothing: none of these cases deletes or reads an object.
func TestTenantGainsNothing(t *testing.T) {
	newEnv(t).sunset()
	for name, test := range map[string]struct {
		kind        string
		permissions []rbacv1.PolicyRule
		spec        func(w, victim *env) string // replaces teamRules
	}{
		"an account without permissions": {kind: "ConfigMap"},
		"an account that may not list":   {kind: "ConfigMap", permissions: []rbacv1.PolicyRule{onConfigMaps("delete")}},
		"an account that may not delete": {kind: "ConfigMap", permissions: []rbacv1.PolicyRule{onConfigMaps("list")}},
		"another kind":                   {kind: "Secret", permissions: []rbacv1.PolicyRule{onConfigMaps("list", "delete")}},
		"another namespace's selector": {spec: func(w, victim *env) string {
			return fmt.Sprintf(teamRules, "ConfigMap") + fmt.Sprintf("namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}\n", victim.namespace)
		}},
		"marks without permission to patch": {permissions: []rbacv1.PolicyRule{onConfigMaps("list", "delete")}, spec: func(*env, *env) string {
			return replace(fmt.Sprintf(teamRules, "ConfigMap"), "  startTime: object.metadata.creationTimestamp\n", "")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, victim := newEnv(t), newEnv(t)
			w.account("cleaner", test.permissions...)
			victim.account("cleaner", onConfigMaps("list", "delete"))
			spec := fmt.Sprintf(teamRules, test.kind)
			if test.spec != nil {
				spec = test.spec(w, victim)
			}
			mine, theirs := w.configMap("cm", preview), victim.configMap("cm", preview)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "secret", Labels: preview}}
			w.create(secret)
			team := w.team("own", spec)
			w.teamStatus(team, func(s v1alpha1.RetentionPolicyStatus) error {
				switch ready := w.condition(s, v1alpha1.ConditionReady); {
				case ready.Status != "False": // it is Unknown until the permissions are known
					return errors.New("ready, or not known yet")
				case s.Matched != 0 || s.Eligible != 0 || s.Due.Week != 0 || len(s.Rules[0].Soonest) != 0 || len(s.Rules[0].ErrorSamples) != 0:
					return errors.New("the status counts objects that the account may not read")
				}
				return nil
			})
			w.stays(3*time.Second, mine, theirs, secret)
			if err := w.Get(t.Context(), client.ObjectKeyFromObject(mine), mine); err != nil || len(mine.Annotations) != 0 {
				t.Errorf("something was written on the object: %v %v", mine.Annotations, err)
			}
		})
	}
}

// TestTenantDoesNotDisturbTheClusterRules: a tenant cannot stop cluster rules elsewhere by reading their kind at another
// version, or by selecting a protected kind.
func TestTenantDoesNotDisturbTheClusterRules(t *testing.T) {
	w, neighbour := newEnv(t), newEnv(t)
	w.labelNamespace("clean", w.namespace)
	neighbour.labelNamespace("clean", w.namespace)
	w.sunset()
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "1s")+fmt.Sprintf("namespaceSelector: {matchLabels: {clean: %s}}\n", w.namespace))
	w.account("cleaner", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	bad := w.team("aaa", replace(fmt.Sprintf(teamRules, "ConfigMap"), "apiVersion: v1", "apiVersion: v2"))
	w.team("bbb", fmt.Sprintf(teamRules, "Namespace"))
	w.teamStatus(bad, func(s v1alpha1.RetentionPolicyStatus) error {
		return contains(w.condition(s, v1alpha1.ConditionValid).Message, "reads each kind in one version only")
	})
	neighbour.gone(neighbour.configMap("cm", preview))
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		ready := w.condition(s, v1alpha1.ConditionReady)
		return cluster.Want(ready.Status == metav1.ConditionTrue, "ready is %s", ready.Reason)
	})
	w.stays(3*time.Second, w.configMap("kept", preview)) // an invalid rule may have been meant to keep it
}

// replace replaces a text, which must exist.
func replace(text, old, new string) string {
	if !strings.Contains(text, old) {
		panic(old + " is not in the text")
	}
	return strings.ReplaceAll(text, old, new)
}
