package cluster

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Outcome is how a Pod on a fake node ends.
type Outcome string

// The outcomes. A Pod without one ends as Succeeded, unless its restartPolicy
// is Always, which means that it never ends.
const (
	Succeeded Outcome = "Succeeded" // all containers exit with code 0
	Failed    Outcome = "Failed"    // all containers exit with code 1; no restart, whatever restartPolicy says
	Endless   Outcome = "Endless"   // the Pod runs until it is deleted
)

// The annotations, on a Pod or on the template of a Job, that decide the life
// of a Pod on a fake node.
const (
	// OutcomeAnnotation holds an Outcome.
	OutcomeAnnotation = "sunset.test/outcome"
	// RunForAnnotation holds how long the Pod runs before it ends, as
	// time.ParseDuration reads it; missing or malformed means zero. The time
	// begins again when the Pod is changed while it runs or kwok is restarted.
	RunForAnnotation = "sunset.test/run-for"
)

// SetFate annotates a Pod, or the template of one, so that it runs for the
// given time on its fake node and then ends as outcome says.
func SetFate(pod metav1.Object, outcome Outcome, runFor time.Duration) {
	annotations := pod.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[OutcomeAnnotation] = string(outcome)
	annotations[RunForAnnotation] = runFor.String()
	pod.SetAnnotations(annotations)
}
