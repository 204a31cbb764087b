// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/node/agent"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
)

// explainedImages has a rule for another node.
const explainedImages = `
mode: Enforce
rules:
- name: unused
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('go.test/'))
  ttl: 7d
- name: elsewhere
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  nodeSelector: {matchLabels: {no: such}}
  eligible: "true"
  ttl: 1d
`

// TestImageOfANodeIsExplained: a user with the permissions of the docs sees what happens to an image and why, as the
// agent on the node computes it. Other users do not.
func TestImageOfANodeIsExplained(t *testing.T) {
	w := newEnv(t)
	d := containerd.Run(t, containerd.Options{Lane: containerd.Debian})
	unused := containerd.Image{Tags: []string{"go.test/team/unused:v1", "go.test/team/unused:v2"}, Digest: true}
	named := containerd.Image{Tags: []string{"go.test/team/named:v1"}, Digest: true}
	loaded := containerd.Image{Tags: []string{"go.test/team/loaded:v1"}}
	expect.NoError(t, d.Import(t.Context(), unused, named, loaded))
	n := w.node("a")
	w.create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "waits"},
		Spec:       corev1.PodSpec{NodeName: n.Name, Containers: []corev1.Container{{Name: "main", Image: "go.test/team/named:v1"}}},
	})
	w.agentPod(n, d)
	p := w.policy("explained", explainedImages)
	user, err := w.plane.UserConfig(w.namespace + "-looker")
	expect.NoError(t, err)
	sunset := w.commandLine(withPods(t, user), "--node", n.Name, "--agent-namespace", w.namespace)

	file := filepath.Join(t.TempDir(), "policy.yaml")
	expect.NoError(t, os.WriteFile(file, []byte(policyAboutNothing), 0o600))
	if out, err := sunset("explain", "image/unused:v1", "-f", file); err == nil || !strings.Contains(out, "you need permission to list pods in namespace "+w.namespace) {
		t.Errorf("without permissions: %v\n%s", err, out)
	}
	w.mayLook(w.namespace + "-looker")
	var page explained
	cluster.Eventually(w, patience, func() error {
		out, err := sunset("explain", "image/unused:v1", "-o", "json")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return json.Unmarshal([]byte(out), &page)
	})
	image := page.Object.Image
	if page.Object.Name != unused.ID() || len(image.Tags) != 2 || len(image.Digests) != 1 || image.Bytes == 0 {
		t.Errorf("another image: %+v", page)
	}
	if v := page.Verdict; v.Reason != "Waiting" || v.Policy != p.Name || v.DueTime.Sub(image.UnusedSince) != 7*24*time.Hour {
		t.Errorf("due at %v, want seven days after %v: %+v", v.DueTime, image.UnusedSince, v)
	}
	for _, want := range []struct{ name, what string }{
		{"go.test/team/unused:v2", `"why": "NodeNotSelected"`},
		{"named:v1", fmt.Sprintf(`"message": "in use by Pod %s/waits, as go.test/team/named:v1"`, w.namespace)},
		{"team/loaded:v1", `"reason": "Unpullable"`},
		{strings.TrimPrefix(loaded.ID(), "sha256:")[:13], `"go.test/team/loaded:v1"`},
	} {
		if out, err := sunset("explain", "image/"+want.name, "-o", "json"); err != nil || !strings.Contains(out, want.what) {
			t.Errorf("%s: %v, without %s:\n%s", want.name, err, want.what, out)
		}
	}
	if out, err := sunset("explain", "image/unused:v3"); err == nil || !strings.Contains(out, "image unused:v3 not found; found go.test/team/unused:v1, go.test/team/unused:v2\n") {
		t.Errorf("an unknown image: %v\n%s", err, out)
	}
	if out, err := sunset("preview"); err != nil || !regexp.MustCompile(`go\.test/team/unused:v[12] \+1 +\d\S*B +Wait +Waiting `).MatchString(out) {
		t.Errorf("preview: %v\n%s", err, out)
	}
}

// policyAboutNothing needs no permission to list the policies of the cluster.
const policyAboutNothing = `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: nothing}
spec:
  rules:
  - {name: none, target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}, eligible: "false", ttl: 7d}
`

