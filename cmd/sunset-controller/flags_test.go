package main

import (
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
	if !program.HelpAsked(err) {
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
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse([]string{test.arg}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
}
