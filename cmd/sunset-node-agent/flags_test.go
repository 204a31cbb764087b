package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// TestThePageHasEveryFlag: an operator finds every flag in docs/images.md with its default, but for those of the log, and no
// other.
func TestThePageHasEveryFlag(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	page, err := os.ReadFile("../../docs/images.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, match := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| (?:`([^$`]*)`|`\\$NODE_NAME`)? ?\\| .+ \\|$").FindAllStringSubmatch(string(page), -1) {
		documented[match[1]] = match[2]
	}
	flags := map[string]string{}
	(&options{}).flags().VisitAll(func(f *pflag.Flag) {
		if !strings.HasPrefix(f.Name, "zap-") {
			flags[f.Name] = f.DefValue
		}
	})
	if diff := cmp.Diff(flags, documented); diff != "" {
		t.Errorf("docs/images.md: -flags +page\n%s", diff)
	}
}

func TestFlagsThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct{ arg, want string }{
		"unknown":         {"--no-such-flag", "unknown flag"},
		"an argument":     {"images", `unexpected argument "images"`},
		"no such file":    {"--kubeconfig=/no/such/file", "no API server"},
		"a bare duration": {"--interval=30", "invalid argument"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse([]string{test.arg}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
}