// explained is the parsed output of explain.
type explained struct {
	Object struct {
		Name  string
		Image struct {
			Tags, Digests []string
			Bytes         int64
			UnusedSince   time.Time
		}
	}
	Verdict struct {
		Reason, Policy string
		DueTime        time.Time
	}
}

// agentPod runs an agent, and creates the Pod that it pretends to run in.
func (w *env) agentPod(n *corev1.Node, d *containerd.Daemon) {
	w.Helper()
	port := freePort(w.T)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "agent", Labels: map[string]string{"app.kubernetes.io/name": "sunset-node-agent"}},
		Spec: corev1.PodSpec{NodeName: n.Name, Containers: []corev1.Container{{
			Name: "agent", Image: "sunset-node-agent", Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: int32(port)}},
		}}},
	}
	w.create(pod)
	pod.Status.Phase = corev1.PodRunning
	expect.NoError(w, w.Status().Update(w.Context(), pod))
	state := w.TempDir()
	w.background("agent", func(ctx context.Context) error {
		return agent.Run(ctx, agent.Config{
			Rest: w.plane.Config(), Clock: clock.RealClock{}, Node: n.Name, Endpoint: d.Endpoint, StateDir: state,
			Interval: 300 * time.Millisecond, MetricsAddress: fmt.Sprintf("127.0.0.1:%d", port), ProbeAddress: "0",
		})
	})
}

var proxied = regexp.MustCompile(`/pods/agent:(\d+)/proxy(/.*)$`)

// withPods returns the API server for a user with the proxy to Pods, for which the test has no network: if the user may use
// the proxy, the agent's port answers.
func withPods(t *testing.T, user *rest.Config) *rest.Config {
	t.Helper()
	transport, err := rest.TransportFor(user)
	expect.NoError(t, err)
	target, err := url.Parse(user.Host)
	expect.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	proxy.ModifyResponse = func(r *http.Response) error {
		to := proxied.FindStringSubmatch(r.Request.URL.Path)
		if to == nil || r.StatusCode == http.StatusForbidden {
			return nil
		}
		answer, err := http.Get("http://127.0.0.1:" + to[1] + to[2])
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		r.StatusCode, r.Header, r.Body, r.ContentLength = answer.StatusCode, answer.Header, answer.Body, answer.ContentLength
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// commandLine returns a function that runs kubectl-sunset in a cluster, with flags for each call, and returns both outputs.
func (w *env) commandLine(config *rest.Config, flags ...string) func(args ...string) (string, error) {
	w.Helper()
	command := w.command(config)
	return func(args ...string) (string, error) {
		out, err := command(w.Context(), append(args, flags...)...).CombinedOutput()
		return string(out), err
	}
}

// command returns a function that prepares to run kubectl-sunset.
func (w *env) command(config *rest.Config) func(ctx context.Context, args ...string) *exec.Cmd {
	w.Helper()
	binary, kubeconfig := built(w, "kubectl-sunset"), filepath.Join(w.TempDir(), "kubeconfig")
	expect.NoError(w, cluster.WriteKubeconfig(kubeconfig, config))
	return func(ctx context.Context, args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, binary, append(args, "--kubeconfig", kubeconfig)...)
	}
}

// mayLook grants a user the permissions of the docs, in the namespace of the test.
func (w *env) mayLook(user string) {
	w.Helper()
	page, err := os.ReadFile("../../docs/operations/node-agent.md")
	expect.NoError(w, err)
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	roles := 0
	for _, document := range documents(string(page)) {
		role := &rbacv1.ClusterRole{} // a Role decodes as a ClusterRole too
		expect.NoError(w, yaml.Unmarshal([]byte(document), role))
		meta := metav1.ObjectMeta{Name: w.namespace + "-" + role.Name}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: meta.Name}
		switch role.Kind {
		case "ClusterRole":
			w.create(&rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules})
			w.create(&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
			w.Cleanup(func() {
				ctx := context.Background()
				err := errors.Join(w.Client.Delete(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta}), w.Client.Delete(ctx, &rbacv1.ClusterRole{ObjectMeta: meta}))
				if err != nil {
					w.Error(err)
				}
			})
		case "Role":
			meta.Namespace = w.namespace
			w.create(&rbacv1.Role{ObjectMeta: meta, Rules: role.Rules})
			w.create(&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
		default:
			continue
		}
		roles++
	}
	if roles != 2 {
		w.Fatalf("%d roles on the page", roles)
	}
}
