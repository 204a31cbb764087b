// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/policytest"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/playground"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/long"
)

// testCase is a request, and checks of the response.
type testCase struct {
	name    string
	request playground.Request
	checks  []func(*testing.T, *response)
}

func (c testCase) check(t *testing.T, got *response) {
	for _, check := range c.checks {
		check(t, got)
	}
}

// response is the part of a playground.Response that tests read. Its fields are decoded from JSON, as in the page.
type response struct {
	Error    *playground.Problem
	Preview  *policytest.Want // the verdicts and errors have the same format
	Problems []playground.Problem
	Page     json.RawMessage
	text     string
}

const samplesDir = "../../samples"

// sample is a directory with a want.yaml.
type sample struct {
	name              string
	want              *policytest.Want
	policies, objects []string // documents
}

// theSamples are all samples, read once per process.
var theSamples []sample

func samples(t *testing.T) []sample {
	t.Helper()
	if theSamples == nil {
		theSamples = readSamples(t)
	}
	return theSamples
}

func readSamples(t *testing.T) (all []sample) {
	t.Helper()
	expect.NoError(t, filepath.WalkDir(samplesDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != policytest.FileName {
			return err
		}
		data, err := os.ReadFile(path)
		expect.NoError(t, err)
		want, err := policytest.Parse(data)
		expect.NoError(t, err)
		dir := filepath.Dir(path)
		name, err := filepath.Rel(samplesDir, dir)
		all = append(all, sample{filepath.ToSlash(name), want, documents(t, dir, want.Policies), documents(t, dir, want.Objects)})
		return err
	}))
	if len(all) < 60 {
		t.Fatalf("%d samples", len(all))
	}
	return all
}

const separator = "\n---\n"

func documents(t *testing.T, dir string, files []string) (all []string) {
	t.Helper()
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file))
		expect.NoError(t, err)
		all = append(all, strings.Split(string(data), separator)...)
	}
	return all
}

func newRequest(policies, objects []string, at time.Time) playground.Request {
	return playground.Request{
		Policies: strings.Join(policies, separator), At: at,
		Objects: &[]load.Text{{Name: "objects.yaml", Text: strings.Join(objects, separator)}},
	}
}

// onlyLong skips a test that takes long.
func onlyLong(t *testing.T) {
	t.Helper()
	if !long.Enabled() {
		t.Skip("make test-pages runs it")
	}
}

// some returns all samples, or every tenth.
func some(all []sample) []sample {
	if long.Enabled() {
		return all
	}
	var chosen []sample
	for i := 0; i < len(all); i += 10 {
		chosen = append(chosen, all[i])
	}
	return chosen
}

// theCases are the cases for Node and for a browser, made once per process.
var theCases []testCase

func allCases(t *testing.T) []testCase {
	t.Helper()
	if theCases == nil {
		random := 20
		if long.Enabled() {
			random = 1000
		}
		theCases = append(sampleCases(t), randomCases(t, random, 1)...)
	}
	return theCases
}

// sampleCases checks each sample against its want.yaml, as kubectl sunset test does, and against kubectl sunset preview. If the want.yaml
// is about the modes as they are written, these are two requests.
func sampleCases(t *testing.T) []testCase {
	t.Helper()
	var all []testCase
	for _, s := range some(samples(t)) {
		r := newRequest(s.policies, s.objects, s.want.At)
		r.AllowKinds = s.want.AllowKinds
		shown, tested := previewed(t, r), func(t *testing.T, got *response) { checkWant(t, s.want, got) }
		if s.want.Modes != policytest.AsWritten {
			all = append(all, testCase{s.name, r, []func(*testing.T, *response){shown, tested}})
			continue
		}
		all = append(all, testCase{s.name, r, []func(*testing.T, *response){shown}})
		r.AsWritten = true
		all = append(all, testCase{s.name + " as written", r, []func(*testing.T, *response){tested}})
	}
	return all
}

func checkWant(t *testing.T, want *policytest.Want, got *response) {
	t.Helper()
	if got.Error != nil || got.Preview == nil {
		t.Fatalf("no result: %s", got.text)
	}
	actual := &policytest.Got{Verdicts: got.Preview.Verdicts, Errors: got.Preview.Errors}
	sorted := *want // other tests need the order of want
	sorted.Verdicts = slices.Clone(want.Verdicts)
	for _, records := range [][]preview.Record{sorted.Verdicts, actual.Verdicts} { // random objects may have the same name
		slices.SortFunc(records, func(a, b preview.Record) int { return strings.Compare(key(a), key(b)) })
	}
	for _, p := range got.Problems {
		if !p.Warning {
			actual.Problems = append(actual.Problems, p.Problem.String())
		}
	}
	if lines := policytest.Diff(&sorted, actual); len(lines) > 0 {
		t.Errorf("-want +got\n%s", strings.Join(lines, "\n"))
	}
}

// key is everything that a want.yaml says about an object.
func key(v preview.Record) string {
	return fmt.Sprint(v.Kind, v.Namespace, v.Name, v.Image, v.Action, v.Reason, v.Policy, v.Rule, v.DueTime)
}

