// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/audit"
)

// viewOnly says why objects of these kinds are not restored.
var viewOnly = map[schema.GroupKind]string{
	{Kind: "Pod"}:                                                     "a Pod would run again; to view it: kubectl sunset archive get",
	{Group: "tekton.dev", Kind: "TaskRun"}:                            "a TaskRun would run again; to view it: kubectl sunset archive get",
	{Group: "tekton.dev", Kind: "CustomRun"}:                          "a CustomRun would run again; to view it: kubectl sunset archive get",
	{Kind: "Event"}:                                                   "an Event reports the past; to view it: kubectl sunset archive get",
	{Group: "events.k8s.io", Kind: "Event"}:                           "an Event reports the past; to view it: kubectl sunset archive get",
	{Group: "node.sunset-k8s.io", Kind: "Image"}:                      "a kubelet pulls an image again when a Pod needs it",
	{Group: "cert-manager.io", Kind: "CertificateRequest"}:            "it would request the certificate again; to view it: kubectl sunset archive get",
	{Group: "acme.cert-manager.io", Kind: "Order"}:                    "it would request the certificate again; to view it: kubectl sunset archive get",
	{Group: "acme.cert-manager.io", Kind: "Challenge"}:                "it would request the certificate again; to view it: kubectl sunset archive get",
	{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}:        "the archive does not have its data, and a new snapshot would have the present data of the claim; to view it: kubectl sunset archive get",
	{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshotContent"}: "the archive does not have its data, which is gone unless its deletionPolicy was Retain; to view it: kubectl sunset archive get",
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}: "the API server would make you its requester, and a controller could sign it for you; to view it: kubectl sunset archive get",
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
	workflows:                                                 {"spec.suspend", true},
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

var (
	jobs            = schema.GroupKind{Group: "batch", Kind: "Job"}
	workflows       = schema.GroupKind{Group: "argoproj.io", Kind: "Workflow"}
	secrets         = schema.GroupKind{Kind: "Secret"}
	serviceAccounts = schema.GroupKind{Kind: "ServiceAccount"}
	claims          = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	volumes         = schema.GroupKind{Kind: "PersistentVolume"}
	namespaces      = schema.GroupKind{Kind: "Namespace"}
	definitions     = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// Defines returns the kind that a CustomResourceDefinition defines; zero for any other object.
func (s *Step) Defines() schema.GroupKind {
	if s.Name.GroupKind() != definitions {
		return schema.GroupKind{}
	}
	group, _, _ := unstructured.NestedString(s.Archived.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(s.Archived.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// controllerLabels are the labels that the Job controller adds to the template of a Job.
var controllerLabels = []string{"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"}

// workflowLabels are the labels by which Argo Workflows recognizes a Workflow that has ended, and never starts again.
var workflowLabels = []string{"workflows.argoproj.io/completed", "workflows.argoproj.io/phase", "workflows.argoproj.io/workflow-archiving-status"}

// IsViewOnly reports whether objects of this kind are never restored.
func IsViewOnly(o *unstructured.Unstructured) bool {
	return viewOnly[nameOf(o).GroupKind()] != ""
}

// stop keeps objects that run to completion from running again.
func (s *Step) stop() {
	stop, ok := stopped[s.Name.GroupKind()]
	if !ok {
		return
	}
	if err := unstructured.SetNestedField(s.Object.Object, stop.value, strings.Split(stop.path, ".")...); err != nil {
		s.Refuse("cannot keep it from running again: " + err.Error())
		return
	}
	s.note("%s is %v, so that it does not run again", stop.path, stop.value)
	if s.Name.GroupKind() == workflows {
		for _, label := range workflowLabels {
			s.remove("metadata", "labels", label)
		}
		s.note("labels removed by which Argo Workflows recognizes a Workflow that has ended; it would not run when you resume it")
	}
	if queue := queueOf(s.Object); queue != "" {
		s.remove("metadata", "labels", queueName)
		s.remove("metadata", "annotations", queueName)
		s.note("%s removed, so that Kueue does not start it; the queue was %s", queueName, queue)
	}
	if manual, _, _ := unstructured.NestedBool(s.Object.Object, "spec", "manualSelector"); s.Name.GroupKind() == jobs && !manual {
		s.remove("spec", "selector")
		for _, label := range controllerLabels {
			s.remove("metadata", "labels", label)
			s.remove("spec", "template", "metadata", "labels", label)
		}
		s.remove("spec", "template", "metadata", "creationTimestamp")
		s.note("selector and labels of the Job controller removed; the API server generates them again")
	}
}

// queueOf returns the queue from which Kueue starts an object; empty if there is none.
func queueOf(o *unstructured.Unstructured) string {
	return cmp.Or(o.GetLabels()[queueName], o.GetAnnotations()[queueName])
}

// runsToCompletion reports whether the object would run again without a field that keeps it from running.
func (s *Step) runsToCompletion() bool {
	_, ok := stopped[s.Name.GroupKind()]
	return ok
}

// Confirm returns an error if an object, as the API server would create it, could run again: it lacks the field that keeps it from
// running, or it is in a queue of Kueue. Another definition of the kind may drop the field, and a webhook may set the queue.
func (s *Step) Confirm(answer *unstructured.Unstructured) error {
	stop, ok := stopped[s.Name.GroupKind()]
	if !ok {
		return nil
	}
	if value, _, _ := unstructured.NestedFieldNoCopy(answer.Object, strings.Split(stop.path, ".")...); value != stop.value {
		return fmt.Errorf("the API server would not keep %s: %v, so that the object would run again; install a version of its CustomResourceDefinition that has the field", stop.path, stop.value)
	}
	if queue := queueOf(answer); queue != "" {
		return fmt.Errorf("the API server would set %s: %s, so that Kueue could run the object again; delete LocalQueue %[2]s of the namespace first, or restore the object into a cluster without it", queueName, queue)
	}
	return nil
}

// bindings are the annotations of a bound claim or volume.
var bindings = []string{"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "volume.kubernetes.io/selected-node"}

// unbind removes what binds an object to others that no longer exist, and addresses that others may have now.
func (p *planner) unbind(s *Step) {
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(s.Object.Object, path...)
		return value
	}
	kind := s.Name.GroupKind()
	if kind == claims || kind == volumes {
		for _, annotation := range bindings {
			s.remove("metadata", "annotations", annotation)
		}
	}
	if s.Snapshot != "" {
		s.note("VolumeSnapshot %s with its data does not exist, or you have no permission to get it", s.Snapshot)
	}
	volume := text("spec", "volumeName")
	switch {
	case kind == volumes && text("spec", "claimRef", "name") != "":
		s.remove("spec", "claimRef", "uid")
		s.remove("spec", "claimRef", "resourceVersion")
		s.note("a claim %s/%s can bind it; the archive does not have the data of the volume", text("spec", "claimRef", "namespace"), text("spec", "claimRef", "name"))
	case kind == claims && volume != "":
		if of := p.volumes[volume]; of != nil && of.isOf(s.Name) {
			s.volume = of
			s.note("PersistentVolume %s is restored too, and the claim can bind it", volume)
			return
		}
		s.rebind(volume, p.live(audit.Object{APIVersion: "v1", Kind: "PersistentVolume", Name: volume}))
	case kind == schema.GroupKind{Kind: "Service"} && text("spec", "clusterIP") != "" && text("spec", "clusterIP") != "None":
		s.remove("spec", "clusterIP")
		s.remove("spec", "clusterIPs")
		s.note("it gets a new cluster IP")
	}
}

// noteVolumes records the volumes that are restored.
func (p *planner) noteVolumes(steps []*Step) {
	for _, s := range steps {
		if s.Why == "" && s.Name.GroupKind() == volumes {
			p.volumes[s.Name.Name] = s
		}
	}
}

// isOf reports whether a volume names a claim.
func (s *Step) isOf(claim audit.Object) bool {
	ref, _, _ := unstructured.NestedMap(s.Archived.Object, "spec", "claimRef")
	return ref["namespace"] == claim.Namespace && ref["name"] == claim.Name
}

// rebind keeps the name of the volume of a claim if the volume is live and no other claim has it. live is empty if it is not.
func (s *Step) rebind(volume string, live *unstructured.Unstructured) {
	const empty = "the claim gets a new, empty volume; the archive does not have the data"
	ref, _, _ := unstructured.NestedStringMap(live.Object, "spec", "claimRef")
	isOwn := ref["namespace"] == s.Name.Namespace && ref["name"] == s.Name.Name
	switch {
	case live.GetUID() == "":
		s.note("PersistentVolume %s does not exist, is being deleted, or you have no permission to get it: "+empty, volume)
	case isOwn && ref["uid"] == string(s.Archived.GetUID()):
		s.note("PersistentVolume %s exists and names the deleted claim. To bind it, remove its field spec.claimRef.uid", volume)
		return
	case len(ref) == 0, isOwn && ref["uid"] == "":
		s.note("PersistentVolume %s exists, and the claim can bind it", volume)
		return
	default:
		s.note("PersistentVolume %s has claim %s/%s with UID %s: "+empty, volume, ref["namespace"], ref["name"], ref["uid"])
	}
	s.remove("spec", "volumeName")
}

// tokenType is the type of Secrets with the token of a ServiceAccount.
const tokenType = "kubernetes.io/service-account-token"

// renewToken removes from a Secret what the token controller writes: it would delete a Secret with the UID of a former ServiceAccount.
func (s *Step) renewToken() {
	if kind, _, _ := unstructured.NestedString(s.Object.Object, "type"); s.Name.GroupKind() != secrets || kind != tokenType {
		return
	}
	s.remove("metadata", "annotations", "kubernetes.io/service-account.uid")
	for _, key := range []string{"token", "ca.crt", "namespace"} {
		s.remove("data", key)
	}
	s.note("it gets a new token of the ServiceAccount; the archived one is not restored")
}

// The fields of a status that say that an object of an unknown kind ran to completion. Phases and conditions are in lower case.
var (
	endTimes   = []string{"completionTime", "completionTimestamp", "completedAt", "finishedAt", "finishTime", "endedAt", "endTime"}
	endFields  = []string{"complet", "finish", "endtime", "endedat", "endtimestamp"} // parts of names of fields that have a time, or are true
	phasePaths = []string{"status.phase", "status.state", "status.state.phase", "status.stage", "status.jobStatus.state"}
	endPhases  = []string{"completed", "complete", "succeeded", "successful", "failed", "partiallyfailed", "failedvalidation", "error", "inconclusive", "finished", "done",
		"terminated", "aborted", "cancelled", "canceled", "stopped", "killed", "timedout", "timeout", "processed", "errored", "expired", "success"}
	endConditions = []string{"completed", "complete", "succeeded", "failed", "finished"}
)

// finishedBy returns the field of the status, or the outcome of the record, by which an object ran to completion; empty if none says so.
func (r *Record) finishedBy() string {
	object := r.Archived.Object
	status, _, _ := unstructured.NestedMap(object, "status")
	for _, name := range slices.Sorted(maps.Keys(status)) {
		isEnd := func(part string) bool { return strings.Contains(strings.ToLower(name), part) }
		value := status[name]
		if text, _ := value.(string); (text != "" || value == true) && slices.ContainsFunc(endFields, isEnd) ||
			value != nil && value != "" && value != false && slices.Contains(endTimes, name) {
			return "status." + name
		}
	}
	for _, path := range phasePaths {
		phase, _, _ := unstructured.NestedString(object, strings.Split(path, ".")...)
		if slices.Contains(endPhases, strings.TrimPrefix(strings.ToLower(phase), "state_")) {
			return path + " " + phase
		}
	}
	conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		kind, _ := condition["type"].(string)
		isOver := condition["status"] == "True" || condition["status"] == "False" && kind == "Succeeded"
		if isOver && slices.Contains(endConditions, strings.ToLower(kind)) {
			return "condition " + kind
		}
	}
	if slices.Contains(endPhases, strings.ToLower(r.Outcome)) {
		return "outcome " + r.Outcome
	}
	return ""
}
