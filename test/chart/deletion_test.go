// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// grantsDeletion is the label of bindings without which Sunset deletes no objects and no images.
const grantsDeletion = "rbac.sunset-k8s.io/grants-deletion"

// harmless are changes of objects that policies cannot select: the controller's own objects.
var harmless = map[string][]string{
	"retentionledgers." + v1alpha1.GroupVersion.Group:                     {"update", "delete"},
	"nodeimagerules." + v1alpha1.GroupVersion.Group:                       {"update"}, // agents need a permission to read them
	"clusterretentionpolicies/status." + v1alpha1.GroupVersion.Group:      {"patch"},
	"retentionpolicies/status." + v1alpha1.GroupVersion.Group:             {"patch"},
	"retentiondigests/status." + v1alpha1.GroupVersion.Group:              {"patch"},
	"retentionarchives/status." + v1alpha1.GroupVersion.Group:             {"patch"},
	"leases.coordination.k8s.io sunset-controller":                        {"update"},
	"secrets sunset-webhook":                                              {"update"},
	"validatingwebhookconfigurations.admissionregistration.k8s.io sunset": {"update"},
}

// TestOneLabelSelectsAllBindingsThatGrantDeletion: without the bindings with the label, no account of Sunset can change or
// delete an object that policies select, and agents cannot read the rules by which they remove images.
func TestOneLabelSelectsAllBindingsThatGrantDeletion(t *testing.T) {
	everything := render(t, "--values", examples, "--values", "testdata/everything/values.yaml")
	for name, text := range map[string][]byte{
		"default":                 render(t),
		"everything":              everything,
		"crds/nodes/rbac.yaml":    read(t, "../../crds/nodes/rbac.yaml"),
		"crds/admission/webhook":  read(t, "../../crds/admission/webhook.yaml"),
		"token for Prometheus":    render(t, "--set", "monitoring.serviceMonitor.enabled=true,nodeAgent.enabled=true"),
		"samples, without values": render(t, "--values", examples),
	} {
		all := objects(t, text)
		labeled := 0
		for _, binding := range all {
			if !strings.HasSuffix(binding.GetKind(), "Binding") || binding.GroupVersionKind().Group != rbacv1.GroupName {
				continue
			}
			if binding.GetLabels()[grantsDeletion] == "true" {
				labeled++
				expect.Equal(t, name+": kind of "+binding.GetName(), "ClusterRoleBinding", binding.GetKind())
				continue
			}
			for _, rule := range bound(t, all, binding) {
				for _, change := range changes(rule) {
					t.Errorf("%s: %s %s has no label, and grants %s", name, binding.GetKind(), binding.GetName(), change)
				}
				if allows([]rbacv1.PolicyRule{rule}, "get", v1alpha1.GroupVersion.WithResource("nodeimagerules").GroupResource()) && binding.GetName() != "sunset-core" {
					t.Errorf("%s: %s %s has no label, and lets agents read rules", name, binding.GetKind(), binding.GetName())
				}
			}
		}
		want := map[string]int{"default": 1, "everything": 3, "crds/nodes/rbac.yaml": 1, "token for Prometheus": 2, "samples, without values": 1}[name]
		expect.Equal(t, name+": bindings with the label", want, labeled)
	}
}

// bound returns the rules of the role of a binding, with those that it aggregates.
func bound(t *testing.T, all []*unstructured.Unstructured, binding *unstructured.Unstructured) []rbacv1.PolicyRule {
	t.Helper()
	of := &rbacv1.RoleBinding{}
	expect.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(binding.Object, of))
	if of.RoleRef.Name == "sunset-kinds" {
		return collected(t, all)
	}
	return rulesOf(t, one(t, all, of.RoleRef.Kind, of.RoleRef.Name))
}

// changes returns the resources that a rule lets an account change or delete, except harmless ones.
func changes(rule rbacv1.PolicyRule) (all []string) {
	for i, resource := range rule.Resources {
		of := resource
		if rule.APIGroups[0] != "" {
			of += "." + rule.APIGroups[0]
		}
		if len(rule.ResourceNames) > 0 {
			of += " " + strings.Join(rule.ResourceNames, ",")
		}
		for _, verb := range rule.Verbs {
			if !slices.Contains([]string{"get", "list", "watch", "create"}, verb) && !slices.Contains(harmless[of], verb) {
				all = append(all, verb+" "+rule.Resources[i]+" ("+of+")")
			}
		}
	}
	return all
}

// TestDefaultsGrantNoDeletion: without values, no role has the label that grants its permissions to the controller.
func TestDefaultsGrantNoDeletion(t *testing.T) {
	if rules := collected(t, objects(t, render(t))); len(rules) > 0 {
		t.Errorf("the controller may %v", rules)
	}
	for set, want := range map[string]string{
		"":                                    "The values grant no permission to read or delete objects",
		`rbac.kinds.jobs\.batch.get=true`:     "jobs.batch",
		`rbac.kinds.jobs\.batch.delete=false`: "jobs.batch (dry runs only)",
	} {
		out, err := run(t, "install", "sunset", chart, "--namespace", namespace, "--dry-run=client", "--set", set)
		expect.NoError(t, err)
		if !strings.Contains(string(out), want+"\n") && !strings.Contains(string(out), want+" ") {
			t.Errorf("--set %q: the notes do not contain %q", set, want)
		}
	}
}

// TestRolesForUsers: roles that built-in roles include allow no approvals, except that of an administrator, and nothing about
// policies of the cluster.
func TestRolesForUsers(t *testing.T) {
	includedIn := map[string]string{}
	for _, role := range objects(t, render(t)) {
		for label := range role.GetLabels() {
			into, is := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-")
			if !is {
				continue
			}
			includedIn[role.GetName()] = into
			for _, rule := range rulesOf(t, role) {
				if into != "admin" && slices.Contains(rule.Resources, "retentionapprovals") && slices.Contains(rule.Verbs, "create") {
					t.Errorf("%s may approve", into)
				}
				for _, resource := range rule.Resources {
					if resource != "retentionpolicies" && resource != "retentionapprovals" {
						t.Errorf("%s has permissions for %s", into, resource)
					}
				}
			}
		}
	}
	expect.Equal(t, "included roles", map[string]string{"sunset-view": "view", "sunset-edit": "edit", "sunset-admin": "admin"}, includedIn)
}
