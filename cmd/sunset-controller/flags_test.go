package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/cmd/program"
)

// TestThePageHasEveryFlag: an operator finds every flag of --help in docs/operations.md with its default, and no other.
func TestThePageHasEveryFlag(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := matches(string(page), "(?m)^\\| `--([a-z-]+)` \\| (?:—|0|`(?:0|false|([^`]*))`) \\| .+ \\|$")
	flags := matches(help(t), `(?m)^ +--([a-z-]+) .*?(?:\(default ["[]?(.*?)["\]]?\))?$`)
	if len(flags) < 10 {
		t.Fatalf("only %d flags in --help", len(flags))
	}
	if diff := cmp.Diff(flags, documented); diff != "" {
		t.Errorf("docs/operations.md: -help +page\n%s", diff)
	}
}

// matches gives what two groups of an expression match: a name, and what belongs to it.
func matches(text, expression string) map[string]string {
	found := map[string]string{}
	for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
		found[match[1]] = match[2]
	}
	return found
}

// help is what --help prints. A default that is zero is not in it.
func help(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "help")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = file
	_, err = parse([]string{"--help"})
	os.Stderr = stderr
	if !errors.Is(err, program.ErrAnswered) {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFlagsThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct{ arg, want string }{
		"unknown":         {"--no-such-flag", "unknown flag"},
		"an argument":     {"batch", `unexpected argument "batch"`},
		"no kind":         {"--allow-kinds=.batch", "--allow-kinds"},
		"no such file":    {"--kubeconfig=/no/such/file", "no API server"},
		"a bare duration": {"--leader-elect-lease-duration=15", "invalid argument"},
		"a short lease":   {"--leader-elect-lease-duration=10s", "--leader-elect-lease-duration: want more than leader-elect-renew-deadline, not \"10s\""},
		"a slow retry":    {"--leader-elect-retry-period=9s", "--leader-elect-renew-deadline: want more than 1.2 times leader-elect-retry-period"},
		"no retry":        {"--leader-elect-retry-period=0s", "--leader-elect-retry-period: want more than 0s"},
		"no deletion":     {"--max-in-flight=0", "--max-in-flight: want at least 1"},
		"a backward rate": {"--max-deletions-per-second=-1", "--max-deletions-per-second: want a number, 0 or more"},
		"no rate":         {"--max-deletions-per-second=NaN", "--max-deletions-per-second: want a number, 0 or more"},
		"no port":         {"--metrics-bind-address=localhost", "--metrics-bind-address: want a host"},
		"a high port":     {"--webhook-bind-address=:94430", "--webhook-bind-address: want a host"},
		"no namespace":    {"--namespace=", "--namespace: want valid namespace names"},
		"a pattern":       {"--protected-namespaces=kube-*", "--protected-namespaces: want valid namespace names"},
		"no cluster":      {"--leader-elect=false", "no API server: this does not run in a Pod"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse([]string{test.arg}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
}

// TestALeaseIsWrittenInWholeSeconds: client-go cuts off the rest, and another process leads once the seconds that are written are over.
// A leader that deletes for longer is one of two.
func TestALeaseIsWrittenInWholeSeconds(t *testing.T) {
	for _, test := range []struct{ lease, renew, retry string }{{"10900ms", "10500ms", "2s"}, {"1900ms", "1800ms", "1s"}} {
		_, err := parse([]string{
			"--leader-elect-lease-duration=" + test.lease, "--leader-elect-renew-deadline=" + test.renew, "--leader-elect-retry-period=" + test.retry,
		})
		if err == nil || !strings.Contains(err.Error(), "--leader-elect-lease-duration: want") {
			t.Errorf("a leader deletes for %s after a renewal, and a lease of %s is taken over before that: %v", test.renew, test.lease, err)
		}
	}
}
