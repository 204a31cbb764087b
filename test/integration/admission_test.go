// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// apply creates every object of a file in crds/admission and deletes them when the test ends.
func (w *env) apply(file string, adjust ...func(*unstructured.Unstructured)) {
	w.Helper()
	data, err := os.ReadFile("../../crds/admission/" + file)
	expect.NoError(w, err)
	w.createAll(strings.Split(string(data), "\n---\n"), adjust...)
}

// serverless makes the API server check policies without the webhook.
func (w *env) serverless() {
	w.Helper()
	w.Cleanup(func() { // after the file's objects are deleted: other tests write such policies too
		cluster.Eventually(w, patience, func() error {
			return w.Create(context.Background(), w.own("probe", "ruls: []"+ownRules), client.DryRunAll)
		})
	})
	w.apply("policies.yaml")
	nobody := w.tenant("nobody", writesPolicies)
	cluster.Eventually(w, patience, func() error {
		if err := refused(nobody.Create(w.Context(), w.own("probe", ownRules), client.DryRunAll), "may neither"); err != nil {
			return err
		}
		return refused(w.Create(w.Context(), w.own("probe", "ruls: []"+ownRules), client.DryRunAll), "ruls")
	})
}

var writesPolicies = rbacv1.PolicyRule{APIGroups: []string{"sunset-k8s.io"}, Resources: []string{"retentionpolicies"},
	Verbs: []string{"get", "create", "update", "patch", "delete"}}

// tenant is a client of a user with these permissions in the test's namespace and no others. The API server knows them already.
func (w *env) tenant(name string, rules ...rbacv1.PolicyRule) client.Client {
	w.Helper()
	config := w.plane.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: w.namespace + ":" + name}
	c, err := client.New(config, client.Options{Scheme: w.Scheme()})
	expect.NoError(w, err)
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: name}
	w.create(&rbacv1.Role{ObjectMeta: meta, Rules: rules})
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: config.Impersonate.UserName}},
	})
	for _, rule := range rules {
		w.waitForPermission(w.namespace, config.Impersonate.UserName, rule, true)
	}
	return c
}

// waitForPermission waits until the API server grants the first permission of a rule in a namespace, or no longer grants it. An empty
// namespace means the whole cluster.
func (w *env) waitForPermission(namespace, user string, rule rbacv1.PolicyRule, want bool) {
	w.Helper()
	attributes := &authorizationv1.ResourceAttributes{Namespace: namespace, Group: rule.APIGroups[0], Verb: rule.Verbs[0]}
	attributes.Resource, attributes.Subresource, _ = strings.Cut(rule.Resources[0], "/")
	if len(rule.ResourceNames) > 0 {
		attributes.Name = rule.ResourceNames[0]
	}
	cluster.Eventually(w, patience, func() error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: attributes}}
		err := w.Create(w.Context(), review)
		return cmp.Or(err, cluster.Want(review.Status.Allowed == want, "that %s may %s %s is %t: %s", user, attributes.Verb, attributes.Resource, !want, review.Status.Reason))
	})
}

// own is a RetentionPolicy of the test's namespace with this spec in YAML.
func (w *env) own(name, spec string) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	var fields map[string]any
	expect.NoError(w, yaml.Unmarshal([]byte(spec), &fields))
	object.Object["spec"] = fields
	object.SetGroupVersionKind(v1alpha1.RetentionPolicyKind)
	object.SetNamespace(w.namespace)
	object.SetName(name)
	return object
}

const ownRules = `
serviceAccountName: cleaner
overrides:
- {policy: batch, ttl: 4h}
rules:
- name: previews
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 1h
`

const secondRule = `- {name: second, target: {apiVersion: v1, kind: ConfigMap}, eligible: "true", ttl: 1h}
`

// refused returns an error unless the API server refused the request with a message that contains these words.
func refused(err error, words ...string) error {
	switch {
	case err == nil:
		return errors.New("the API server accepted the request")
	case !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
		return fmt.Errorf("refused for another reason: %w", err)
	}
	return contains(err.Error(), words...)
}

