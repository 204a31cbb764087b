// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

var (
	jobs   = schema.GroupResource{Group: "batch", Resource: "jobs"}
	events = schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}
	job    = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	pod    = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

// of is a policy with rules.
func of(name string, rules ...policy.Rule) *policy.Policy {
	p := &policy.Policy{Name: name}
	if namespace, _, found := strings.Cut(name, "/"); found {
		p.Namespace, p.ServiceAccount = namespace, "cleaner"
	}
	for _, r := range rules {
		p.Rules = append(p.Rules, &r)
	}
	return p
}

func TestPolicyNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		rules []policy.Rule
		want  string
	}{
		"list, watch and delete":       {[]policy.Rule{{Kind: job}}, "list watch delete"},
		"get for a ledger":             {[]policy.Rule{{Kind: job, Ledger: true}}, "list watch get delete"},
		"get for a snapshot":           {[]policy.Rule{{Kind: job, Snapshot: &policy.ClaimSnapshot{}}}, "list watch get delete"},
		"get for owners":               {[]policy.Rule{{Kind: job, Owner: true}}, "list watch get"},
		"patch for marks":              {[]policy.Rule{{Kind: job, Mark: "m"}}, "list watch delete patch"},
		"the verbs of all rules":       {[]policy.Rule{{Kind: job, Mark: "m"}, {Kind: job, Owner: true}}, "list watch get delete patch"},
		"no verbs for other kinds":     {[]policy.Rule{{Kind: pod, Mark: "m"}, {Kind: job}}, "list watch delete"},
		"no verbs without a rule":      {[]policy.Rule{{Kind: pod}}, ""},
		"no verbs for an invalid rule": {[]policy.Rule{{Kind: job, Problems: []policy.Problem{{}}}}, ""},
		"no verbs for images":          {[]policy.Rule{{Kind: v1alpha1.ImageKind}}, ""},
		"the same verbs for a dry run": {[]policy.Rule{{Kind: job, Mode: v1alpha1.DryRun}}, "list watch delete"},
	} {
		t.Run(name, func(t *testing.T) {
			got := rbac.OfSunset(of("batch", test.rules...), job.GroupKind(), jobs)
			expect.Equal(t, "join", test.want, strings.Join(got.Verbs, " "))
		})
	}
	if permission := rbac.OfSunset(of("e", policy.Rule{Kind: events}), policy.StoredAs(events), schema.GroupResource{Group: "events.k8s.io", Resource: "events"}); len(permission.Verbs) != 3 {
		t.Errorf("verbs for events.k8s.io: %v", permission)
	}
}

