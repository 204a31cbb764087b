package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// outcome is how an object ended. The zero value means that it has not.
type outcome int

const (
	running outcome = iota
	succeeded
	failed
	ended // but it does not say whether it succeeded
)

// finisher knows how objects of one kind end. This table is all that finished, finishedAt, succeeded and failed know.
type finisher struct {
	group, kind string
	outcome     func(status map[string]any) outcome
	end         func(status map[string]any) (time.Time, error) // asked only once outcome says that it ended
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

// anyKind judges kinds that are not in the table by the conditions that most APIs use for the end.
var anyKind = finisher{
	outcome: conditionsSay([]string{"Complete", "Completed", "Finished", "Succeeded"}, []string{"Failed"}),
	end:     conditionSince("Complete", "Completed", "Finished", "Succeeded", "Failed"),
}

// finisherOf finds who can judge the object. It is an error when nobody can, and the error says what to write.
func finisherOf(object map[string]any) (*finisher, error) {
	group, kind := groupOf(textOf(object, "apiVersion")), textOf(object, "kind")
	for i := range finishers {
		if f := &finishers[i]; f.kind == kind && f.group == group {
			return f, nil
		}
	}
	status := mapOf(object, "status")
	if _, has := status["conditions"]; has {
		return &anyKind, nil
	}
	if own := ownWord(status); own != "" {
		return nil, unjudged{fmt.Sprintf("%s tells its end in status.%s, which only you can read", kind, own), fmt.Sprintf("write for example object.status.%s == 'Done'", own)}
	}
	if isBuiltIn(group) {
		return nil, unjudged{fmt.Sprintf("%s %s never finishes", textOf(object, "apiVersion"), kind), "write what makes it eligible, for example object.metadata.?labels[?'temporary'].hasValue()"}
	}
	return &anyKind, nil // a custom resource that nobody has worked on yet
}

// unjudged says why nobody can tell whether an object has finished, and what to write in a rule instead.
type unjudged struct{ why, hint string }

func (u unjudged) Error() string { return u.why + "; " + u.hint }

// Finished reports whether an object has finished, as finished(object) does in a rule. The error says why nobody can tell.
func Finished(object map[string]any) (bool, error) {
	o, err := outcomeOf(object)
	if u := (unjudged{}); errors.As(err, &u) {
		return false, errors.New(u.why)
	}
	return o != running, err
}

// ownWord is the status field by which a kind without conditions tells its end, if it has one.
func ownWord(status map[string]any) string {
	for _, field := range [...]string{"phase", "state"} {
		if textOf(status, field) != "" {
			return field
		}
	}
	return ""
}

// isBuiltIn reports whether an API group is served by Kubernetes itself. Those of its side projects, such as
// kueue.x-k8s.io, are not.
func isBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// outcomeOf says how the object ended.
func outcomeOf(object map[string]any) (outcome, error) {
	f, err := finisherOf(object)
	if err != nil {
		return running, err
	}
	return f.outcome(mapOf(object, "status")), nil
}

// endOf says when the object ended; zero when it has not. An object that ended and does not say when is an error.
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
		err = errors.New("the object finished, but its status does not say when; write another start, for example object.metadata.creationTimestamp")
	}
	return end, err
}
