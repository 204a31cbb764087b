// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

// about is a policy with one rule.
func about(kind, apiVersion, target, eligible string) string {
	return fmt.Sprintf(`apiVersion: %s
kind: %s
metadata: {name: a, namespace: %s}
spec:
  rules:
  - {name: r, target: {%s}, eligible: "%s", startTime: object.metadata.creationTimestamp, ttl: 1d}
`, apiVersion, kind, map[bool]string{true: "team"}[kind == "RetentionPolicy"], target, eligible)
}

func cluster(target, eligible string) string {
	return strings.Replace(about("ClusterRetentionPolicy", "sunset-k8s.io/v1alpha1", target, eligible), ", namespace: ", "", 1)
}

const (
	job    = "apiVersion: batch/v1, kind: Job"
	widget = "apiVersion: example.com/v1, kind: Widget"

	widgets = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              more: {type: object, x-kubernetes-preserve-unknown-fields: true}
              tags: {type: object, additionalProperties: {type: string}}
`
	overridesOf = `---
apiVersion: sunset-k8s.io/v1alpha1
kind: RetentionPolicy
metadata: {name: o, namespace: team}
spec: {overrides: [{policy: %s, rule: %s, ttl: 2d}]}
`
)

// TestValidateKnowsKindsAndFields checks that validate has the warnings of the webhook. An empty want means no warning.
func TestValidateKnowsKindsAndFields(t *testing.T) {
	for name, test := range map[string]struct{ files, want string }{
		"a kind with an extra letter":            {cluster("apiVersion: batch/v1, kind: Jobb", "true"), "spec.rules[0].target.kind: warning: no matches for kind \"Jobb\" in version \"batch/v1\"\n    hint: did you mean Job?\n"},
		"a resource":                             {cluster("apiVersion: batch/v1, kind: jobs", "true"), "no matches for kind \"jobs\" in version \"batch/v1\"\n    hint: did you mean Job?\n"},
		"a kind of another group":                {cluster("apiVersion: v1, kind: Job", "true"), "no matches for kind \"Job\" in version \"v1\"\n    hint: did you mean apiVersion: batch/v1?\n"},
		"the core group by name":                 {cluster("apiVersion: core/v1, kind: Pod", "true"), "no matches for kind \"Pod\" in version \"core/v1\"\n    hint: did you mean apiVersion: v1?\n"},
		"a group with a suffix":                  {cluster("apiVersion: batch.k8s.io/v1, kind: Job", "true"), "hint: did you mean apiVersion: batch/v1?\n"},
		"a version that is no longer served":     {cluster("apiVersion: batch/v1beta1, kind: CronJob", "true"), "no matches for kind \"CronJob\" in version \"batch/v1beta1\"\n    hint: did you mean apiVersion: batch/v1?\n"},
		"a kind of a newer version":              {cluster("apiVersion: batch/v1, kind: Pipeline", "true"), ""},
		"a kind of an operator":                  {cluster("apiVersion: batch.volcano.sh/v1alpha1, kind: Job", "object.anything == 1"), ""},
		"referrers":                              {cluster(job, "true") + "  references: [{from: {apiVersion: apps/v1, kind: Deploymnet}, to: Secret, names: '[]'}]\n", "spec.references[0].from.kind: warning: no matches for kind \"Deploymnet\" in version \"apps/v1\"\n    hint: did you mean Deployment?\n"},
		"a misspelled field":                     {cluster(job, "object.status.succeded == 1"), "spec.rules[0].eligible:1:14: warning: the schema has no field \"succeded\" in object.status\n    object.status.succeded == 1\n                 ^\n    hint: did you mean succeeded?\n"},
		"a field in has()":                       {cluster(job, "has(object.status.succeded)"), "hint: did you mean succeeded?\n"},
		"a field after .?":                       {cluster(job, "object.status.?succeded.orValue(0) == 1"), "hint: did you mean succeeded?\n"},
		"a field of another kind":                {cluster(job, "object.status.phase == 'Failed'"), "the schema has no field \"phase\" in object.status\n"},
		"a field at another path":                {cluster(job, "object.backoffLimit == 1"), "hint: did you mean object.spec.backoffLimit?\n"},
		"a label compared with a number":         {cluster(job, "object.metadata.labels['tier'] == 1"), "== does not accept (string, int)"},
		"a field of a loop":                      {cluster(job, "object.status.conditions.exists(c, c.typ == 'Failed')"), "the schema has no field \"typ\" in object.status.conditions[]\n"},
		"maps and text":                          {cluster(job, "object.metadata.labels.anything == 'x' && object.spec.template.spec.nodeSelector['a'] == 'b'"), ""},
		"quantities, and ports by name":          {cluster("apiVersion: v1, kind: Service", "object.spec.ports.all(p, p.targetPort == 'http' || p.targetPort == 80)"), ""},
		"a CustomResourceDefinition":             {cluster(widget, "object.spec.size == 1 && object.spec.more.any.thing == 2 && object.spec.tags.x == 'y' && object.metadata.name != ''") + widgets, ""},
		"a field that a definition lacks":        {cluster(widget, "object.spec.syze == 1") + widgets, "hint: did you mean size?\n"},
		"a kind similar to that of a definition": {cluster("apiVersion: example.com/v1, kind: Wigdet", "true") + widgets, "hint: did you mean Widget?\n"},
		"a version that is not defined":          {cluster("apiVersion: example.com/v2, kind: Widget", "true") + widgets, "hint: did you mean apiVersion: example.com/v1?\n"},
		"a definition of an open kind":           {cluster(widget, "object.spec.syze == 1") + strings.Replace(widgets, "spec:\n  group", "spec:\n  preserveUnknownFields: true\n  group", 1), ""},
		"an override of a rule":                  {cluster(job, "true") + fmt.Sprintf(overridesOf, "a", "r"), ""},
		"an override of an unknown rule":         {cluster(job, "true") + fmt.Sprintf(overridesOf, "a", "jobs"), "o: spec.overrides[0].rule: warning: policy a has no rule \"jobs\"\n"},
		"an override of an unknown policy":       {strings.Replace(cluster(job, "true"), "name: a", "name: batch", 1) + fmt.Sprintf(overridesOf, "bacth", "r"), "ClusterRetentionPolicy \"bacth\" does not exist\n    hint: did you mean batch?\n"},
		"an override of a policy in the cluster": {cluster(job, "true") + fmt.Sprintf(overridesOf, "elsewhere", "r"), ""},
		"a field in a RetentionPolicy":           {about("RetentionPolicy", "sunset-k8s.io/v1alpha1", job, "object.status.succeded == 1") + "  serviceAccountName: x\n", "hint: did you mean succeeded?\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.want == "" {
				got := run(t, test.files, "validate", "--warnings-as-errors", "-f", "-")
				wants(t, got, 0, ": no problems")
				return
			}
			wants(t, run(t, test.files, "validate", "-f", "-"), 0, test.want, "those of Kubernetes 1.", "no problems; 1 warning")
			wants(t, run(t, test.files, "validate", "--warnings-as-errors", "-f", "-"), command.ExitFindings, test.want)
		})
	}
}

func TestValidateFindsNoPolicy(t *testing.T) {
	dir, files := t.TempDir(), fstest.MapFS{}
	for name, text := range map[string]string{
		"job.yaml": "apiVersion: batch/v1\nkind: Job\n", "policy.yaml": cluster(job, "true"), "crd.yaml": widgets, "jobs/job.yaml": "apiVersion: batch/v1\nkind: Job\n",
		"both/job.yaml": "apiVersion: batch/v1\nkind: Job\n", "both/policy.yaml": cluster(job, "true"),
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	expect.NoError(t, os.CopyFS(dir, files))
	at := func(name string) string { return filepath.Join(dir, name) }
	wants(t, run(t, "", "validate", "-f", at("policy.yaml"), "-f", at("crd.yaml"), "-f", at("both")), 0, "2 policies in 4 files: no problems")
	wants(t, run(t, "", "validate", "-f", at("policy.yaml"), "-f", at("job.yaml"), "-f", at("jobs")), command.ExitFindings,
		at("job.yaml")+": no policy and no CustomResourceDefinition\n", at("jobs")+": no policy", "1 policy in 3 files: 2 problems")
	wants(t, run(t, "", "validate", "-f", at("job.yaml"), "-o", "json"), command.ExitFindings, `"message": "no policy and no CustomResourceDefinition"`, `"kubernetesVersion": "1.`)
}

