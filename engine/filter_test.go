// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestFilter(t *testing.T) {
	record := map[string]any{
		"kind": "Job", "outcome": "Failed", "bytes": int64(2048), "labels": map[string]any{"team": "a"},
		"archivedAt": time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC),
	}
	object := map[string]any{"spec": map[string]any{"parallelism": int64(3)}}
	for text, want := range map[string]struct {
		matches, readsObject bool
		fails                string
	}{
		`record.outcome == "Failed"`:                                  {matches: true},
		`record.outcome == "Succeeded"`:                               {},
		`record.labels.team == "a" && record.bytes > 1000`:            {matches: true},
		`record.archivedAt > timestamp("2026-03-01T11:59:59Z")`:       {matches: true},
		`object.spec.parallelism > 2`:                                 {matches: true, readsObject: true},
		`record.kind == "Job" && object.?spec.suspend.orValue(false)`: {readsObject: true},
		`record.outcom == "Failed"`:                                   {fails: "outcom"},
		`dyn("yes")`:                                                  {fails: "must return bool"},
	} {
		c := fixture.Compiler(t)
		f, problems := c.Filter(text, "--cel")
		if f == nil {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		e := c.NewEvaluator(t.Context())
		matches, err := e.Matches(f, record, object)
		e.Close()
		if (err != nil) != (want.fails != "") || err != nil && !strings.Contains(err.Error(), want.fails) {
			t.Errorf("%s: error %v, want %q", text, err, want.fails)
		}
		expect.Equal(t, text, []bool{want.matches, want.readsObject}, []bool{matches, f.ReadsObject()})
	}
}

func TestFilterRejects(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "missing",
		"record.kind":           "", // dynamic, so an evaluation decides
		"'Job'":                 "returns string, but filter must return bool",
		"record.kind = 'Job'":   "syntax error",
		"references.count == 0": "available only in rules",
		"entry.kind == 'Job'":   "entry",
	} {
		f, problems := fixture.Compiler(t).Filter(text, "--cel")
		if (want == "") != (f != nil) {
			t.Errorf("%s: filter %v, problems %v", text, f, problems)
			continue
		}
		if want != "" && !strings.Contains(problems[0].String(), want) {
			t.Errorf("%s: %v, want %q", text, problems, want)
		}
	}
}
