// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func deletingOwners() v1alpha1.Rule {
	r := rule()
	r.Delete = &v1alpha1.Delete{Target: v1alpha1.TargetOwner}
	return r
}

func TestFactsNameTheOwner(t *testing.T) {
	const (
		report   = "{apiVersion: batch/v1, kind: CronJob, name: report, uid: u-1, controller: true}"
		other    = "{apiVersion: apps/v1, kind: Deployment, name: web, uid: u-2, controller: false}"
		unmarked = "{apiVersion: v1, kind: ConfigMap, name: web, uid: u-3}"
	)
	owner := &policy.Owner{Kind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}, Name: "report", UID: "u-1"}
	tests := map[string]struct {
		references string
		want       *policy.Owner
	}{
		"the controller":                {"[" + report + "]", owner},
		"the controller among others":   {"[" + other + ", " + report + ", " + unmarked + "]", owner},
		"of the core group":             {"[{apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}]", &policy.Owner{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Name: "p", UID: "u"}},
		"none":                          {"[]", nil},
		"not a list":                    {"7", nil},
		"owners, but no controller":     {"[" + other + ", " + unmarked + "]", nil},
		"two controllers":               {"[" + report + ", {apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}]", nil},
		"a controller that is a string": {"[{apiVersion: batch/v1, kind: Job, name: a, uid: u, controller: 'true'}]", nil},
		"no uid":                        {"[{apiVersion: batch/v1, kind: Job, name: a, controller: true}]", nil},
		"no name":                       {"[{apiVersion: batch/v1, kind: Job, uid: u, controller: true}]", nil},
		"no kind":                       {"[{apiVersion: batch/v1, name: a, uid: u, controller: true}]", nil},
		"no apiVersion":                 {"[{kind: Job, name: a, uid: u, controller: true}]", nil},
		"an apiVersion of three parts":  {"[{apiVersion: a/b/c, kind: Job, name: a, uid: u, controller: true}]", nil},
		"a group without a version":     {"[{apiVersion: batch/, kind: Job, name: a, uid: u, controller: true}]", nil},
		"a name with another path":      {"[{apiVersion: batch/v1, kind: Job, name: ../../team-b/jobs/a, uid: u, controller: true}]", nil},
		"a name with an escaped path":   {"[{apiVersion: batch/v1, kind: Job, name: '..%2fa', uid: u, controller: true}]", nil},
		"an invalid name":               {"[{apiVersion: batch/v1, kind: Job, name: .., uid: u, controller: true}]", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			job := object(t, "job-complete")
			job["metadata"].(map[string]any)["ownerReferences"] = fixture.Decode(t, "all: "+test.references)["all"]
			got := factsOf(t, deletingOwners(), job)
			if diff := cmp.Diff(test.want, got.Owner); diff != "" || !got.Eligible || got.Err != nil {
				t.Errorf("%+v; owner -want +got\n%s", got, diff)
			}
			if got := factsOf(t, rule(), job); got.Owner != nil {
				t.Errorf("a rule that does not delete owners returns the owner: %+v", got)
			}
		})
	}
}

func TestOwnerIsRead(t *testing.T) {
	program := mustCompile(t, fixture.Compiler(t), deletingOwners())
	if !program.Owns() || !slices.Contains(program.Reads(), "metadata.ownerReferences") {
		t.Errorf("owns %v, reads %v", program.Owns(), program.Reads())
	}
	const text = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","ownerReferences":[
		{"apiVersion":"batch/v1","kind":"CronJob","name":"report","uid":"u-1","controller":true}]},
		"status":{"conditions":[{"type":"Complete","status":"True","lastTransitionTime":"2026-03-01T12:00:00Z"}]}}`
	decoded, err := engine.NewDecoder(program).Decode([]byte(text))
	expect.NoError(t, err)
	if got := program.Facts(t.Context(), decoded); got.Owner.String() != "CronJob/report" {
		t.Errorf("got %+v", got)
	}
}

func TestFinished(t *testing.T) {
	tests := map[string]struct {
		text     string
		finished bool
		err      string
	}{
		"a finished Job":      {"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: 'True'}]}}", true, ""},
		"a running Job":       {"{apiVersion: batch/v1, kind: Job, status: {active: 1}}", false, ""},
		"a custom resource":   {"{apiVersion: example.org/v1, kind: Run}", false, ""},
		"a ConfigMap":         {"{apiVersion: v1, kind: ConfigMap}", false, "v1 ConfigMap never finishes"},
		"a kind with a phase": {"{apiVersion: example.org/v1, kind: Run, status: {phase: Done}}", false, "Run reports its end in status.phase, whose values Sunset does not know"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			finished, err := engine.Finished(fixture.Decode(t, test.text))
			message := ""
			if err != nil {
				message = err.Error()
			}
			if finished != test.finished || message != test.err {
				t.Errorf("got %v, %q", finished, message)
			}
		})
	}
}
