// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestEnds calls all four functions on every kind in the table, and on some other kinds.
func TestEnds(t *testing.T) {
	const (
		running   = "running"
		succeeded = "succeeded"
		failed    = "failed"
		ended     = "ended" // neither
	)
	condition := func(kind, status string) string {
		return fmt.Sprintf(`{type: %s, status: "%s", lastTransitionTime: "2026-03-01T12:10:00Z"}`, kind, status)
	}
	at := func(kind, at string) string {
		return fmt.Sprintf(`{type: %s, status: "True", lastTransitionTime: "2026-03-01T%sZ"}`, kind, at)
	}
	terminated := func(at string) string { return fmt.Sprintf(`{state: {terminated: {finishedAt: "%s"}}}`, at) }
	tests := map[string]struct {
		apiVersion, kind, status string
		want                     string // or a part of the error
		at                       string // or a part of the error of finishedAt
	}{
		"a Job without status":                            {"batch/v1", "Job", "{}", running, ""},
		"a running Job":                                   {"batch/v1", "Job", "{active: 1}", running, ""},
		"a suspended Job":                                 {"batch/v1", "Job", "{conditions: [" + condition("Suspended", "True") + "]}", running, ""},
		"a Job about to fail":                             {"batch/v1", "Job", "{conditions: [" + condition("FailureTarget", "True") + "]}", running, ""},
		"a Job that met its criteria":                     {"batch/v1", "Job", "{conditions: [" + condition("SuccessCriteriaMet", "True") + "]}", running, ""},
		"a complete Job":                                  {"batch/v1", "Job", "{conditions: [" + condition("Complete", "True") + "]}", succeeded, "12:10:00"},
		"a failed Job":                                    {"batch/v1", "Job", "{conditions: [" + condition("Failed", "True") + "]}", failed, "12:10:00"},
		"the latest of two end conditions counts":         {"batch/v1", "Job", "{conditions: [" + at("Complete", "12:30:00") + "," + at("Failed", "12:20:00") + "]}", failed, "12:30:00"},
		"an end condition that is False does not count":   {"batch/v1", "Job", "{conditions: [" + condition("Complete", "True") + `, {type: Failed, status: "False", lastTransitionTime: "2026-03-01T12:40:00Z"}]}`, succeeded, "12:10:00"},
		"two end conditions in the other order":           {"batch/v1", "Job", "{conditions: [" + at("Failed", "12:20:00") + "," + at("Complete", "12:30:00") + "]}", failed, "12:30:00"},
		"a Job whose condition is False":                  {"batch/v1", "Job", "{conditions: [" + condition("Complete", "False") + "]}", running, ""},
		"a Job of another group":                          {"batch.volcano.sh/v1alpha1", "Job", "{state: {phase: Completed}}", running, ""},
		"a complete Job without a time":                   {"batch/v1", "Job", `{conditions: [{type: Complete, status: "True"}]}`, succeeded, "error: condition Complete has no lastTransitionTime"},
		"a complete Job with null as time":                {"batch/v1", "Job", `{conditions: [{type: Complete, status: "True", lastTransitionTime: null}]}`, succeeded, "error: condition Complete has no lastTransitionTime"},
		"a complete Job with an invalid time":             {"batch/v1", "Job", `{conditions: [{type: Complete, status: "True", lastTransitionTime: soon}]}`, succeeded, `error: condition Complete: lastTransitionTime: "soon" is not a time`},
		"a Job with an invalid status":                    {"batch/v1", "Job", `7`, running, ""},
		"a Job with invalid conditions":                   {"batch/v1", "Job", `{conditions: [7, {type: 7}, null]}`, running, ""},
		"a pending Pod":                                   {"v1", "Pod", "{phase: Pending}", running, ""},
		"a running Pod":                                   {"v1", "Pod", "{phase: Running}", running, ""},
		"a Pod whose node is lost":                        {"v1", "Pod", "{phase: Unknown}", running, ""},
		"the last container of a Pod counts":              {"v1", "Pod", "{phase: Succeeded, containerStatuses: [" + terminated("2026-03-01T12:03:00Z") + "," + terminated("2026-03-01T12:02:00Z") + "], conditions: [" + condition("Ready", "False") + "]}", succeeded, "12:03:00"},
		"an init container that ended last counts":        {"v1", "Pod", "{phase: Failed, containerStatuses: [" + terminated("2026-03-01T12:03:00Z") + "], initContainerStatuses: [" + terminated("2026-03-01T12:04:00Z") + "]}", failed, "12:04:00"},
		"a container that never ran":                      {"v1", "Pod", "{phase: Failed, containerStatuses: [{state: {waiting: {}}}], initContainerStatuses: [" + terminated("2026-03-01T12:04:00Z") + "], conditions: [" + condition("Ready", "False") + "]}", failed, "12:10:00"},
		"a lost container":                                {"v1", "Pod", "{phase: Failed, containerStatuses: [{state: {terminated: {finishedAt: null}}}], conditions: [" + condition("DisruptionTarget", "True") + "]}", failed, "12:10:00"},
		"a container without a time of the runtime":       {"v1", "Pod", "{phase: Failed, containerStatuses: [" + terminated("1970-01-01T00:00:00Z") + "], conditions: [" + condition("Ready", "False") + "]}", failed, "12:10:00"},
		"a Pod rejected by its node":                      {"v1", "Pod", `{phase: Failed, reason: OutOfcpu, startTime: "2026-03-01T12:11:00Z", conditions: [` + condition("PodScheduled", "True") + "]}", failed, "12:11:00"},
		"a finished Pod without any time":                 {"v1", "Pod", "{phase: Failed}", failed, "error: has no end time"},
		"a Pod with an invalid time":                      {"v1", "Pod", "{phase: Failed, containerStatuses: [" + terminated("soon") + "]}", failed, "error: status.containerStatuses: "},
		"a pending Workload":                              {"kueue.x-k8s.io/v1beta1", "Workload", "{conditions: [" + condition("QuotaReserved", "False") + "]}", running, ""},
		"a Workload that succeeded":                       {"kueue.x-k8s.io/v1beta1", "Workload", `{conditions: [{type: Finished, status: "True", reason: Succeeded, lastTransitionTime: "2026-03-01T12:10:00Z"}]}`, succeeded, "12:10:00"},
		"a Workload that failed":                          {"kueue.x-k8s.io/v1beta2", "Workload", `{conditions: [{type: Finished, status: "True", reason: Failed, lastTransitionTime: "2026-03-01T12:10:00Z"}]}`, failed, "12:10:00"},
		"a Workload out of sync":                          {"kueue.x-k8s.io/v1beta1", "Workload", `{conditions: [{type: Finished, status: "True", reason: OutOfSync, lastTransitionTime: "2026-03-01T12:10:00Z"}]}`, ended, "12:10:00"},
		"a JobSet":                                        {"jobset.x-k8s.io/v1alpha2", "JobSet", "{conditions: [" + condition("Completed", "True") + "]}", succeeded, "12:10:00"},
		"a failed JobSet":                                 {"jobset.x-k8s.io/v1alpha2", "JobSet", "{conditions: [" + condition("Failed", "True") + "]}", failed, "12:10:00"},
		"a running PipelineRun":                           {"tekton.dev/v1", "PipelineRun", "{conditions: [" + condition("Succeeded", "Unknown") + "]}", running, ""},
		"a PipelineRun":                                   {"tekton.dev/v1", "PipelineRun", `{completionTime: "2026-03-01T12:09:00Z", conditions: [` + condition("Succeeded", "True") + "]}", succeeded, "12:09:00"},
		"a failed TaskRun without completionTime":         {"tekton.dev/v1beta1", "TaskRun", "{conditions: [" + condition("Succeeded", "False") + "]}", failed, "12:10:00"},
		"a running Workflow":                              {"argoproj.io/v1alpha1", "Workflow", "{phase: Running, finishedAt: null}", running, ""},
		"a Workflow":                                      {"argoproj.io/v1alpha1", "Workflow", `{phase: Succeeded, finishedAt: "2026-03-01T12:09:00Z"}`, succeeded, "12:09:00"},
		"a Workflow with an error":                        {"argoproj.io/v1alpha1", "Workflow", `{phase: Error, finishedAt: "2026-03-01T12:09:00Z"}`, failed, "12:09:00"},
		"a custom resource without a status":              {"example.com/v1", "Backup", "{}", running, ""},
		"a custom resource with conditions":               {"example.com/v1", "Backup", "{conditions: [" + condition("Started", "True") + "]}", running, ""},
		"a custom resource that completed":                {"example.com/v1", "Backup", "{phase: Done, conditions: [" + condition("Completed", "True") + "]}", succeeded, "12:10:00"},
		"a custom resource that succeeded":                {"example.com/v1", "Backup", "{conditions: [" + condition("Succeeded", "True") + "]}", succeeded, "12:10:00"},
		"a custom resource with contradicting conditions": {"example.com/v1", "Backup", "{conditions: [" + condition("Finished", "True") + "," + condition("Failed", "True") + "]}", failed, "12:10:00"},
		"a custom resource that has a phase":              {"velero.io/v1", "Backup", "{phase: Completed}", "error: reports its end in status.phase", ""},
		"a built-in kind that never ends":                 {"v1", "ConfigMap", "{}", "error: never finishes", ""},
		"a kind of a built-in group that never ends":      {"networking.k8s.io/v1", "NetworkPolicy", "{}", "error: never finishes", ""},
		"a Rollout":                                       {"argoproj.io/v1alpha1", "Rollout", "{conditions: [" + condition("Completed", "True") + "]}", "error: never finishes", ""},
		"a Deployment":                                    {"apps/v1", "Deployment", "{conditions: [" + condition("Available", "True") + "]}", running, ""},
	}
	c := fixture.Compiler(t)
	evaluate := func(t *testing.T, text string, object map[string]any) string {
		e, ok := c.Expression(text)
		if !ok {
			t.Fatal(text)
		}
		v, err := e.Value(object)
		if err != nil {
			return "error: " + err.Error()
		}
		return types.Format(v)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := fixture.Decode(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: a}, status: %s}", tc.apiVersion, tc.kind, tc.status))
			if tc.status == "{}" {
				delete(object, "status")
			}
			got := evaluate(t, "!finished(object) ? 'running' : succeeded(object) ? 'succeeded' : failed(object) ? 'failed' : 'ended'", object)
			if part, isError := strings.CutPrefix(tc.want, "error: "); isError {
				if !strings.HasPrefix(got, "error: finished()") || !strings.Contains(got, part) {
					t.Errorf("got %s", got)
				}
				return
			}
			if got != `"`+tc.want+`"` {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			at := evaluate(t, "finishedAt(object).optMap(t, string(t)).orValue('')", object)
			if part, isError := strings.CutPrefix(tc.at, "error: "); isError {
				if !strings.HasPrefix(at, "error: finishedAt()") || !strings.Contains(at, part) {
					t.Errorf("finishedAt: got %s, want %s", at, tc.at)
				}
				return
			}
			want := `""`
			if tc.at != "" {
				want = `"2026-03-01T` + tc.at + `Z"`
			}
			expect.Equal(t, "finishedAt", want, at)
		})
	}
}

// TestStartIsUTC: the offset of a time is respected, and the result is in UTC.
func TestStartIsUTC(t *testing.T) {
	job := object(t, "job-complete")
	conditions := job["status"].(map[string]any)["conditions"].([]any)
	conditions[1].(map[string]any)["lastTransitionTime"] = "2026-03-01T14:10:00+02:00"
	got := factsOf(t, rule(), job)
	want := time.Date(2026, 3, 1, 12, 10, 0, 0, time.UTC)
	if got.Err != nil || !got.Start.Equal(want) || got.Start.Location() != time.UTC {
		t.Errorf("got %v, %v", got.Start, got.Err)
	}
}
