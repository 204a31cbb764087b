// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// viewOnly says why objects of these kinds are not restored.
var viewOnly = map[schema.GroupKind]string{
	{Kind: "Pod"}:                                "a Pod would run again; to view it: kubectl sunset archive get",
	{Group: "tekton.dev", Kind: "TaskRun"}:       "a TaskRun would run again; to view it: kubectl sunset archive get",
	{Group: "tekton.dev", Kind: "CustomRun"}:     "a CustomRun would run again; to view it: kubectl sunset archive get",
	{Kind: "Event"}:                              "an Event reports the past; to view it: kubectl sunset archive get",
	{Group: "events.k8s.io", Kind: "Event"}:      "an Event reports the past; to view it: kubectl sunset archive get",
	{Group: "node.sunset-k8s.io", Kind: "Image"}: "a kubelet pulls an image again when a Pod needs it",
}

// field is a field of an object, and a value for it.
type field struct {
	path  string // separated by dots
	value any
}

// stopped has, for kinds whose objects run to completion, the field that keeps a new object from running.
var stopped = map[schema.GroupKind]field{
	{Group: "batch", Kind: "Job"}:                             {"spec.suspend", true},
	{Group: "jobset.x-k8s.io", Kind: "JobSet"}:                {"spec.suspend", true},
	{Group: "kueue.x-k8s.io", Kind: "Workload"}:               {"spec.active", false},
	{Group: "ray.io", Kind: "RayJob"}:                         {"spec.suspend", true},
	{Group: "argoproj.io", Kind: "Workflow"}:                  {"spec.suspend", true},
	{Group: "tekton.dev", Kind: "PipelineRun"}:                {"spec.status", "PipelineRunPending"},
	{Group: "sparkoperator.k8s.io", Kind: "SparkApplication"}: {"spec.suspend", true},
	{Group: "trainer.kubeflow.org", Kind: "TrainJob"}:         {"spec.suspend", true},
	{Group: "workload.codeflare.dev", Kind: "AppWrapper"}:     {"spec.suspend", true},
	{Group: "kubeflow.org", Kind: "PyTorchJob"}:               {"spec.runPolicy.suspend", true},
	{Group: "kubeflow.org", Kind: "TFJob"}:                    {"spec.runPolicy.suspend", true},
	{Group: "kubeflow.org", Kind: "MPIJob"}:                   {"spec.runPolicy.suspend", true},
	{Group: "kubeflow.org", Kind: "XGBoostJob"}:               {"spec.runPolicy.suspend", true},
	{Group: "kubeflow.org", Kind: "PaddleJob"}:                {"spec.runPolicy.suspend", true},
	{Group: "kubeflow.org", Kind: "JAXJob"}:                   {"spec.runPolicy.suspend", true},
}

// queueName is the label and the former annotation with which Kueue starts suspended objects.
const queueName = "kueue.x-k8s.io/queue-name"

var jobs = schema.GroupKind{Group: "batch", Kind: "Job"}

// controllerLabels are the labels that the Job controller adds to the template of a Job.
var controllerLabels = []string{"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"}

// stop keeps objects that run to completion from running again.
func (s *Step) stop() {
	stop, ok := stopped[s.Ref.GroupKind()]
	if !ok {
		return
	}
	path := strings.Split(stop.path, ".")
	if err := unstructured.SetNestedField(s.Object, stop.value, path...); err != nil {
		s.Object, s.Status, s.Why = nil, nil, "cannot keep it from running again: "+err.Error()
		return
	}
	s.note("%s is %v, so that it does not run again", stop.path, stop.value)
	if labels := s.object().GetLabels(); labels[queueName] != "" || s.object().GetAnnotations()[queueName] != "" {
		unstructured.RemoveNestedField(s.Object, "metadata", "labels", queueName)
		unstructured.RemoveNestedField(s.Object, "metadata", "annotations", queueName)
		s.note("label %s removed, so that Kueue does not start it; the queue was %s", queueName, labels[queueName])
	}
	if s.Ref.GroupKind() == jobs {
		s.removeSelector()
	}
}

// RunsToCompletion reports whether the object would run again without a field that keeps it from running.
func (s *Step) RunsToCompletion() bool {
	_, ok := stopped[s.Ref.GroupKind()]
	return ok
}

