// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"reflect"
	"testing"
	"time"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// hostileObjects are objects that the API server never returns, and objects that a custom resource without a schema may
// contain.
var hostileObjects = []string{
	`{}`,
	`null`,
	`{"metadata": null, "spec": 7, "status": "done"}`,
	`{"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": [null, 1, [], {"type": {}, "status": true}]}}`,
	`{"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"finishedAt": 5}}}]}}`,
	`{"apiVersion": 1, "kind": ["Job"], "metadata": {"labels": ["a"], "ownerReferences": {"controller": true}}}`,
	`{"a": "9999-12-31T23:59:59.999999999Z", "b": "0000-01-01T00:00:00Z", "n": 9223372036854775807, "f": 1e308, "z": -0.0}`,
	`{"apiVersion": "node.sunset-k8s.io/v1alpha1", "kind": "Image", "metadata": {"name": "sha256:1"}, "spec": {"tags": ["a:1", "b/c:2@"], "digests": [7]}}`,
	`{"apiVersion": "node.sunset-k8s.io/v1alpha1", "kind": "Image", "metadata": {"name": "sha256:2"}, "spec": {"tags": ["", ":", "/"], "digests": ["a"]},
	  "status": {"firstSeen": "2026-01-01T00:00:00Z", "lastUsed": "9999-12-31T23:59:59Z"}}`,
	`{"a": "\u0000\ufffd🦄", "": {"": {"": null}}, "list": [[[[[[[[]]]]]]]]}`,
}

// FuzzFacts evaluates any expression in each of its three fields on any object. Nothing may panic. The facts are either
// only an error that fits into a status, or values from which a decision can be made.
func FuzzFacts(f *testing.F) {
	expressions := append([]string{
		"object.a", "object.?a", "object.n", "days(object.f)", "timestamp(object.b)", "duration(string(object.n) + 'ns')",
		"finishedAt(object)", "failed(object) || succeeded(object)", "condition(object, 'Ready')", "controllerOf(object).?kind",
		"conditionTime(object, ['Complete', 'Failed'])", "optional.of(optional.none())", "optional.none()", "b'\\xff'",
	}, seedExpressions...)
	for i, text := range expressions {
		f.Add(text, hostileObjects[i%len(hostileObjects)])
	}
	c := fixture.Compiler(f)
	f.Fuzz(func(t *testing.T, text, data string) {
		var object, untouched map[string]any
		if utiljson.Unmarshal([]byte(data), &object) != nil || utiljson.Unmarshal([]byte(data), &untouched) != nil {
			t.Skip()
		}
		e := c.NewEvaluator(t.Context())
		defer e.Close()
		for _, r := range placesOf(text) {
			if compiled, problems := c.Rule(r, nil, "spec.rules[0]"); len(problems) == 0 {
				checkFacts(t, r, e.Facts(compiled, object))
			}
		}
		expect.Equal(t, "the object after the evaluation", untouched, object)
	})
}

// known is the start of the rules in which the expression is not startTime.
var known = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// placesOf returns rules with the text as eligible, startTime and ttlExpression.
func placesOf(text string) []v1alpha1.Rule {
	base := rule()
	base.Eligible, base.StartTime = "true", "timestamp('2026-03-01T12:00:00Z')"
	eligible, start, lifetime := base, base, base
	eligible.Eligible = text
	start.StartTime = text
	lifetime.TTL, lifetime.TTLExpression = "", text
	return []v1alpha1.Rule{eligible, start, lifetime}
}

func checkFacts(t *testing.T, r v1alpha1.Rule, got policy.Facts) {
	t.Helper()
	switch {
	case got.Err != nil:
		if text := got.Err.Error(); len(text) > 256 || !utf8.ValidString(text) || text == "" {
			t.Errorf("error of %d bytes: %q", len(text), text)
		}
		if want := (policy.Facts{Selected: true, Err: got.Err}); !reflect.DeepEqual(got, want) {
			t.Errorf("facts in addition to an error: %+v", got)
		}
	case !got.Eligible:
		if want := (policy.Facts{Selected: true}); !reflect.DeepEqual(got, want) {
			t.Errorf("facts about an object that is not eligible: %+v", got)
		}
	case !got.Selected, got.Start.Location() != time.UTC, got.TTL < 0 && got.TTL != policy.NeverTTL,
		got.TTL != 0 && r.TTLExpression == "", !got.Start.Equal(known) && r.StartTime == placesOf("")[0].StartTime:
		t.Errorf("%+v returns %+v", r, got)
	}
}

// TestHostileObjectsAreObjects: a seed that is not JSON would test nothing.
func TestHostileObjectsAreObjects(t *testing.T) {
	for _, data := range hostileObjects {
		var object map[string]any
		if err := utiljson.Unmarshal([]byte(data), &object); err != nil {
			t.Errorf("%s: %v", data, err)
		}
	}
}
