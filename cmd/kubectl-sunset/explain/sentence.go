// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Sentence describes a decision in one sentence.
func Sentence(v policy.Verdict, at time.Time) string {
	text := "stays: " + inWords(v.Reason)
	switch {
	case v.Reason == policy.Deferred:
		text = "is deleted at " + moment(v.Due, at) + ": " + words[v.Reason]
	case v.Action == policy.Wait:
		text = "expires at " + moment(v.Due, at)
	case v.Reason == policy.OverCapacity:
		text = "is deleted now: " + words[v.Reason]
	case v.Action == policy.Delete:
		text = "is deleted now: due since " + moment(v.Due, at)
	case v.Reason == policy.IsDryRun:
		text = "stays: DryRun (would expire at " + moment(v.Due, at) + ")"
	}
	if v.Rule == (policy.RuleID{}) || isAboutObject(v.Reason) {
		return text
	}
	return text + ", by rule " + v.Rule.String()
}

// isAboutObject reports whether a reason is independent of the rules.
func isAboutObject(r policy.Reason) bool {
	return slices.Contains([]policy.Reason{policy.Terminating, policy.Held, policy.Uncounted, policy.Pinned, policy.InUse}, r)
}

// moment formats a time and its distance.
func moment(t, at time.Time) string { return preview.FormatTime(t) + ", " + preview.Away(t, at) }

// inWords returns a reason and its meaning.
func inWords(r policy.Reason) string {
	text := words[r]
	if text == "" {
		return string(r)
	}
	return string(r) + " (" + text + ")"
}

// Meaning explains a reason; it is empty if the reason needs no explanation.
func Meaning(r policy.Reason) string { return words[r] }

// words explains the reasons.
var words = map[policy.Reason]string{
	policy.Terminating:         "it is being deleted",
	policy.Held:                "annotation " + v1alpha1.HoldAnnotation + ", or something needs it",
	policy.Uncounted:           "its Job has not counted it yet",
	policy.Pinned:              "the container runtime pins it",
	policy.InUse:               "a container or a Pod uses it",
	policy.EvaluationFailed:    "an expression failed",
	policy.RuleInvalid:         "the rule is invalid",
	policy.Stale:               "the rule has not been evaluated yet",
	policy.ReferencesUnknown:   "the references to it are unknown",
	policy.IsSuspended:         "the rule is suspended and finds it eligible",
	policy.IsUnapproved:        "the policy waits for approval",
	policy.ManagedByMultiKueue: "MultiKueue created it in this worker cluster, and its manager cluster would dispatch it again",
	policy.ManagedByArgoCD:     "Argo CD manages it, and would re-create it",
	policy.ManagedByFlux:       "Flux manages it, and would re-create it",
	policy.ManagedByHelm:       "it is a Helm hook",
	policy.KeptRecreated:       "Sunset deleted it, or its owner, three times, and each time it was re-created within a minute",
	policy.KeptNewest:          "among the newest of its group",
	policy.Unpullable:          "it was loaded onto the node, so it may be in no registry",
	policy.NoOwner:             "the rule deletes the owner of the object, and it has none",
	policy.NeverDue:            "ttlExpression returns no time to live",
	policy.Unmarked:            "not marked eligible yet",
	policy.NoCommonWindow:      "the windows of the rules that find it due do not open at the same time",
	policy.Deferred:            "windows or freezes defer the deletion",
	policy.OverCapacity:        "the capacity of the rule is exceeded",
	policy.WithinCapacity:      "no capacity or threshold of the rule is exceeded",
	policy.NoStartTime:         "eligible, but startTime returns no time",
	policy.NotEligible:         "eligible is false",
	policy.NotSelected:         "no enforced rule selects it",
}
