// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

const annotatedPolicy = `{"metadata": {"name": "p", "uid": "u"}, "spec": {"mode": "Enforce", "rules": [{
  "name": "marked", "target": {"apiVersion": "example.org/v1", "kind": "Preview"}, "eligible": "true", "ttl": "1h",
  "overrideBounds": {"ttlAnnotation": "WithinBounds", "minTTL": "10m", "maxTTL": "1d"}}]}}`

// FuzzAnnotations sets any hold, TTL and marks on an object and compares the decision with the documentation. Any hold
// except "false" keeps the object, and so does an invalid TTL or a missing mark. Any other object is due at the time
// that results from its TTL and mark.
func FuzzAnnotations(f *testing.F) {
	const standing, other = `"2026-03-01T12:00:00Z"`, `{"0123456789abcdef":"2020-01-01T00:00:00Z"}`
	f.Add(false, "", false, "", true, standing, int64(0))
	f.Add(true, "false", true, "2h", true, standing, int64(7200))
	f.Add(true, "", true, "0s", true, standing, int64(599))
	f.Add(true, "False", true, "soon", true, other, int64(600))
	f.Add(true, "false ", true, "-1h", false, "", int64(1e9))
	f.Add(false, "", true, "99999999999w", true, `"1969-12-31T23:59:59.9999Z"`, int64(-5))
	f.Add(false, "", true, "5m", true, `"9999-12-31T23:59:59Z"`, int64(1<<40))
	c := fixture.Compiler(f)
	p := enforced(f, []byte(annotatedPolicy))
	programs := c.Load(p)
	r := p.Rules[0]
	created := time.Date(2026, time.March, 1, 11, 0, 0, 0, time.UTC)
	decoder := engine.NewDecoder(programs[r.Key])
	f.Fuzz(func(t *testing.T, held bool, hold string, lives bool, ttl string, marked bool, mark string, after int64) {
		annotations := map[string]string{}
		if held {
			annotations[v1alpha1.HoldAnnotation] = hold
		}
		if lives {
			annotations[v1alpha1.TTLAnnotation] = ttl
		}
		if marked { // the value of the rule's mark, or else the whole annotation
			annotations[v1alpha1.EligibleSinceAnnotation] = mark
			if len(mark) > 0 && mark[0] == '"' {
				annotations[v1alpha1.EligibleSinceAnnotation] = `{"` + r.Mark + `":` + mark + `}`
			}
		}
		data, err := json.Marshal(map[string]any{
			"apiVersion": "example.org/v1", "kind": "Preview",
			"metadata": map[string]any{"name": "a", "uid": "u", "creationTimestamp": created.Format(time.RFC3339), "annotations": annotations},
		})
		expect.NoError(t, err)
		object, err := decoder.Decode(data)
		expect.NoError(t, err)
		subject, err := engine.SubjectOf(object)
		expect.NoError(t, err)
		now := created.Add(time.Duration(after) * time.Second)
		facts := programs[r.Key].Facts(t.Context(), object)
		got, _ := policy.Decide(subject, []policy.Evaluation{{Rule: r, Facts: facts, Known: true}}, now)

		var read struct {
			Metadata struct{ Annotations map[string]string }
		} // json.Marshal replaced invalid UTF-8
		expect.NoError(t, json.Unmarshal(data, &read))
		want := naiveVerdict(read.Metadata.Annotations, r.Mark, created, now)
		if got.Action != want.Action || got.Reason != want.Reason || want.Action != policy.Keep && !got.Due.Equal(want.Due) {
			t.Errorf("%v at %s: %s %s %s, want %s %s %s", annotations, now, got.Action, got.Reason, got.Due, want.Action, want.Reason, want.Due)
		}
	})
}

// naiveVerdict computes the decision of the rule above from the three annotations.
func naiveVerdict(annotations map[string]string, mark string, created, now time.Time) policy.Verdict {
	ttl := time.Hour
	if text, ok := annotations[v1alpha1.TTLAnnotation]; ok {
		own, err := policy.ParseTTL(text)
		if err != nil && (annotations[v1alpha1.HoldAnnotation] == "false" || !has(annotations, v1alpha1.HoldAnnotation)) {
			return policy.Verdict{Reason: policy.EvaluationFailed}
		}
		ttl = min(max(own, 10*time.Minute), 24*time.Hour)
	}
	start := policy.ParseMarks(annotations[v1alpha1.EligibleSinceAnnotation])[mark]
	if !start.IsZero() && start.Before(created) {
		start = created
	}
	due := start.Add(ttl)
	if last := time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC); due.After(last) {
		due = last // the latest time that RFC 3339 can represent
	}
	switch {
	case has(annotations, v1alpha1.HoldAnnotation) && annotations[v1alpha1.HoldAnnotation] != "false":
		return policy.Verdict{Reason: policy.Held}
	case start.IsZero():
		return policy.Verdict{Reason: policy.NoStartTime}
	case now.Before(due):
		return policy.Verdict{Action: policy.Wait, Reason: policy.Waiting, Due: due}
	default:
		return policy.Verdict{Action: policy.Delete, Reason: policy.Expired, Due: due}
	}
}

func has(annotations map[string]string, name string) bool {
	_, ok := annotations[name]
	return ok
}
