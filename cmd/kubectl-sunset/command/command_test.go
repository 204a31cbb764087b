// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const samples = "../../../samples"

// ran is the result of a command.
type ran struct {
	code     int
	out, err string
}

func run(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	t.Setenv("KUBECACHEDIR", t.TempDir())
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut}
	code := command.Run(t.Context(), args, streams, now)
	return ran{code: code, out: out.String(), err: errOut.String()}
}

// golden compares the result of a command with a file.
func golden(t *testing.T, name string, got ran) {
	t.Helper()
	text := fmt.Sprintf("exit %d\n--- stdout\n%s--- stderr\n%s", got.code, got.out, got.err)
	expect.Golden(t, filepath.Join("testdata", name+".txt"), text, *update)
}

// wants checks the exit code, and that the output contains some texts.
func wants(t *testing.T, got ran, code int, texts ...string) {
	t.Helper()
	if got.code != code {
		t.Errorf("exit code %d, want %d", got.code, code)
	}
	for _, text := range texts {
		if !strings.Contains(got.out+got.err, text) {
			t.Errorf("%q is not in the output:\n%s%s", text, got.out, got.err)
		}
	}
}

// sameInYAML checks that two outputs of a command, in JSON and in YAML, have the same content.
func sameInYAML(t *testing.T, inJSON, inYAML ran) {
	t.Helper()
	var fromJSON, fromYAML any
	expect.NoError(t, json.Unmarshal([]byte(inJSON.out), &fromJSON))
	expect.NoError(t, yaml.Unmarshal([]byte(inYAML.out), &fromYAML))
	expect.Equal(t, "from YAML", fromJSON, fromYAML)
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestWrongUsageIsAnError(t *testing.T) {
	for name, args := range map[string][]string{
		"no files to validate":     {"validate"},
		"an unknown command":       {"destroy"},
		"an unknown flag":          {"preview", "--force"},
		"a missing file":           {"validate", "-f", "testdata/missing.yaml"},
		"an invalid time":          {"preview", "--at", "tomorrow"},
		"an unknown output format": {"preview", "-o", "xml"},
		"an argument without -f":   {"preview", "testdata/invalid.yaml"},
		"an invalid selector":      {"preview", "-f", samples + "/events", "-l", "a=(b"},
		"an empty directory":       {"preview", "-f", samples + "/combining/order-does-not-matter"},
		"no test":                  {"test", "testdata"},
		"no directory to test":     {"test"},
	} {
		t.Run(name, func(t *testing.T) { wants(t, run(t, "", args...), command.ExitError, "error: ") })
	}
}

func TestHelpSpeaksOfAPlugin(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"validate", "--help"}, {"preview", "--help"}, {"explain", "--help"}, {"test", "--help"}, {"approve", "--help"}, {"unmark", "--help"}} {
		wants(t, run(t, "", args...), command.ExitOK, "kubectl sunset "+strings.Join(args[:len(args)-1], ""), "Exit codes:", "Examples:")
	}
}
