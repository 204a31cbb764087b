// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// sample holds the policies of one directory of samples, all enforced.
type sample struct {
	file     string
	rules    []*policy.Rule
	programs map[string]*engine.Program
}

// samplesOf reads every policy.yaml of the samples.
func samplesOf(t testing.TB, c *engine.Compiler) []sample {
	t.Helper()
	var all []sample
	for _, file := range sampleFiles(t, "policy.yaml") {
		s := sample{file: file, programs: map[string]*engine.Program{}}
		for _, data := range documentsOf(t, file) {
			p := enforced(t, data)
			for key, program := range c.Load(p) {
				s.programs[key] = program
			}
			s.rules = append(s.rules, p.Rules...)
		}
		all = append(all, s)
	}
	if len(all) < 20 {
		t.Fatalf("only %d samples were found", len(all))
	}
	return all
}

// enforced reads a policy. It changes a dry run to Enforce, because dry runs do not affect decisions.
func enforced(t testing.TB, data []byte) *policy.Policy {
	t.Helper()
	document, err := policy.Parse(data)
	expect.NoError(t, err)
	if document.Spec.Mode == v1alpha1.DryRun {
		document.Spec.Mode = v1alpha1.Enforce
	}
	return document.Load(policy.DefaultProtection())
}

func sampleFiles(t testing.TB, name string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("../samples", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == name {
			files = append(files, file)
		}
		return err
	})
	expect.NoError(t, err)
	return files
}

// documentsOf returns the documents of a YAML file as JSON.
func documentsOf(t testing.TB, file string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(file)
	expect.NoError(t, err)
	var documents [][]byte
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		data, err := yaml.YAMLToJSON(document)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		documents = append(documents, data)
	}
	return documents
}

// FuzzVerdict evaluates every rule of every sample on any object of any kind: with unknown references, without
// references, and with one. Nothing may panic. An object must not be deleted if a rule fails on it, if it has a flag,
// or before it is due.
func FuzzVerdict(f *testing.F) {
	for _, data := range hostileObjects {
		f.Add(data)
	}
	for _, file := range sampleFiles(f, "objects.yaml") {
		for _, data := range documentsOf(f, file) {
			f.Add(string(data))
		}
	}
	c := fixture.Compiler(f)
	samples := samplesOf(f, c)
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	known := []*engine.References{nil, {}, {Count: 1, By: func() []engine.Referrer { return []engine.Referrer{{Kind: "Pod", Namespace: "shop", Name: "a"}} }}}
	f.Fuzz(func(t *testing.T, data string) {
		var object map[string]any
		if utiljson.Unmarshal([]byte(data), &object) != nil {
			t.Skip()
		}
		subject, err := engine.SubjectOf(object)
		e := c.NewEvaluator(t.Context())
		defer e.Close()
		for _, referred := range known {
			e.SetReferences(referred)
			for _, s := range samples {
				evaluations := s.ask(e, object)
				if err != nil {
					continue // an object without an identity has no decision; the rules must only not panic
				}
				s.check(t, subject, evaluations, now)
				for i := range evaluations {
					s.check(t, subject, evaluations[i:i+1], now)
				}
			}
		}
	})
}

// ask evaluates the rules of the sample. A rule with an unknown kind has no program and does not apply.
func (s sample) ask(e *engine.Evaluator, object map[string]any) []policy.Evaluation {
	var evaluations []policy.Evaluation
	for _, r := range s.rules {
		if program := s.programs[r.Key]; program != nil {
			evaluations = append(evaluations, policy.Evaluation{Rule: r, Facts: e.Facts(program, object), Known: true})
		}
	}
	return evaluations
}

func (s sample) check(t *testing.T, subject policy.Subject, evaluations []policy.Evaluation, now time.Time) {
	t.Helper()
	v, permit := policy.Decide(subject, evaluations, now)
	if permit.Valid() != (v.Action == policy.Delete) || v.Reason == "" {
		t.Errorf("%s: permit valid %v for %+v", s.file, permit.Valid(), v)
	}
	if v.Action != policy.Delete {
		return
	}
	if subject.Flags != 0 || v.Due.After(now) || v.Start.Before(subject.Created) || v.TTL < 0 || permit.Subject() != subject {
		t.Errorf("%s: %+v is deleted: %+v", s.file, subject, v)
	}
	for _, r := range evaluations {
		if r.Facts.Err != nil || r.Facts.Selected && r.Rule.Invalid() {
			t.Errorf("%s: deleted despite rule %s: %v", s.file, r.Rule.ID, r.Facts.Err)
		}
	}
}
