// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"time"
)

// outcome is how an object ended. The zero value means that it has not ended.
type outcome int

const (
	running outcome = iota
	succeeded
	failed
	ended // the object does not state whether it succeeded
)

// finisher describes how objects of one kind end. The functions finished, finishedAt, succeeded and failed use only
// this table.
type finisher struct {
	group, kind string
	outcome     func(status map[string]any) outcome
	end         func(status map[string]any) (time.Time, error) // called only if outcome returns an end
}

var finishers = [...]finisher{
	{"batch", "Job", conditionsSay([]string{"Complete"}, []string{"Failed"}), conditionSince("Complete", "Failed")},
	{"", "Pod", phaseSays("Succeeded", "Failed"), podEnd},
	{"kueue.x-k8s.io", "Workload", workloadOutcome, conditionSince("Finished")},
	{"jobset.x-k8s.io", "JobSet", conditionsSay([]string{"Completed"}, []string{"Failed"}), conditionSince("Completed", "Failed")},
	{"tekton.dev", "PipelineRun", tektonOutcome, fieldOr("completionTime", succeededSince)},
	{"tekton.dev", "TaskRun", tektonOutcome, fieldOr("completionTime", succeededSince)},
	{"tekton.dev", "CustomRun", tektonOutcome, fieldOr("completionTime", succeededSince)},
	{"argoproj.io", "Workflow", phaseSays("Succeeded", "Failed", "Error"), fieldOr("finishedAt", nil)},
}

// anyKind evaluates kinds that are not in the table by the condition types that most APIs use for the end.
var anyKind = finisher{
	outcome: conditionsSay([]string{"Complete", "Completed", "Finished", "Succeeded"}, []string{"Failed"}),
	end:     conditionSince("Complete", "Completed", "Finished", "Succeeded", "Failed"),
}

// finisherOf returns the finisher for the object. It is an error if there is none, and the error says what to write
// instead.
func finisherOf(object map[string]any) (*finisher, error) {
	group, kind := groupOf(textOf(object, "apiVersion")), textOf(object, "kind")
	for i := range finishers {
		if f := &finishers[i]; f.kind == kind && f.group == group {
			return f, nil
		}
	}
	if kind == "Rollout" { // of Argo Rollouts, and of OpenKruise: Completed and Succeeded are about the last update
		return nil, neverFinishes(object)
	}
	status := mapOf(object, "status")
	if _, has := status["conditions"]; has {
		return &anyKind, nil
	}
	if own := endField(status); own != "" {
		return nil, unknownEndError{fmt.Sprintf("%s reports its end in status.%s, whose values Sunset does not know", kind, own), fmt.Sprintf("compare it in the rule, for example object.status.%s == 'Done'", own)}
	}
	if isOfKubernetes(group) {
		return nil, neverFinishes(object)
	}
	return &anyKind, nil // a custom resource without a status: no controller has updated it yet
}

func neverFinishes(object map[string]any) unknownEndError {
	return unknownEndError{fmt.Sprintf("%s %s never finishes", textOf(object, "apiVersion"), textOf(object, "kind")), "write another condition, for example object.metadata.?labels[?'temporary'].hasValue()"}
}

// unknownEndError is the error for an object whose end Sunset cannot determine. hint says what to write in a rule instead.
type unknownEndError struct{ reason, hint string }

func (u unknownEndError) Error() string { return u.reason + "; " + u.hint }

// Finished reports whether an object has finished, as finished(object) does in a rule. It returns an error if Sunset
// cannot determine that.
func Finished(object map[string]any) (bool, error) {
	o, err := outcomeOf(object)
	if u := (unknownEndError{}); errors.As(err, &u) {
		return false, errors.New(u.reason)
	}
	return o != running, err
}

// endField returns the status field in which a kind without conditions reports its end; empty if there is none.
func endField(status map[string]any) string {
	for _, field := range [...]string{"phase", "state"} {
		if textOf(status, field) != "" {
			return field
		}
	}
	return ""
}

// outcomeOf returns how the object ended.
func outcomeOf(object map[string]any) (outcome, error) {
	f, err := finisherOf(object)
	if err != nil {
		return running, err
	}
	return f.outcome(mapOf(object, "status")), nil
}

// endOf returns when the object ended; zero if it has not ended. An object that ended without a time is an error.
func endOf(object map[string]any) (time.Time, error) {
	f, err := finisherOf(object)
	if err != nil {
		return time.Time{}, err
	}
	status := mapOf(object, "status")
	if f.outcome(status) == running {
		return time.Time{}, nil
	}
	end, err := f.end(status)
	if err == nil && end.IsZero() {
		err = errors.New("the object finished, but its status has no end time; use another startTime, for example object.metadata.creationTimestamp")
	}
	return end, err
}
