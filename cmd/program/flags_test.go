// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"github.com/sunset-k8s/sunset/cmd/program"
	"github.com/sunset-k8s/sunset/controllers/process/features"
	"github.com/sunset-k8s/sunset/test/expect"
)

// settings has a flag of each type that programs use.
type settings struct {
	*program.Flags
	On      bool
	Many    int
	Rate    float64
	Wait    string
	Name    string
	Names   []string
	Address string
}

func newSettings() *settings {
	s := &settings{Flags: program.NewFlags("sunset-test", "TestConfig")}
	s.BoolVar(&s.On, "on", true, "")
	s.IntVar(&s.Many, "many", 16, "")
	s.Float64Var(&s.Rate, "rate", 0.5, "")
	s.StringVar(&s.Name, "name", "sunset", "")
	s.StringSliceVar(&s.Names, "names", []string{"a", "b"}, "")
	s.StringVar(&s.Address, "address", ":8080", "")
	s.Duration("wait", 0, "")
	s.AddGates(features.New())
	return s
}

const header = "apiVersion: config.sunset-k8s.io/v1alpha1\nkind: TestConfig\n"

// parse reads a file and flags. It returns the error without the directory of the file.
func (s *settings) parse(t *testing.T, text string, args ...string) error {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "sunset.yaml")
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	err := s.Parse(append([]string{"--config", path}, args...))
	if err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), dir+"/", ""))
	}
	return nil
}

// values returns the resulting settings in the syntax of flags.
func (s *settings) values() map[string]string {
	values := map[string]string{}
	for _, name := range []string{"on", "many", "rate", "name", "names", "address", "wait"} {
		values[name] = s.Lookup(name).Value.String()
	}
	return values
}

func TestFileGivesSettings(t *testing.T) {
	const all = header + `on: false
many: 4
rate: 2
name: "1"
names:
- one, and two
address: "0"
wait: 15s # the syntax of flags
`
	for name, test := range map[string]struct {
		text string
		args []string
		want map[string]string
	}{
		"no settings": {header, nil,
			map[string]string{"on": "true", "many": "16", "rate": "0.5", "name": "sunset", "names": "[a,b]", "address": ":8080", "wait": "0s"}},
		"all settings": {all, nil,
			map[string]string{"on": "false", "many": "4", "rate": "2", "name": "1", "names": `["one, and two"]`, "address": "0", "wait": "15s"}},
		"flags override the file": {all, []string{"--on", "--many=8", "--names=c,d", "--wait=1s"},
			map[string]string{"on": "true", "many": "8", "rate": "2", "name": "1", "names": "[c,d]", "address": "0", "wait": "1s"}},
		"a flag with its default value overrides the file": {header + "many: 4\n", []string{"--many=16"},
			map[string]string{"on": "true", "many": "16", "rate": "0.5", "name": "sunset", "names": "[a,b]", "address": ":8080", "wait": "0s"}},
		"JSON, and an empty list": {`{"kind": "TestConfig", "names": [], "apiVersion": "config.sunset-k8s.io/v1alpha1", "rate": 1e3}`, nil,
			map[string]string{"on": "true", "many": "16", "rate": "1000", "name": "sunset", "names": "[]", "address": ":8080", "wait": "0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSettings()
			expect.NoError(t, s.parse(t, test.text, test.args...))
			expect.Equal(t, "settings", test.want, s.values())
		})
	}
}

// TestFileSwitchesFeatures: a file sets features as a mapping. Like any flag, --feature-gates replaces the whole setting of
// the file.
func TestFileSwitchesFeatures(t *testing.T) {
	for want, test := range map[string]struct {
		text string
		args []string
	}{
		"":                              {"featureGates: {}\n", nil},
		"AllBeta=false,NodeImages=true": {"featureGates:\n  AllBeta: false\n  NodeImages: true\n", nil},
		"References=false":              {"featureGates: {NodeImages: false}\n", []string{"--feature-gates=References=false"}},
	} {
		s := newSettings()
		expect.NoError(t, s.parse(t, header+test.text, test.args...))
		expected := features.New()
		expect.NoError(t, expected.Set(want))
		if got := s.Lookup("feature-gates").Value.String(); got != expected.String() {
			t.Errorf("%s: %s", test.text, got)
		}
	}
}