func TestValidateKnowsItsOwnKinds(t *testing.T) {
	right := "hint: did you mean apiVersion: sunset-k8s.io/v1alpha1 and kind: "
	for name, test := range map[string]struct{ kind, apiVersion, want string }{
		"a wrong group":                  {"ClusterRetentionPolicy", "sunset.k8s.io/v1alpha1", right + "ClusterRetentionPolicy?"},
		"no group":                       {"RetentionPolicy", "v1alpha1", right + "RetentionPolicy?"},
		"a misspelled group":             {"ClusterRetentionPolicy", "sunst-k8s.io/v1alpha1", right + "ClusterRetentionPolicy?"},
		"a misspelled kind":              {"ClusterRetentionPolcy", "sunset-k8s.io/v1alpha1", right + "ClusterRetentionPolicy?"},
		"a kind in the plural, no group": {"RetentionPolicies", "sunset.io/v1", right + "RetentionPolicy?"},
		"a policy of another project":    {"RetentionPolicy", "storage.kubestash.com/v1alpha1", "no policy and no CustomResourceDefinition"},
		"a kind with a similar name":     {"ClusterPropagationPolicy", "policy.karmada.io/v1alpha1", "no policy and no CustomResourceDefinition"},
	} {
		t.Run(name, func(t *testing.T) {
			wants(t, run(t, about(test.kind, test.apiVersion, job, "true"), "validate", "-f", "-"), command.ExitFindings, test.want)
		})
	}
}

func TestValidateRefusesATeamsRuleAboutTheCluster(t *testing.T) {
	text := about("RetentionPolicy", "sunset-k8s.io/v1alpha1", "apiVersion: storage.k8s.io/v1, kind: StorageClass", "true") + "  serviceAccountName: x\n"
	wants(t, run(t, text, "validate", "-f", "-"), command.ExitFindings, "a: spec.rules[0].target.kind: StorageClass.storage.k8s.io objects are cluster-scoped",
		"hint: only a ClusterRetentionPolicy can target them")
}

// protectedKinds are the protected kinds that samples target.
const protectedKinds = "PersistentVolume,PersistentVolumeClaim,Role.rbac.authorization.k8s.io,ClusterRole.rbac.authorization.k8s.io," +
	"RoleBinding.rbac.authorization.k8s.io,ClusterRoleBinding.rbac.authorization.k8s.io,CustomResourceDefinition.apiextensions.k8s.io"

// TestSamplesHaveNoWarnings leaves out the samples that contain mistakes.
func TestSamplesHaveNoWarnings(t *testing.T) {
	all, err := os.ReadDir(samples)
	expect.NoError(t, err)
	for _, dir := range all {
		if !dir.IsDir() || dir.Name() == "combining" {
			continue
		}
		wants(t, run(t, "", "validate", "--allow-kinds", protectedKinds, "--warnings-as-errors", "-R", "-f", filepath.Join(samples, dir.Name())), 0, ": no problems")
	}
}