// Confirm returns an error if an object, as the API server would create it, lacks the field that keeps it from running again.
func (s *Step) Confirm(answer map[string]any) error {
	stop := stopped[s.Ref.GroupKind()]
	if value, _, _ := unstructured.NestedFieldNoCopy(answer, strings.Split(stop.path, ".")...); value != stop.value {
		return fmt.Errorf("the API server would not keep %s: %v, so that the object would run again; install a version of its CustomResourceDefinition that has the field", stop.path, stop.value)
	}
	return nil
}

// removeSelector removes what the Job controller has generated, unless the user has written the selector.
func (s *Step) removeSelector() {
	if manual, _, _ := unstructured.NestedBool(s.Object, "spec", "manualSelector"); manual {
		return
	}
	unstructured.RemoveNestedField(s.Object, "spec", "selector")
	for _, label := range controllerLabels {
		unstructured.RemoveNestedField(s.Object, "metadata", "labels", label)
		unstructured.RemoveNestedField(s.Object, "spec", "template", "metadata", "labels", label)
	}
	unstructured.RemoveNestedField(s.Object, "spec", "template", "metadata", "creationTimestamp")
	s.note("selector and labels of the Job controller removed; the API server generates them again")
}

var (
	claims  = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	volumes = schema.GroupKind{Kind: "PersistentVolume"}
)

// bindings are the annotations of a bound claim or volume.
var bindings = []string{"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "volume.kubernetes.io/selected-node"}

// unbind removes what binds a volume and a claim to objects that no longer exist.
func (s *Step) unbind(live Live) {
	kind := s.Ref.GroupKind()
	if kind != claims && kind != volumes {
		return
	}
	for _, annotation := range bindings {
		unstructured.RemoveNestedField(s.Object, "metadata", "annotations", annotation)
	}
	if kind == volumes {
		if claim, bound, _ := unstructured.NestedMap(s.Object, "spec", "claimRef"); bound {
			unstructured.RemoveNestedField(s.Object, "spec", "claimRef", "uid")
			unstructured.RemoveNestedField(s.Object, "spec", "claimRef", "resourceVersion")
			s.note("a claim %v/%v can bind it; the archive does not have the data of the volume", claim["namespace"], claim["name"])
		}
		return
	}
	volume := volumeRef(s.Object)
	if volume.Name == "" {
		return
	}
	if _, exists := live.Objects[volume]; exists {
		s.note("PersistentVolume %s exists; it still names the deleted claim: to bind it, remove its field spec.claimRef.uid", volume.Name)
		return
	}
	unstructured.RemoveNestedField(s.Object, "spec", "volumeName")
	s.note("PersistentVolume %s does not exist: the claim gets a new, empty volume; the archive does not have the data", volume.Name)
}

// releaseAddress removes the addresses of a Service, which others may have now.
func (s *Step) releaseAddress() {
	if s.Ref.GroupKind() != (schema.GroupKind{Kind: "Service"}) {
		return
	}
	if address, _, _ := unstructured.NestedString(s.Object, "spec", "clusterIP"); address == "" || address == "None" {
		return
	}
	unstructured.RemoveNestedField(s.Object, "spec", "clusterIP")
	unstructured.RemoveNestedField(s.Object, "spec", "clusterIPs")
	s.note("it gets a new cluster IP")
}

var namespaces = schema.GroupKind{Kind: "Namespace"}

// early lists the kinds that others need, in the order in which they are created.
var early = []schema.GroupKind{
	namespaces, {Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, {Group: "scheduling.k8s.io", Kind: "PriorityClass"}, {Group: "storage.k8s.io", Kind: "StorageClass"},
	{Kind: "ResourceQuota"}, {Kind: "LimitRange"}, {Kind: "ServiceAccount"}, {Kind: "Secret"}, {Kind: "ConfigMap"}, volumes, claims,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, {Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"},
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}, {Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"},
	{Kind: "Service"},
}

// rank orders kinds: first those of early, then all others.
func rank(kind schema.GroupKind) int {
	if i := slices.Index(early, kind); i >= 0 {
		return i
	}
	return len(early)
}