func edit(patch string) client.Patch {
	return client.RawPatch("application/merge-patch+json", []byte(patch))
}

func TestAdmissionChecksUseOfServiceAccount(t *testing.T) {
	w := newEnv(t)
	w.serverless()
	nobody := w.tenant("weak", writesPolicies)
	if err := refused(nobody.Create(t.Context(), w.own("p", ownRules)), "service account cleaner", "weak may neither create Pods in namespace "+w.namespace); err != nil {
		t.Error(err)
	}
	if err := nobody.Create(t.Context(), w.own("overrides", "overrides: [{policy: batch, suspend: true}]")); err != nil {
		t.Errorf("a policy with overrides only: %v", err)
	}
	for name, test := range map[string]struct {
		right rbacv1.PolicyRule
		may   bool
	}{
		"makes-pods": {rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}}, true},
		"reads-pods": {rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}, false},
		"is-account": {rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"cleaner"},
			Verbs: []string{"impersonate"}}, true},
		"is-another": {rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"other"},
			Verbs: []string{"impersonate"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := w.tenant(name, writesPolicies, test.right)
			err := c.Create(t.Context(), w.own(name, ownRules))
			if !test.may {
				err = refused(err, "service account cleaner")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAdmissionAllowsOnlyReducingChanges(t *testing.T) {
	w := newEnv(t)
	w.serverless()
	w.create(w.own("p", ownRules))
	w.create(w.own("two", ownRules+secondRule))
	weak := w.tenant("weak", writesPolicies, createsApprovals)
	expect.NoError(t, weak.Patch(t.Context(), w.own("p", ownRules), edit(`{"spec":{"limits":{"maxDeletions":1,"window":"1h"}}}`)))
	rule := `{"name":"%s","target":{"apiVersion":"v1","kind":"ConfigMap"},"eligible":"true","ttl":"%s"}`
	for _, patch := range []string{
		`{"spec":{"mode":"Enforce"}}`,
		`{"spec":{"serviceAccountName":"other"}}`,
		`{"spec":{"variables":[{"name":"done","expression":"true"}]}}`,
		`{"spec":{"approval":{"maxObjects":100000}}}`,
		`{"spec":{"limits":{"maxDeletions":2}}}`,
		`{"spec":{"limits":null}}`,
		`{"spec":{"rules":[` + fmt.Sprintf(rule, "previews", "0s") + `]}}`,
		`{"spec":{"rules":[` + fmt.Sprintf(rule, "new", "1h") + `]}}`,
		`{"spec":{"mode":"Suspend","rules":[` + fmt.Sprintf(rule, "new", "1h") + `]}}`,
	} {
		if err := refused(weak.Patch(t.Context(), w.own("p", ownRules), edit(patch)), "service account"); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
	one := `{"spec":{"rules":[` + fmt.Sprintf(rule, "second", "1h") + `]}}` // the other rule may have kept objects of this one
	if err := refused(weak.Patch(t.Context(), w.own("two", ownRules), edit(one)), "service account"); err != nil {
		t.Errorf("%s: %v", one, err)
	}
	for _, patch := range []string{
		`{"metadata":{"labels":{"a":"b"}}}`,
		`{"spec":{"overrides":[{"policy":"batch","ttl":"5h"}]}}`,
		`{"spec":{"mode":"Suspend"}}`,
		`{"spec":{"mode":"DryRun"}}`,
		`{"spec":{"rules":[]}}`,
	} {
		if err := weak.Patch(t.Context(), w.own("p", ownRules), edit(patch)); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
	if err := weak.Delete(t.Context(), w.own("p", ownRules)); err != nil {
		t.Errorf("delete: %v", err)
	}
}

func TestAPIServerChecksShapes(t *testing.T) {
	w := newEnv(t)
	w.serverless()
	of := func(path, value string) string {
		object := w.own("p", ownRules)
		var parsed any
		expect.NoError(t, yaml.Unmarshal([]byte(value), &parsed))
		set(object.Object["spec"], strings.Split(path, "/"), parsed)
		data, err := yaml.Marshal(object.Object["spec"])
		expect.NoError(t, err)
		return string(data)
	}
	for name, test := range map[string]struct{ path, value, want string }{
		"unknown field":               {"ruls", "[]", "spec: ruls"},
		"field of the other kind":     {"excludeNamespaces", "[a]", "spec: excludeNamespaces"},
		"in a rule":                   {"rules/0/keepNewestt", "{count: 3}", "rule previews: keepNewestt"},
		"in a target":                 {"rules/0/target/namespace", "kube-system", "rule previews, target: namespace"},
		"in a selector":               {"rules/0/target/selector/matchLabel", "{a: b}", "target.selector: matchLabel"},
		"in delete":                   {"rules/0/delete", "{gracePeriod: 3}", "rule previews, delete: gracePeriod"},
		"in keepNewest":               {"rules/0/keepNewest", "{count: 3, per: a}", "keepNewest: per"},
		"in capacity":                 {"rules/0/capacity", "{max: 3, min: 1}", "capacity: min"},
		"in overrideBounds":           {"rules/0/overrideBounds", "{least: 1h}", "overrideBounds: least"},
		"in archive":                  {"rules/0/archive", "{to: history, log: {}}", "archive: log"},
		"in logs of an archive":       {"rules/0/archive", "{to: history, logs: {tailBytes: 1Mi, tail: 1}}", "archive.logs: tail"},
		"in limits":                   {"limits", "{maxDeletions: 3, window: 1h, per: 1h}", "limits: per"},
		"in a window of an override":  {"overrides/0/windows", "[{schedule: '@daily', duration: 1h, zone: UTC}]", "window of an override"},
		"in an override":              {"overrides/0/rulename", "a", "override of batch: rulename"},
		"in a variable":               {"variables", "[{name: a, expression: 'true', type: bool}]", "variable a: type"},
		"in approval":                 {"approval", "{objects: 3}", "approval: objects"},
		"ttl":                         {"rules/0/ttl", "1 day", "should match"},
		"ttl of an override":          {"overrides/0/ttl", "1y", "should match"},
		"bound":                       {"rules/0/overrideBounds", "{maxTTL: forever}", "should match"},
		"operator":                    {"rules/0/target/selector", "{matchExpressions: [{key: a, operator: Is, values: [b]}]}", "operators In and NotIn"},
		"values":                      {"rules/0/target/selector", "{matchExpressions: [{key: a, operator: In}]}", "operators In and NotIn"},
		"apiVersion":                  {"rules/0/target/apiVersion", "batch/v1/jobs", "target.apiVersion in body should match"},
		"kind":                        {"rules/0/target/kind", "' '", "target.kind in body should match"},
		"blank":                       {"rules/0/eligible", "' '", "such as finished(object)"},
		"a tag of YAML":               {"rules/0/eligible", "!finished(object)", "at least 1 chars long"},
		"null":                        {"rules/0/eligible", "null", "such as finished(object)"},
		"null selector":               {"rules/0/target/selector", "null", "is null: write a value"},
		"null labels":                 {"rules/0/target/selector", "{matchLabels: null}", "is null: write a value"},
		"null label":                  {"rules/0/target/selector", "{matchLabels: {team: null}}", "is null: write a value"},
		"null requirements":           {"rules/0/target/selector", "{matchExpressions: null}", "is null: write a value"},
		"our own kinds":               {"rules/0/target", "{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionPolicy}", "may not delete RetentionPolicy"},
		"roles":                       {"rules/0/target", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding}", "may not delete RoleBinding"},
		"leases":                      {"rules/0/target", "{apiVersion: coordination.k8s.io/v1, kind: Lease}", "may not delete Lease"},
		"the namespace":               {"rules/0/target", "{apiVersion: v1, kind: Namespace}", "may not delete Namespace"},
		"volumes":                     {"rules/0/target", "{apiVersion: v1, kind: PersistentVolumeClaim}", "may not delete PersistentVolumeClaim"},
		"another namespace's account": {"serviceAccountName", "kube-system/default", "bare name"},
		"another user's name":         {"serviceAccountName", "system:serviceaccount:kube-system:default", "bare name"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := refused(w.Create(t.Context(), w.own("p", of(test.path, test.value))), test.want); err != nil {
				t.Error(err)
			}
		})
	}
	w.create(w.own("every-field", everyField))
	w.policy("every-field", "mode: DryRun\nnamespaceSelector: {matchExpressions: [{key: a, operator: Exists}]}\nexcludeNamespaces: [a]\n"+
		everyField[strings.Index(everyField, "variables:"):])
}

const everyField = `
mode: DryRun
serviceAccountName: cleaner
overrides: [{policy: batch, rule: jobs, ttl: 1d12h, suspend: false, keepNewest: {count: 1}, windows: [{schedule: "@daily", duration: 1h, timeZone: UTC}]}]
variables: [{name: done, expression: "true"}]
limits: {maxDeletions: 10, window: 1h}
approval: {maxPercent: 25, maxObjects: 100}
rules:
- name: all
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}}
  eligible: variables.done
  startTime: object.metadata.creationTimestamp
  ttl: 1.5h
  keepNewest: {count: 3, groupBy: "'a'"}
  capacity: {max: 5, share: PerNamespace}
  overrideBounds: {minTTL: "0", maxTTL: 2w, ttlAnnotation: WithinBounds, allowSuspend: true, minKeepNewest: 1}
  delete: {propagationPolicy: Background}
  archive: {to: history, dependents: [Pod], events: true, logs: {tailBytes: 1Mi, required: true}, redact: ["spec.a"]}
  events: Aggregate
`

// set sets the value at a path of objects and lists.
func set(at any, path []string, value any) {
	switch v := at.(type) {
	case []any:
		set(v[path[0][0]-'0'], path[1:], value)
	case map[string]any:
		if len(path) == 1 {
			v[path[0]] = value
			return
		}
		set(v[path[0]], path[1:], value)
	default:
		panic(fmt.Sprintf("no %v in %T", path, at))
	}
}

// TestLargestPolicyIsNotTooMuch: the CEL cost budget allows the largest policy, and the API server refuses a policy that
// exceeds it.
func TestLargestPolicyIsNotTooMuch(t *testing.T) {
	w := newEnv(t)
	w.serverless()
	object := w.own("p", everyField)
	spec := object.Object["spec"].(map[string]any)
	long := `"` + strings.Repeat("a", 9000) + `" != ""`
	for field, name := range map[string]string{"rules": "name", "variables": "name", "overrides": "rule"} {
		one := spec[field].([]any)[0].(map[string]any)
		var all []any
		for i := range 64 {
			next := runtime.DeepCopyJSON(one)
			next[name] = fmt.Sprintf("n%d", i)
			if field == "rules" {
				next["eligible"], next["startTime"] = long, "timestamp("+long+")"
			}
			all = append(all, next)
		}
		spec[field] = all
	}
	author := w.tenant("author", writesPolicies, makesPods)
	expect.NoError(t, author.Create(t.Context(), object))
	set(object.Object, strings.Split("spec/rules/9/ttl", "/"), "9h")
	set(object.Object, strings.Split("spec/rules/8/eligible", "/"), long+" && true")
	if err := author.Update(t.Context(), object); err != nil {
		t.Error(err)
	}
	if err := w.tenant("weak", writesPolicies).Patch(t.Context(), object, edit(`{"spec":{"mode":"Suspend"}}`)); err != nil {
		t.Error(err)
	}
}
