// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/node/agent"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestManifestStartsTheAgent: crds/nodes/agent.yaml is a valid DaemonSet, with and without its commented parts. The agent
// accepts its arguments, and its mounts are the documented ones.
func TestManifestStartsTheAgent(t *testing.T) {
	text, err := os.ReadFile("../../crds/nodes/agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	socket, state, images := "/run/containerd/containerd.sock", "/var/lib/sunset-node-agent", "/var/lib/containerd"
	for name, test := range map[string]struct {
		text string
		want map[string]string // "writable" or "read-only", by path
	}{
		"without changes": {string(text), map[string]string{socket: "writable", state: "writable"}},
		"with thresholds": {regexp.MustCompile(`(?m)^( +)# (- |  )`).ReplaceAllString(string(text), "$1$2"), map[string]string{socket: "writable", state: "writable", images: "read-only"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.DaemonSet{}
			if err := yaml.UnmarshalStrict([]byte(test.text), d); err != nil {
				t.Fatal(err)
			}
			container := d.Spec.Template.Spec.Containers[0]
			if container.ImagePullPolicy != corev1.PullIfNotPresent {
				t.Errorf("image %s has pull policy %s, want IfNotPresent: no registry may have an image that was loaded onto the nodes", container.Image, container.ImagePullPolicy)
			}
			o := newOptions()
			if err := o.FlagSet.Parse(container.Args); err != nil {
				t.Error(err)
			}
			from := map[string]string{}
			for _, v := range d.Spec.Template.Spec.Volumes {
				from[v.Name] = v.HostPath.Path
			}
			mounts := map[string]string{}
			for _, m := range container.VolumeMounts {
				mounts[m.MountPath] = "writable"
				if m.ReadOnly {
					mounts[m.MountPath] = "read-only"
				}
				if from[m.Name] != m.MountPath {
					t.Errorf("%s is a mount of host path %s", m.MountPath, from[m.Name])
				}
			}
			expect.Equal(t, "mounts", test.want, mounts)
			if mounts[strings.TrimPrefix(o.config.Endpoint, "unix://")] == "" || mounts[o.config.StateDir] == "" {
				t.Errorf("%s or %s is not mounted", o.config.Endpoint, o.config.StateDir)
			}
		})
	}
}

func TestFlagsThatCannotBe(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown flag":           {[]string{"--no-such-flag"}, "unknown flag"},
		"an argument":               {[]string{"images"}, `unexpected argument "images"`},
		"no such file":              {[]string{"--kubeconfig=/no/such/file"}, "find the API server: stat /no/such/file"},
		"a duration without a unit": {[]string{"--interval=30"}, "invalid argument"},
		"an interval of zero":       {[]string{"--interval=0s"}, "--interval: want at least 100ms, not \"0s\""},
		"no removals":               {[]string{"--max-in-flight=0"}, "--max-in-flight: want at least 1"},
		"no cluster":                {nil, "find the API server: the program does not run in a Pod"},
		"no node":                   {[]string{"--kubeconfig", nowhere(t)}, "the name of the node is missing: set --node-name or the environment variable NODE_NAME"},
		"no socket": {[]string{"--kubeconfig", nowhere(t), "--node-name=a", "--runtime-endpoint=tcp://127.0.0.1:1234"},
			`runtime endpoint "tcp://127.0.0.1:1234": want an absolute path or a URL such as unix:///run/containerd/containerd.sock`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse(test.args); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
}

// nowhere returns the path of a kubeconfig for an API server that does not exist.
func nowhere(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	c := clientcmdapi.NewConfig()
	c.Clusters["nowhere"] = &clientcmdapi.Cluster{Server: "http://127.0.0.1:1"}
	c.Contexts["nowhere"] = &clientcmdapi.Context{Cluster: "nowhere"}
	c.CurrentContext = "nowhere"
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAgentReportsUnreachableAPIServer(t *testing.T) {
	config, err := parse([]string{"--kubeconfig", nowhere(t), "--node-name=a", "--runtime-endpoint", filepath.Join(t.TempDir(), "runtime.sock"),
		"--state-dir", t.TempDir(), "--metrics-bind-address=0", "--health-probe-bind-address=0"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "cannot reach the API server at http://127.0.0.1:1: dial tcp 127.0.0.1:1: "
	if err := agent.Run(t.Context(), config); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}
