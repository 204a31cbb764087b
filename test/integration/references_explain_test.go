// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/engine/builtin"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestCommandLineSaysWhatRefers: the command reads the references to ConfigMaps and Secrets from the API server. For a
// user who may not list all referring kinds, it reports the references as unknown.
func TestCommandLineSaysWhatRefers(t *testing.T) {
	w := newEnv(t)
	for _, name := range []string{"used", "free"} {
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}})
		w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: map[string]string{"key": "value"}})
	}
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "release"}, Type: "helm.sh/release.v1"})
	w.create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"},
		Spec: corev1.PodSpec{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "used"}}, Containers: []corev1.Container{{
			Name: "main", Image: "go.test/web:v1",
			EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "used"}}}},
		}}},
	})
	file := filepath.Join(t.TempDir(), "policy.yaml")
	expect.NoError(t, os.WriteFile(file, []byte(unusedPolicy), 0o600))
	says := func(sunset func(...string) (string, error), args string, want ...string) {
		t.Helper()
		out, err := sunset(append(strings.Fields(args), "-f", file, "-n", w.namespace)...)
		for _, text := range want {
			if !regexp.MustCompile(text).MatchString(out) {
				t.Errorf("%s: %v, want %q in:\n%s", args, err, text, out)
			}
		}
	}
	admin := w.commandLine(w.plane.Config())
	says(admin, "preview", `ConfigMap +free +Wait +Waiting`, `ConfigMap +used +Keep +NotEligible`, `Secret +free +Wait +Waiting`, `Secret +used +Keep +NotEligible`)
	says(admin, "explain cm/used", fmt.Sprintf(`Referenced by:\n  Pod %s/web\n`, w.namespace))
	says(admin, "explain secret/free", `Referenced by:\n  nothing\n`)
	if out, _ := admin("preview", "-f", file, "-n", w.namespace); strings.Contains(out, "release") {
		t.Errorf("output with a Secret that no rule selects:\n%s", out)
	}

	user := w.namespace + "-lister"
	config, err := w.plane.UserConfig(user)
	expect.NoError(t, err)
	w.mayListAllButPods(user)
	lister := w.commandLine(config)
	says(lister, "preview", `ConfigMap +free +Keep +ReferencesUnknown`, `1 error:\n  cannot list Pod of v1: pods is forbidden`)
	says(lister, "explain cm/free", `stays: ReferencesUnknown`, `there may be more:\s+some\s+references\s+to\s+ConfigMap\s+objects\s+are\s+unknown:\s+cannot\s+list\s+Pod\s+of\s+v1`)
}

const unusedPolicy = `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: unused-of-the-command-line}
spec:
  rules:
  - {name: configmaps, target: {apiVersion: v1, kind: ConfigMap}, eligible: references.count == 0, ttl: 1d}
  - {name: secrets, target: {apiVersion: v1, kind: Secret}, eligible: references.count == 0, ttl: 1d}
`

// mayListAllButPods grants a user permission to read everything that the command reads, except Pods. That includes custom resources
// that the references of Kubernetes know, which another test may have installed on the control plane.
func (w *env) mayListAllButPods(user string) {
	w.Helper()
	read := []string{"get", "list"}
	groups := sets.New("sunset-k8s.io")
	for _, r := range builtin.References() {
		groups.Insert(r.From.Group)
	}
	groups.Delete("")
	w.grant(user, "lister",
		rbacv1.PolicyRule{APIGroups: []string{""}, Verbs: read, Resources: []string{
			"configmaps", "secrets", "namespaces", "podtemplates", "replicationcontrollers", "serviceaccounts", "persistentvolumes",
		}},
		rbacv1.PolicyRule{APIGroups: sets.List(groups), Verbs: read, Resources: []string{"*"}})
}
