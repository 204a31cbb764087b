// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

func rulesOf(t *testing.T, object *unstructured.Unstructured) []rbacv1.PolicyRule {
	t.Helper()
	if !strings.HasSuffix(object.GetKind(), "Role") {
		return nil
	}
	role := &rbacv1.ClusterRole{}
	expect.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"rules": object.Object["rules"]}, role))
	return role.Rules
}

// TestPermissionsAreThoseOfThePage: the chart grants the permissions of docs/reference/permissions.md, which explains each and which other
// tests check.
func TestPermissionsAreThoseOfThePage(t *testing.T) {
	var page []byte
	for i, part := range strings.Split(string(read(t, "../../docs/reference/permissions.md")), "```") {
		if text, is := strings.CutPrefix(part, "yaml\napiVersion: "); i%2 == 1 && is {
			page = append(page, "\n---\napiVersion: "+text...)
		}
	}
	documented, rendered := objects(t, page), objects(t, render(t, "--set", "rbac.references.enabled=true,openReports.enabled=true,archive.dependents={pods},archive.events=true,archive.logs=true"))
	for _, name := range []string{"sunset-core", "sunset-lease", "sunset-references", "sunset-archive", "sunset-reports"} {
		kind := "ClusterRole"
		if name == "sunset-lease" {
			kind = "Role"
		}
		want, got := rulesOf(t, one(t, documented, kind, name)), rulesOf(t, one(t, rendered, kind, name))
		expect.Equal(t, name+", page and chart", want, got)
	}
}

// resourceOf returns the resource of a kind.
func resourceOf(kind schema.GroupVersionKind) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	plural.Resource = strings.Replace(plural.Resource, "gatewaies", "gateways", 1)
	return plural
}

// allows reports whether rules allow a verb on a resource.
func allows(rules []rbacv1.PolicyRule, verb string, of schema.GroupResource) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Verbs, verb) && slices.Contains(r.APIGroups, of.Group) && slices.Contains(r.Resources, of.Resource)
	})
}

// collected returns the rules of the aggregated role.
func collected(t *testing.T, rendered []*unstructured.Unstructured) (all []rbacv1.PolicyRule) {
	t.Helper()
	for _, object := range rendered {
		if object.GetLabels()["rbac.sunset-k8s.io/aggregate-to-controller"] == "true" {
			all = append(all, rulesOf(t, object)...)
		}
	}
	return all
}

// TestKindsOfTheSamplesHaveRoles: charts/sunset/examples/kinds.yaml has every kind of the samples, except an invented kind, those of
// samples/unused, because people should not copy permissions to delete so many kinds, and claims, which are a protected kind.
func TestKindsOfTheSamplesHaveRoles(t *testing.T) {
	rules := collected(t, objects(t, render(t, "--values", examples, "--set", "archive.logs=true")))
	files, err := filepath.Glob("../../samples/*/policy.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("only %d samples: %v", len(files), err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, "claim-snapshots") })
	var needed, said bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &needed, ErrOut: &said}
	args := append([]string{"rbac", "--local", "--owners=jobs.batch", "-f"}, files...)
	if code := command.Run(t.Context(), args, streams, time.Time{}); code != command.ExitOK {
		t.Fatalf("exit %d: %s", code, &said)
	}
	checked := 0
	for _, role := range objects(t, needed.Bytes()) {
		if role.GetKind() != "ClusterRole" || strings.HasSuffix(role.GetName(), ":references") {
			continue // permissions of teams, and those with a separate value
		}
		if problems := content.IsPathSegmentName(role.GetName()); len(problems) > 0 {
			t.Errorf("the API server refuses the name %s: %v", role.GetName(), problems)
		}
		rule := rulesOf(t, role)[0]
		resource := schema.GroupResource{Group: rule.APIGroups[0], Resource: rule.Resources[0]}
		for _, verb := range rule.Verbs {
			if resource.Group != "example.com" && !allows(rules, verb, resource) {
				t.Errorf("%s: no permission to %s %s", role.GetName(), verb, resource)
			}
		}
		checked++
	}
	if checked < 20 {
		t.Errorf("only %d roles: %s", checked, &said)
	}
}
