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
	"github.com/sunset-k8s/sunset/controllers/version"
)

// names serves lists of objects that have nothing but names, by path, and notes who asks.
func names(t *testing.T, lists map[string][]string) (server string, agents func() []string) {
	t.Helper()
	var lock sync.Mutex
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		seen = append(seen, r.UserAgent())
		lock.Unlock()
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
	const policies = "/apis/sunset.x-k8s.io/v1alpha1"
	server, agents := names(t, map[string][]string{
		policies + "/clusterretentionpolicies":            {"batch", "pods"},
		policies + "/namespaces/team-a/retentionpolicies": {"cleanup"},
		"/api/v1/namespaces":                              {"default", "team-a"},
	})
	for name, test := range map[string]struct {
		args []string
		want string // words, without their descriptions
	}{
		"commands":                    {[]string{"appr"}, "approve"},
		"flags":                       {[]string{"validate", "--rec"}, "--recursive"},
		"values of a flag":            {[]string{"preview", "-o", ""}, "table json yaml"},
		"shells":                      {[]string{"completion", ""}, "kubectl bash zsh fish powershell"},
		"policies of the cluster":     {[]string{"approve", "--server", server, ""}, "batch pods"},
		"policies of a namespace":     {[]string{"approve", "--server", server, "-n", "team-a", ""}, "cleanup"},
		"one policy only":             {[]string{"approve", "--server", server, "batch", ""}, ""},
		"namespaces":                  {[]string{"preview", "--server", server, "-n", ""}, "default team-a"},
		"nothing without the kind":    {[]string{"approve", "--server", server, "-n", "team-b", ""}, ""},
		"nothing without the cluster": {[]string{"approve", "--server", "http://127.0.0.1:1", ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", append([]string{"__complete"}, test.args...)...)
			var words []string
			for _, line := range strings.Split(got.out, "\n") {
				if word, _, _ := strings.Cut(line, "\t"); word != "" && !strings.HasPrefix(word, ":") {
					words = append(words, word)
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(words, " ")); diff != "" || got.code != command.ExitFine {
				t.Errorf("exit %d, -want +got\n%s%s", got.code, diff, got.err)
			}
		})
	}
	for _, agent := range agents() {
		if want := "kubectl-sunset/" + version.Get().Version; agent != want {
			t.Errorf("User-Agent %s, want %s", agent, want)
		}
	}
}

func TestScriptsForShells(t *testing.T) {
	for shell, want := range map[string]string{
		"kubectl": `exec kubectl sunset __complete "$@"`, "bash": "__start_kubectl-sunset", "zsh": "#compdef kubectl-sunset",
		"fish": "complete -c kubectl-sunset", "powershell": "Register-ArgumentCompleter",
	} {
		wants(t, run(t, "", "completion", shell), command.ExitFine, want)
	}
	wants(t, run(t, "", "completion", "ksh"), command.ExitTrouble, `invalid argument "ksh"`)
	wants(t, run(t, "", "completion"), command.ExitTrouble, "accepts 1 arg")
}

func TestTheVersionIsSaid(t *testing.T) {
	want := version.Get().Line("kubectl-sunset") + "\n"
	for _, arg := range []string{"version", "--version"} {
		if got := run(t, "", arg); got.out != want {
			t.Errorf("%s: %q, want %q", arg, got.out, want)
		}
	}
}
