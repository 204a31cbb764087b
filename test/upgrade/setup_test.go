// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/upgrade"
)

const (
	patience  = 90 * time.Second
	namespace = "upgrade"
)

// policies leave behind all recorded data: marks; a ledger with open and spent entries and counts by outcome; images of a
// node that are removed, or are too young.
var policies = map[string]string{
	"marks": `
mode: Enforce
rules:
- name: retired
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {app: marks}}}
  eligible: object.metadata.labels[?'retired'].orValue('') == 'true'
  ttl: 10m
`,
	"limited": `
mode: Enforce
limits: {maxDeletions: 4, window: 24h}
rules:
- name: done
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {app: limited}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
  outcome: object.metadata.name.split('-')[0]
`,
	"images": `
mode: Enforce
rules:
- name: old
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('old.test/'))
  ttl: 1h
- name: quick
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('quick.test/'))
  ttl: 1s
  images: {minAge: 1s}
`,
}

// setup is a control plane on which the programs of one version run.
type setup struct {
	*testing.T
	client.Client
	plane      *cluster.Cluster
	kubeconfig string // connects to the API server, but DELETEs of objects named open-* get no response
	state      string // of the agent; empty without one
}

// newSetup starts a setup with the definitions of a version, and no controllers except Sunset.
func newSetup(t *testing.T, crds string) *setup {
	plane, err := cluster.Start(t.Context(), cluster.Options{Controllers: []string{}, Progress: os.Stderr})
	expect.NoError(t, err)
	t.Cleanup(func() { _ = plane.Stop() })
	_, err = cluster.InstallCRDs(plane.Config(), envtest.CRDInstallOptions{Paths: []string{crds}, ErrorIfPathMissing: true})
	expect.NoError(t, err)
	c, err := cluster.NewClient(plane.Config())
	expect.NoError(t, err)
	s := &setup{T: t, Client: c, plane: plane, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	expect.NoError(t, cluster.WriteKubeconfig(s.kubeconfig, s.withoutAnswer()))
	expect.NoError(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	return s
}

// withoutAnswer connects to the API server, but DELETEs of objects named open-* get no response.
func (s *setup) withoutAnswer() *rest.Config {
	transport, err := rest.TransportFor(s.plane.Config())
	expect.NoError(s.T, err)
	target, err := url.Parse(s.plane.Config().Host)
	expect.NoError(s.T, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval, proxy.ErrorLog = transport, -1, log.New(io.Discard, "", 0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/open-") {
			<-r.Context().Done()
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	s.Cleanup(server.CloseClientConnections)
	return &rest.Config{Host: server.URL}
}

// run starts a program, which the caller or the end of the test kills.
func (s *setup) run(program string, args ...string) *exec.Cmd {
	command := exec.Command(program, append([]string{"--kubeconfig", s.kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0"}, args...)...)
	command.Stderr = os.Stderr
	expect.NoError(s.T, command.Start())
	s.Cleanup(func() { _ = command.Process.Kill() })
	return command
}

func (s *setup) policy(name string) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	expect.NoError(s.T, yaml.Unmarshal([]byte(policies[name]), &u.Object))
	u.Object = map[string]any{"spec": u.Object}
	u.SetGroupVersionKind(v1alpha1.ClusterRetentionPolicyKind)
	u.SetName(name)
	expect.NoError(s.T, s.Create(s.Context(), u))
}

func (s *setup) configMap(name string, labels map[string]string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	expect.NoError(s.T, s.Create(s.Context(), cm))
	return cm
}

// play runs the controller of a version until it has left everything behind, and kills it in the middle. controller and
// agent are paths of programs; agent is empty if the version has none.
func (s *setup) play(controller, agent string) {
	s.policy("marks")
	s.policy("limited")
	running := s.run(controller, "--leader-elect=false")
	marked := s.configMap("retired", map[string]string{"app": "marks", "retired": "true"})
	s.configMap("in-use", map[string]string{"app": "marks"})
	limited := map[string]string{"app": "limited"}
	s.configMap("first-1", limited)
	s.configMap("second-1", limited)
	s.eventually(func() error {
		if err := s.Get(s.Context(), client.ObjectKeyFromObject(marked), marked); err != nil {
			return err
		}
		if marked.Annotations[v1alpha1.EligibleSinceAnnotation] == "" {
			return errors.New("not marked")
		}
		return s.ledger(2, 0)
	})
	if agent != "" {
		s.playImages(agent)
	}
	lost := s.configMap("open-lost", limited)
	s.configMap("open-there", limited)
	s.eventually(func() error { return s.ledger(2, 2) })
	time.Sleep(3 * time.Second) // until the status is written
	expect.NoError(s.T, running.Process.Kill())
	_, _ = running.Process.Wait()
	expect.NoError(s.T, s.Delete(s.Context(), lost)) // as if the DELETE without a response had succeeded
	s.configMap("third-1", limited)
}

// ledger requires a ledger with this many counted and this many open deletions.
func (s *setup) ledger(deleted int64, open int) error {
	all := s.list("RetentionLedger")
	if len(all) != 1 {
		return fmt.Errorf("%d ledgers", len(all))
	}
	total, _, _ := unstructured.NestedInt64(all[0].Object, "total", "deleted")
	groups, _, _ := unstructured.NestedSlice(all[0].Object, "open")
	n := 0
	for _, g := range groups {
		group, _ := g.(map[string]any)
		objects, _, _ := unstructured.NestedSlice(group, "objects")
		n += len(objects)
	}
	return cluster.Want(total == deleted && n == open, "%d deleted, %d open", total, n)
}

// playImages runs the agent until it has removed one image and observed another that stays.
func (s *setup) playImages(agent string) {
	runtime := critest.Start(s.T)
	runtime.Update(func(s *critest.State) {
		s.Images = append(s.Images, critest.Image(1, "old.test/app:v1"), critest.Image(2, "quick.test/app:v1"))
	})
	expect.NoError(s.T, s.Create(s.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: upgrade.Node}}))
	s.policy("images")
	s.state = filepath.Join(s.TempDir(), upgrade.StateDir)
	running := s.run(agent, "--node-name="+upgrade.Node, "--runtime-endpoint="+runtime.Endpoint, "--state-dir="+s.state, "--interval=1s")
	s.approve("images")
	s.eventually(func() error {
		left := 0
		runtime.Update(func(s *critest.State) { left = len(s.Images) })
		return cluster.Want(left == 1, "%d images are left", left)
	})
	time.Sleep(3 * time.Second) // the age of the other image grows
	expect.NoError(s.T, running.Process.Signal(syscall.SIGTERM))
	expect.NoError(s.T, running.Wait())
}

// approve approves a policy about images, so that it does not wait until all nodes have counted.
func (s *setup) approve(name string) {
	var hash string
	s.eventually(func() error {
		for _, rules := range s.list("NodeImageRules") {
			all, _, _ := unstructured.NestedSlice(rules.Object, "policies")
			for _, p := range all {
				told, _ := p.(map[string]any)
				form, _, _ := unstructured.NestedString(told, "hash")
				uid, _, _ := unstructured.NestedString(told, "uid")
				hash = (&policy.Policy{UID: types.UID(uid), Hash: form}).ApprovalHash()
			}
		}
		return cluster.Want(hash != "", "no rules are published")
	})
	p := &unstructured.Unstructured{}
	p.SetGroupVersionKind(v1alpha1.ClusterRetentionPolicyKind)
	p.SetName(name)
	expect.NoError(s.T, s.Get(s.Context(), client.ObjectKeyFromObject(p), p))
	expect.NoError(s.T, s.Create(s.Context(), fixture.Approval(p, hash)))
}

func (s *setup) eventually(check func() error) {
	s.Helper()
	cluster.Eventually(s, patience, check)
}

// list returns all objects of one of our kinds, or all ConfigMaps; none if the version lacks the kind.
func (s *setup) list(kind string) []unstructured.Unstructured {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
	if kind == "ConfigMap" {
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	}
	if err := s.List(context.WithoutCancel(s.Context()), list); err != nil {
		s.Log(err)
		return nil
	}
	return list.Items
}