// previewed returns a check that the response is what kubectl sunset preview prints for the same files.
func previewed(t *testing.T, r playground.Request) func(*testing.T, *response) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "case")
	write(t, dir, r)
	args := []string{"preview", "-o", "json", "--at", r.At.Format(time.RFC3339)}
	args = append(args, "-f", filepath.Join(dir, playground.PolicyFile), "-f", filepath.Join(dir, "objects.yaml"))
	args = append(args, "--allow-kinds", strings.Join(r.AllowKinds, ","))
	var out, failures bytes.Buffer
	code := command.Run(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &failures}, r.At)
	return func(t *testing.T, got *response) {
		t.Helper()
		if code == command.ExitError {
			t.Fatalf("kubectl sunset preview: %s", failures.String())
		}
		var want, has struct {
			Verdicts, Errors any
			Preview          *struct{ Verdicts, Errors any }
		}
		expect.NoError(t, json.Unmarshal(out.Bytes(), &want))
		expect.NoError(t, json.Unmarshal([]byte(got.text), &has))
		if has.Preview == nil {
			t.Fatalf("no result: %s", got.text)
		}
		expect.Equal(t, "verdicts", want.Verdicts, has.Preview.Verdicts)
		expect.Equal(t, "errors", want.Errors, has.Preview.Errors)
	}
}

var (
	ttlField  = regexp.MustCompile(`\bttl: \d+[smhdw]\b`)
	modeField = regexp.MustCompile(`\bmode: \w+`)
	kindField = regexp.MustCompile(`(?m)^kind: (\w+)`)
	nodeKind  = regexp.MustCompile(`(?m)\bkind: Node$`)
	someTime  = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

// randomCases mixes policies of up to three samples with objects of their kinds from all samples, and changes their times, modes
// and lifetimes. The same seed gives the same cases. The expected verdicts are those that kubectl sunset test writes.
func randomCases(t *testing.T, n int, seed uint64) []testCase {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	all, byKind := samples(t), map[string][]string{}
	for _, s := range all {
		for _, object := range s.objects {
			kind := kindField.FindString(object)
			byKind[kind] = append(byKind[kind], object)
		}
	}
	dir, cases := t.TempDir(), make([]testCase, n)
	for i := range cases {
		var policies, objects []string
		kinds := map[string]bool{"kind: Namespace": true}
		for range 1 + random.IntN(3) {
			s := all[random.IntN(len(all))]
			policies = append(policies, s.policies...)
			for _, object := range s.objects {
				kinds[kindField.FindString(object)] = true
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			for range 1 + random.IntN(12) {
				if from := byKind[kind]; len(from) > 0 {
					objects = append(objects, from[random.IntN(len(from))])
				}
			}
		}
		nodes := 0
		objects = slices.DeleteFunc(objects, func(text string) bool { // images do not name their node, so there may be only one
			nodes += len(nodeKind.FindAllString(text, -1))
			return nodes > 1 && nodeKind.MatchString(text)
		})
		at := time.Date(2026, 2, 1+random.IntN(60), random.IntN(24), 0, 0, 0, time.UTC)
		cases[i].name = fmt.Sprintf("random-%04d", i)
		cases[i].request = newRequest(changed(random, policies), changed(random, objects), at)
		write(t, filepath.Join(dir, cases[i].name), cases[i].request)
	}
	var out bytes.Buffer
	if code := command.Run(t.Context(), []string{"test", "--update", dir}, genericiooptions.IOStreams{Out: &out, ErrOut: &out}, time.Time{}); code != command.ExitOK {
		t.Fatalf("kubectl sunset test ends with %d: %s", code, out.String())
	}
	for i := range cases {
		data, err := os.ReadFile(filepath.Join(dir, cases[i].name, policytest.FileName))
		expect.NoError(t, err)
		want, err := policytest.Parse(bytes.ReplaceAll(data, []byte(filepath.Join(dir, cases[i].name)+"/"), nil))
		expect.NoError(t, err)
		cases[i].checks = append(cases[i].checks, func(t *testing.T, got *response) { checkWant(t, want, got) })
	}
	return cases
}

// write writes a request as a test of policies.
func write(t *testing.T, dir string, r playground.Request) {
	t.Helper()
	expect.NoError(t, os.Mkdir(dir, 0o755))
	for name, text := range map[string]string{
		playground.PolicyFile: r.Policies, "objects.yaml": (*r.Objects)[0].Text, policytest.FileName: "at: " + r.At.Format(time.RFC3339) + "\n",
	} {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

func changed(random *rand.Rand, documents []string) []string {
	var all []string
	for _, text := range documents {
		text = ttlField.ReplaceAllStringFunc(text, func(string) string {
			return fmt.Sprintf("ttl: %d%c", 1+random.IntN(40), "mhd"[random.IntN(3)])
		})
		text = modeField.ReplaceAllStringFunc(text, func(mode string) string {
			return []string{mode, mode, "mode: Enforce", "mode: Suspend"}[random.IntN(4)]
		})
		text = someTime.ReplaceAllStringFunc(text, func(written string) string {
			at, err := time.Parse(time.RFC3339, written)
			if err != nil || random.IntN(3) > 0 {
				return written
			}
			return at.Add(time.Duration(random.IntN(2000)-1000) * time.Hour).Format(time.RFC3339)
		})
		all = append(all, text)
	}
	return all
}
