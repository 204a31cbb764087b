// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Outcome is how a Pod on a fake node ends.
type Outcome string

// The outcomes. A Pod without an outcome ends as Succeeded, unless its restartPolicy is Always: then it never ends.
const (
	Succeeded Outcome = "Succeeded" // all containers exit with code 0
	Failed    Outcome = "Failed"    // all containers exit with code 1; never restarted, for any restartPolicy
	Endless   Outcome = "Endless"   // the Pod runs until it is deleted
)

// The annotations, on a Pod or on the template of a Job, that determine how a Pod on a fake node ends.
const (
	// OutcomeAnnotation contains an Outcome.
	OutcomeAnnotation = "sunset.test/outcome"
	// RunForAnnotation contains how long the Pod runs before it ends, in the format of time.ParseDuration; missing or
	// malformed means zero. The time starts again when the running Pod changes or kwok restarts.
	RunForAnnotation = "sunset.test/run-for"
)

// SetFate annotates a Pod or a Pod template. The Pod then runs for the given time on its fake node and ends with outcome.
func SetFate(pod metav1.Object, outcome Outcome, runFor time.Duration) {
	annotations := pod.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[OutcomeAnnotation] = string(outcome)
	annotations[RunForAnnotation] = runFor.String()
	pod.SetAnnotations(annotations)
}