func TestOfSunset(t *testing.T) {
	text := rbac.OfSunset(of("batch", policy.Rule{Kind: job}), job.GroupKind(), jobs).YAML()
	const want = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: "sunset:batch:jobs.batch"
  labels: {rbac.sunset-k8s.io/aggregate-to-controller: "true"}
rules:
- {apiGroups: ["batch"], resources: ["jobs"], verbs: [list, watch, delete]}
`
	expect.Equal(t, "text", want, text)
}

func TestOfAccount(t *testing.T) {
	text := rbac.OfAccount(of("123/on", policy.Rule{Kind: pod, Mark: "m"}), pod.GroupKind(), schema.GroupResource{Resource: "pods"}).YAML()
	role, binding := &rbacv1.Role{}, &rbacv1.RoleBinding{}
	for i, document := range strings.Split(text, rbac.Between) {
		if err := yaml.UnmarshalStrict([]byte(document), []any{role, binding}[i]); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
	}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "delete", "patch"}}}
	if diff := cmp.Diff(rules, role.Rules); diff != "" || role.Namespace != "123" || role.Name != "sunset:on:pods" || role.Kind != "Role" {
		t.Errorf("%s\n%s", text, diff)
	}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "123", Name: "cleaner"}}
	if diff := cmp.Diff(subjects, binding.Subjects); diff != "" || binding.Namespace != "123" || binding.Name != role.Name || binding.RoleRef.Name != role.Name {
		t.Errorf("%s\n%s", text, diff)
	}
}

// TestRoleNamesDifferPerPolicyAndResource: each policy and resource has a role with a different name.
func TestRoleNamesDifferPerPolicyAndResource(t *testing.T) {
	names := map[string]bool{}
	for _, p := range []string{"batch", "batch.jobs", "batch-jobs", "a/batch", "a/b", "a.b", "a-b"} {
		for _, resource := range []string{"jobs", "batch-jobs"} {
			permission := rbac.OfSunset(of(p, policy.Rule{Kind: job}), job.GroupKind(), schema.GroupResource{Group: "batch", Resource: resource})
			_, name, _ := strings.Cut(permission.YAML(), "name: ")
			name, _, _ = strings.Cut(name, "\n")
			if names[name] {
				t.Errorf("%s is not unique", name)
			}
			names[name] = true
		}
	}
}

// breaks end a line for some YAML parsers, or are not printable.
var breaks = []string{"\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\v", "\f", "\x00", "\x1b", "\ufeff", "\xff"}

// TestLineHasNoBreaks: authors of policies choose the names in a line, and administrators apply the YAML next to it.
func TestLineHasNoBreaks(t *testing.T) {
	for _, end := range breaks {
		line := rbac.Line(strings.ReplaceAll("cleaner|---|kind: Secret", "|", end))
		if !strings.HasPrefix(line, "cleaner ") || strings.Contains(line, end) && end != "\xff" {
			t.Errorf("%q: the line is %q", end, line)
		}
	}
	expect.Equal(t, "printable text", "möglich — 可以 🌇", rbac.Line("möglich — 可以 🌇"))
}

func TestOfReferences(t *testing.T) {
	resources := []schema.GroupResource{{Resource: "pods"}, jobs, {Group: "batch", Resource: "cronjobs"}, {Resource: "configmaps"}, {Resource: "pods"}}
	role := &rbacv1.ClusterRole{}
	expect.NoError(t, yaml.UnmarshalStrict([]byte(rbac.OfReferences(of("unused"), resources...).YAML()), role))
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "pods"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"batch"}, Resources: []string{"cronjobs", "jobs"}, Verbs: []string{"list", "watch"}},
	}
	if diff := cmp.Diff(want, role.Rules); diff != "" || role.Name != "sunset:unused:references" || role.Labels[rbac.CollectedLabel] != "true" {
		t.Errorf("%s: -want +got\n%s", role.Name, diff)
	}
}

func TestMerge(t *testing.T) {
	p, other := of("team-a/own", policy.Rule{Kind: job}), of("team-b/own", policy.Rule{Kind: job})
	need := rbac.OfSunset(p, job.GroupKind(), jobs)
	for name, test := range map[string]struct {
		add  rbac.Permission
		want []string // the verbs of each permission
	}{
		"more verbs":      {rbac.OfOwners(p, jobs), []string{"list watch get delete"}},
		"another account": {rbac.OfAccount(p, job.GroupKind(), jobs), []string{"list watch delete", "list delete"}},
		"another purpose": {rbac.OfReferences(p, jobs), []string{"list watch delete", "list watch"}},
		"another policy":  {rbac.OfOwners(other, jobs), []string{"list watch delete", "get delete"}},
		"no verbs":        {rbac.OfSunset(p, pod.GroupKind(), jobs), []string{"list watch delete"}},
		"no resources":    {rbac.OfReferences(p), []string{"list watch delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, merged := range rbac.Merge(rbac.Merge(nil, need), test.add) {
				got = append(got, strings.Join(merged.Verbs, " "))
			}
			expect.Equal(t, "verbs", test.want, got)
		})
	}
}

// TestOfOwners: many owners are listed for their records.
func TestOfOwners(t *testing.T) {
	p := of("own", policy.Rule{Kind: job, Owner: true})
	expect.Equal(t, "verbs", []string{"get", "delete"}, rbac.OfOwners(p, jobs).Verbs)
	p.Rules[0].Archive = &policy.Archive{}
	expect.Equal(t, "verbs with an archive", []string{"list", "get", "delete"}, rbac.OfOwners(p, jobs).Verbs)
}

func TestMissingString(t *testing.T) {
	p := of("team-a/own", policy.Rule{Kind: job})
	for want, permission := range map[string]rbac.Permission{
		"Sunset may not watch, delete jobs.batch":                                     rbac.OfSunset(p, job.GroupKind(), jobs),
		"ServiceAccount cleaner may not watch, delete jobs.batch in namespace team-a": rbac.OfAccount(p, job.GroupKind(), jobs),
		"Sunset may not watch, delete all kinds whose references the rules ask about": rbac.OfReferences(p, jobs),
	} {
		missing := rbac.Missing{Permission: permission, Denied: []string{"watch", "delete"}}
		expect.Equal(t, "missing", want, missing.String())
	}
}

// TestSnapshotsNeed: rules with a snapshot need to read and create VolumeSnapshots; the ServiceAccount of a RetentionPolicy creates them.
func TestSnapshotsNeed(t *testing.T) {
	makes := policy.Rule{Kind: policy.ClaimKind, Snapshot: &policy.ClaimSnapshot{}}
	invalid := makes
	invalid.Problems = []policy.Problem{{}}
	for name, test := range map[string]struct {
		policy *policy.Policy
		want   []string
	}{
		"no snapshot":       {of("p", policy.Rule{Kind: policy.ClaimKind}), nil},
		"an invalid rule":   {of("p", invalid), nil},
		"Sunset":            {of("p", makes), []string{" volumesnapshots.snapshot.storage.k8s.io get create"}},
		"a ServiceAccount":  {of("team-a/p", makes), []string{" volumesnapshots.snapshot.storage.k8s.io get create", "cleaner volumesnapshots.snapshot.storage.k8s.io create"}},
		"two rules are one": {of("p", makes, makes), []string{" volumesnapshots.snapshot.storage.k8s.io get create"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, right := range rbac.OfSnapshots(test.policy) {
				got = append(got, strings.Join(append([]string{right.Account, right.For}, right.Verbs...), " "))
			}
			expect.Equal(t, "permissions", test.want, got)
		})
	}
}

func TestExplainImage(t *testing.T) {
	for image, want := range map[string]string{
		"nginx:1.25": "explain image/nginx:1.25 --node worker-1",
		"registry.example.com:5000/shop/cart@sha256:0a1b": "explain image/registry.example.com:5000/shop/cart@sha256:0a1b --node worker-1",
		"registry.example.com/shop/very-lo...":            "preview --node worker-1",
		"x; reboot":                                       "preview --node worker-1",
		"$(reboot)":                                       "preview --node worker-1",
		"--kubeconfig":                                    "preview --node worker-1",
		"":                                                "preview --node worker-1",
	} {
		expect.Equal(t, image, "kubectl sunset "+want, rbac.ExplainImage("worker-1", image))
	}
}
