// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestFlagsOfKubectlConfigureRequests(t *testing.T) {
	s := newAPIServer(t)
	var header http.Header
	s.proxied = map[string]http.HandlerFunc{policiesPath: func(w http.ResponseWriter, r *http.Request) { header = r.Header; fail(w, 404, "NotFound") }}
	wants(t, run(t, "", "status", "-s", s.URL, "--as", "bob", "--as-group", "ops"), command.ExitOK, "No policies found.")
	for name, want := range map[string]string{"Impersonate-User": "bob", "Impersonate-Group": "ops"} {
		expect.Equal(t, name, want, header.Get(name))
	}
}

// TestDiscoveryIsCached: a second command reads the documents from --cache-dir. Command unmark --all does not, because it must not
// miss new kinds.
func TestDiscoveryIsCached(t *testing.T) {
	s := newLive(t)
	s.list("/apis/batch/v1/namespaces/dev/jobs", "batch/v1", "Job", []string{object("d", "dev", "")})
	s.inForce(livePolicy("jobs", "Enforce", "Job", "1h"))
	cache := t.TempDir()
	discovers := func(command string, args ...string) bool {
		s.asked = nil
		s.run(t, "", command, append(args, "--cache-dir", cache)...)
		return strings.Contains(strings.Join(s.asked, "\n"), "GET /apis/batch/v1 ")
	}
	for i, want := range []bool{true, false} {
		expect.Equal(t, "discovery by preview", want, discovers("preview", "-n", "dev"))
		if i == 1 {
			expect.Equal(t, "discovery by unmark", true, discovers("unmark", "--all", "--dry-run=client"))
		}
	}
}

func TestVerbosityOfLogsShowsRequests(t *testing.T) {
	s := newAPIServer(t)
	var log bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&log)
	t.Cleanup(func() { klog.LogToStderr(true); _ = new(klog.Level).Set("0") })
	wants(t, s.run(t, "", "status", "-v=6"), command.ExitOK)
	klog.Flush()
	if !strings.Contains(log.String(), s.URL+policiesPath) {
		t.Errorf("no request in the log:\n%s", &log)
	}
}

// TestObjectsInFilesReplaceTheCluster: with objects beside policies, commands do not read the cluster. They say so, and refuse flags
// that name a cluster. Files of kustomize and Helm are not objects.
func TestObjectsInFilesReplaceTheCluster(t *testing.T) {
	s, dir := newLive(t), t.TempDir()
	write(t, dir, "policy.yaml", livePolicy("jobs", "DryRun", "Job", "1d"))
	write(t, dir, "kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: a}\nresources: [policy.yaml]\n")
	write(t, dir, "values.yaml", "replicas: 3\n")
	wants(t, s.preview(t, "", "-f", dir), command.ExitOK, "dev         Job    a      Delete   Expired")
	write(t, dir, "role.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\n")
	const cause = "the files contain objects besides policies, so the command does not read the cluster"
	for _, args := range [][]string{{"preview"}, {"preview", "--fail-on=deletions>1"}, {"unused"}, {"explain", "job/a"}} {
		args = append(args, "-f", dir)
		wants(t, s.run(t, "", args[0], args[1:]...), command.ExitError, "error: "+cause+" that --kubeconfig names; to read the cluster, name only files with policies")
		if args[0] != "explain" {
			wants(t, run(t, "", args...), command.ExitOK, "note: "+cause+"\n")
		}
	}
}
