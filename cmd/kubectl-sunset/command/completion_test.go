// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/controllers/process/version"
)

// served holds the server's discovery documents.
var served = map[string]string{
	"/api": `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"batch","versions":[{"groupVersion":"batch/v1","version":"v1"}],
		"preferredVersion":{"groupVersion":"batch/v1","version":"v1"}}]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[
		{"name":"pods","singularName":"pod","kind":"Pod","namespaced":true,"verbs":["list","patch"]},
		{"name":"componentstatuses","singularName":"componentstatus","kind":"ComponentStatus","verbs":["list"]}]}`,
	"/apis/batch/v1": `{"kind":"APIResourceList","groupVersion":"batch/v1","resources":[
		{"name":"jobs","singularName":"job","kind":"Job","namespaced":true,"verbs":["list","patch"]}]}`,
}

// names serves lists of objects with only names, by path, and records the user agents.
func names(t *testing.T, lists map[string][]string) (server string, agents func() []string) {
	t.Helper()
	var lock sync.Mutex
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		seen = append(seen, r.UserAgent())
		lock.Unlock()
		if document, ok := served[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, document)
			return
		}
		var items []string
		for _, name := range lists[r.URL.Path] {
			items = append(items, fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
		}
		if items == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","items":[%s]}`, strings.Join(items, ","))
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		lock.Lock()
		defer lock.Unlock()
		return seen
	}
}

func TestWordsAreCompleted(t *testing.T) {
	const policies = "/apis/sunset-k8s.io/v1alpha1"
	server, agents := names(t, map[string][]string{
		policies + "/clusterretentionpolicies":            {"batch", "pods"},
		policies + "/namespaces/team-a/retentionpolicies": {"cleanup"},
		"/api/v1/namespaces":                              {"default", "team-a"},
		"/api/v1/nodes":                                   {"worker-1"},
		"/apis/batch/v1/namespaces/team-a/jobs":           {"report", "sync"},
	})
	kubeconfig := write(t, t.TempDir(), "config", "{apiVersion: v1, kind: Config, contexts: [{name: test, context: {}}, {name: prod, context: {}}]}")
	for name, test := range map[string]struct {
		args []string
		want string // words, without descriptions
	}{
		"commands":                        {[]string{"appr"}, "approve"},
		"flags":                           {[]string{"validate", "--rec"}, "--recursive"},
		"values of a flag":                {[]string{"preview", "-o", ""}, "json yaml kyaml name go-template go-template-file template templatefile jsonpath jsonpath-as-json jsonpath-file custom-columns custom-columns-file wide html"},
		"shells":                          {[]string{"completion", ""}, "kubectl bash zsh fish powershell"},
		"policies of the cluster":         {[]string{"approve", "--server", server, ""}, "batch pods"},
		"policies of a namespace":         {[]string{"approve", "--server", server, "-n", "team-a", ""}, "cleanup"},
		"one policy only":                 {[]string{"approve", "--server", server, "batch", ""}, ""},
		"namespaces":                      {[]string{"preview", "--server", server, "-n", ""}, "default team-a"},
		"nothing for a missing namespace": {[]string{"approve", "--server", server, "-n", "team-b", ""}, ""},
		"kinds":                           {[]string{"unmark", "--server", server, ""}, "jobs.batch pods"},
		"kinds that are not listed yet":   {[]string{"unmark", "--server", server, "pods", ""}, "jobs.batch"},
		"kinds of an object":              {[]string{"explain", "--server", server, "jo"}, "jobs.batch/ pods/"},
		"objects of a kind":               {[]string{"explain", "--server", server, "-n", "team-a", "job/"}, "job/report job/sync"},
		"one object only":                 {[]string{"explain", "--server", server, "job/report", ""}, ""},
		"nothing for an unknown kind":     {[]string{"explain", "--server", server, "widget/"}, ""},
		"nodes":                           {[]string{"preview", "--server", server, "--node", ""}, "worker-1"},
		"contexts":                        {[]string{"rbac", "--kubeconfig", kubeconfig, "--context", ""}, "prod test"},
		"files that are read":             {[]string{"validate", "-f", ""}, "json yaml yml"},
		"directories with tests":          {[]string{"test", ""}, ""},
		"nothing without a cluster":       {[]string{"approve", "--server", "http://127.0.0.1:1", ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", append([]string{"__complete"}, test.args...)...)
			var words []string
			for _, line := range strings.Split(got.out, "\n") {
				if word, _, _ := strings.Cut(line, "\t"); word != "" && !strings.HasPrefix(word, ":") {
					words = append(words, word)
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(words, " ")); diff != "" || got.code != command.ExitOK {
				t.Errorf("exit %d, -want +got\n%s%s", got.code, diff, got.err)
			}
		})
	}
	for _, agent := range agents() {
		if want := version.Get().UserAgent("kubectl-sunset"); agent != want {
			t.Errorf("User-Agent %s, want %s", agent, want)
		}
	}
}

func TestScriptsForShells(t *testing.T) {
	for shell, want := range map[string]string{
		"kubectl": `exec kubectl sunset __complete "$@"`, "bash": "__start_kubectl-sunset", "zsh": "#compdef kubectl-sunset",
		"fish": "complete -c kubectl-sunset", "powershell": "Register-ArgumentCompleter",
	} {
		wants(t, run(t, "", "completion", shell), command.ExitOK, want)
	}
	wants(t, run(t, "", "completion", "ksh"), command.ExitError, `invalid argument "ksh"`)
	wants(t, run(t, "", "completion"), command.ExitError, "accepts 1 arg")
}

func TestVersionIsSaid(t *testing.T) {
	want := version.Get().Line("kubectl-sunset") + "\n"
	for _, args := range [][]string{{"version", "--client"}, {"--version"}} {
		if got := run(t, "", args...); got.out != want {
			t.Errorf("%v: %q, want %q", args, got.out, want)
		}
	}
}