// TestFileThatCannotBe: the error names the file, the line and the cause.
func TestFileThatCannotBe(t *testing.T) {
	const head = "apiVersion or kind is missing: a file for sunset-test needs apiVersion: config.sunset-k8s.io/v1alpha1 and kind: TestConfig"
	for name, test := range map[string]struct{ text, want string }{
		"an unknown setting":                       {header + "many: 1\nmoney: 1\n", `sunset.yaml:4: unknown setting "money": use the name of a flag of sunset-test in camelCase`},
		"a file within a file":                     {header + "config: more.yaml\n", `sunset.yaml:3: unknown setting "config": use the name of a flag of sunset-test in camelCase`},
		"a flag that is not a setting":             {header + "version: true\n", `sunset.yaml:3: unknown setting "version": use the name of a flag of sunset-test in camelCase`},
		"the name of a flag":                       {header + "feature-gates: {}\n", `sunset.yaml:3: unknown setting "feature-gates": did you mean featureGates?`},
		"a setting twice":                          {header + "many: 1\non: true\nmany: 2\n", "sunset.yaml:5: many is set twice"},
		"a word instead of a number":               {header + "many: several\n", "sunset.yaml:3: many: want a whole number, not several"},
		"a fraction":                               {header + "many: 1.5\n", "sunset.yaml:3: many: want a whole number, not 1.5"},
		"a number in quotes":                       {header + "rate: '1'\n", "sunset.yaml:3: rate: want a number, not 1"},
		"a number instead of a string":             {header + "address: 0\n", "sunset.yaml:3: address: want a string (use quotes if YAML reads it as another type), not 0"},
		"null":                                     {header + "name:\n", "sunset.yaml:3: name: want a string (use quotes if YAML reads it as another type), not null"},
		"yes":                                      {header + "on: yes\n", "sunset.yaml:3: on: want true or false, not yes"},
		"a duration without a unit":                {header + "wait: 15\n", "sunset.yaml:3: wait: want a duration such as 15s, not 15"},
		"an invalid duration":                      {header + "wait: soon\n", `sunset.yaml:3: wait: time: invalid duration "soon"`},
		"a string instead of a list":               {header + "names: a\n", "sunset.yaml:3: names: want a list of strings, not a"},
		"a number among names":                     {header + "names:\n- a\n- 1\n", "sunset.yaml:5: names: want a list of strings, not a list with 1"},
		"a list":                                   {header + "name: [a]\n", "sunset.yaml:3: name: want a string (use quotes if YAML reads it as another type), not a list"},
		"an alias":                                 {header + "address: &a x\nname: *a\n", "sunset.yaml:4: name: want a string (use quotes if YAML reads it as another type), not an alias"},
		"a number out of range":                    {header + "many: 99999999999999999999\n", "sunset.yaml:3: many: want a whole number, not 99999999999999999999"},
		"features as a string":                     {header + "featureGates: References=false\n", "sunset.yaml:3: featureGates: want feature names with true or false, such as {References: false}, not References=false"},
		"a feature that is not true or false":      {header + "featureGates:\n  References: off-ish\n", "sunset.yaml:4: featureGates: References: want true or false, not off-ish"},
		"an unknown feature":                       {header + "featureGates: {Referenzen: false}\n", "sunset.yaml:3: featureGates: unrecognized feature gate: Referenzen"},
		"an invalid setting that a flag overrides": {header + "rate: x\n", "sunset.yaml:3: rate: want a number, not x"},
		"another version":                          {"apiVersion: config.sunset-k8s.io/v2\nkind: TestConfig\n", `sunset.yaml:1: apiVersion: want config.sunset-k8s.io/v1alpha1, not "config.sunset-k8s.io/v2"`},
		"another kind":                             {"kind: ConfigMap\n", `sunset.yaml:1: kind: want TestConfig, not "ConfigMap"`},
		"no kind":                                  {"\nmany: 1\n", "sunset.yaml:2: " + head},
		"two documents":                            {header + "---\nmany: 1\n", "sunset.yaml:4: want one YAML document per file"},
		"a list of settings":                       {"- many: 1\n", "sunset.yaml:1: want settings, such as maxInFlight: 16, not a list"},
		"an empty file":                            {"# many: 1\n", "sunset.yaml:1: the file is empty"},
		"invalid YAML":                             {header + "many: [1\n", "sunset.yaml:2: did not find expected ',' or ']'"},
		"a tab":                                    {header + "\tmany: 1\n", "sunset.yaml:2: found a tab character that violates indentation"},
	} {
		t.Run(name, func(t *testing.T) {
			err := newSettings().parse(t, test.text, "--rate=1")
			if err == nil || err.Error() != test.want {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
	if err := newSettings().Parse([]string{"--config=/no/such/file"}); err == nil || err.Error() != "--config: open /no/such/file: no such file or directory" {
		t.Errorf("no such file: %v", err)
	}
}

// TestSettingErrorNamesLineOrFlag: the error about an invalid setting names the line of the file, or the flag.
func TestSettingErrorNamesLineOrFlag(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"in the file": {nil, `sunset.yaml:4: many: want at least 1, not "0"`},
		"by a flag":   {[]string{"--many=-1"}, `--many: want at least 1, not "-1"`},
	} {
		s := newSettings()
		expect.NoError(t, s.parse(t, header+"# none\nmany: 0\n", test.args...))
		err := s.Check(program.Demand{Setting: "on", Holds: true}, program.Demand{Setting: "many", Holds: s.Many > 0, Want: "at least 1"})
		if err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%s: %v; want %s", name, err, test.want)
		}
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"": true, "0": true, ":8080": true, "127.0.0.1:8080": true, "[::1]:8080": true, "localhost:0": true,
		"8080": false, ":http": false, ":65536": false, "::1:8080": false, "a b:80": false, ":": false,
	} {
		if got := program.Address("metrics", address).Holds; got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

// TestStackTracesAreForPanics: an error has no stack trace unless a flag or the file enables it.
func TestStackTracesAreForPanics(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		args []string
		want bool // whether an error has a stack trace
	}{
		"by default":                              {"", nil, false},
		"with other flags":                        {"", []string{"--zap-devel", "--zap-encoder=json", "--zap-log-level=debug"}, false},
		"enabled by a flag":                       {"", []string{"--zap-stacktrace-level=error"}, true},
		"enabled by the file":                     {"zapStacktraceLevel: error\nzapDevel: true\nzapLogLevel: '2'\n", nil, true},
		"enabled by the file, disabled by a flag": {"zapStacktraceLevel: error\n", []string{"--zap-stacktrace-level=panic"}, false},
		"the file has another setting":            {"zapDevel: false\n", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			to, err := os.Create(log)
			expect.NoError(t, err)
			stderr := os.Stderr
			os.Stderr = to
			err = newSettings().parse(t, header+test.text, test.args...)
			os.Stderr = stderr
			expect.NoError(t, err)
			klog.Background().Error(errors.New("no"), "something")
			said, err := os.ReadFile(log)
			expect.NoError(t, err)
			if got := strings.Contains(string(said), "TestStackTracesAreForPanics"); got != test.want || !strings.Contains(string(said), "something") {
				t.Errorf("%s", said)
			}
		})
	}
}

func TestHelpIsAnAnswer(t *testing.T) {
	s := newSettings()
	s.SetOutput(io.Discard)
	if err := s.Parse([]string{"--help"}); !errors.Is(err, program.ErrAnswered) {
		t.Error(err)
	}
}

func TestVersionIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "said")
	file, err := os.Create(path)
	expect.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = file
	err = newSettings().Parse([]string{"--version", "--config=/no/such/file"})
	os.Stdout = stdout
	if !errors.Is(err, program.ErrAnswered) {
		t.Fatal(err)
	}
	said, err := os.ReadFile(path)
	expect.NoError(t, err)
	if want := `^sunset-test \S+ \(commit \S+ of \S+, go1\.\S+, tzdata 20\w+, \w+/\w+\)\n$`; !regexp.MustCompile(want).Match(said) {
		t.Errorf("%q; want %s", said, want)
	}
}
