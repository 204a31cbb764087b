// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// The namespaces of the Jobs.
const (
	shop   = "shop"
	golden = "ci-golden" // policy.yaml excludes it
	system = "kube-system"
)

// plan is one Job to create and its expected result.
type plan struct {
	at        time.Duration // after the first Job
	namespace string
	name      string
	outcome   cluster.Outcome
	runs      time.Duration
	held      bool
	stays     bool // is never deleted
}

// scenario has Jobs that are due before the switch to Enforce, Jobs that are due after it, and one Job for each reason to
// stay. All that finish do so within 14 seconds.
var scenario = []plan{
	{0, shop, "report-mon", cluster.Succeeded, 1 * time.Second, false, false},
	{0, shop, "sync-users", cluster.Failed, 2 * time.Second, false, false},
	{0, shop, "train-model", cluster.Endless, 0, false, true},
	{1 * time.Second, shop, "report-tue", cluster.Succeeded, 2 * time.Second, false, false},
	{1 * time.Second, shop, "backup", cluster.Succeeded, 1 * time.Second, true, true},
	{2 * time.Second, golden, "baseline", cluster.Succeeded, 1 * time.Second, false, true},
	{2 * time.Second, system, "defrag", cluster.Succeeded, 1 * time.Second, false, true},
	{3 * time.Second, shop, "report-wed", cluster.Succeeded, 3 * time.Second, false, false},
	{4 * time.Second, shop, "import-orders", cluster.Failed, 4 * time.Second, false, false},
	{7 * time.Second, shop, "resize-images", cluster.Succeeded, 4 * time.Second, false, false},
	{8 * time.Second, shop, "send-mail", cluster.Succeeded, 5 * time.Second, false, false},
	{9 * time.Second, shop, "sync-stock", cluster.Failed, 4 * time.Second, false, false},
}

// going counts the Jobs of a scenario that Sunset must delete.
func going(plans []plan) int {
	n := 0
	for _, p := range plans {
		if !p.stays {
			n++
		}
	}
	return n
}

// jobFor is a Job with one Pod on a fake node, which ends as planned.
func jobFor(p plan, node int) *batchv1.Job {
	object := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](0),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				NodeName:      cluster.NodeName(node),
				Containers:    []corev1.Container{{Name: "main", Image: "example.com/" + p.name}},
			}},
		},
	}
	if p.held {
		object.Annotations = map[string]string{v1alpha1.HoldAnnotation: "true"}
	}
	cluster.SetFate(&object.Spec.Template, p.outcome, p.runs)
	return object
}
