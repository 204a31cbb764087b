// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestStatusWeb: the pages show the state at the time of each request, and the command only reads.
func TestStatusWeb(t *testing.T) {
	s := newLive(t)
	s.inForce(livePolicy("jobs", "Enforce", "Job", "2d"))
	s.teams()
	t.Setenv("KUBECACHEDIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan int)
	go func() {
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: io.Discard}
		code := command.Run(ctx, []string{"status", "--web", "--server", s.URL, "--allow-kinds", "Namespace", "--protected-namespaces", "prod"}, streams, now)
		_ = write.Close()
		done <- code
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	expect.NoError(t, err)
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+/`).FindString(line)
	page := func(name string) string {
		t.Helper()
		response, err := http.Get(url + name)
		expect.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		expect.NoError(t, err)
		expect.Equal(t, "code", http.StatusOK, response.StatusCode)
		return string(body)
	}
	contains := func(name string, texts ...string) {
		t.Helper()
		got := page(name)
		for _, text := range texts {
			if !strings.Contains(got, text) {
				t.Errorf("page %q does not contain %q:\n%s", name, text, got)
			}
		}
	}
	contains("", "<h1>Status of policies</h1>", "<td>jobs<td>Enforce", `<a href="preview">`, "the policy has no status yet")
	contains("preview", "<h1>Preview of deletions</h1>", "<td>dev<td>Job<td>a<td><b class=\"Wait\">Wait</b><td>Waiting<td>2026-03-02T12:00:00Z<td>jobs/r")
	s.inForce(livePolicy("others", "Enforce", "Job", "3d"))
	contains("preview", "2026-03-03T12:00:00Z<td>others/r")
	s.inForce(strings.Replace(livePolicy("names", "Enforce", "Namespace", "3d"), `"namespaceSelector":{"matchLabels":{"env":"dev"}},`, "", 1))
	s.list(namespacesPath, "v1", "Namespace", []string{object("old", "", "")})
	contains("preview", "2026-03-03T12:00:00Z<td>names/r") // a protected kind, which --allow-kinds allows
	stop()
	expect.Equal(t, "exit code", command.ExitOK, <-done)
	for _, asked := range s.asked {
		if !strings.HasPrefix(asked, "GET ") {
			t.Errorf("the command sent %s", asked)
		}
	}
	wants(t, s.run(t, "", "status", "--web", "--watch"), command.ExitError, "[watch web] were all set")
	wants(t, s.run(t, "", "status", "--web", "-o", "json"), command.ExitError, "[output web] were all set")
}
