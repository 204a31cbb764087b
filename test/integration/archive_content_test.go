// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/stores"
)

const archivedJobs = `
mode: Enforce
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttl: 0s
  archive: {to: %s, dependents: [Pod], events: true, logs: {tailBytes: 1Mi, required: true}}
`

// TestRecordOfAJobIsComplete: the record of a Job has its Pod as the API server had it, the Events about both, and the log of the Pod.
func TestRecordOfAJobIsComplete(t *testing.T) {
	w := newEnv(t)
	s := stores.S3(t)
	a := w.archive("history", s)
	const log = "first line\nlast line\n"
	node := w.kubelet(log)
	seen := w.record("/apis/batch/v1/jobs", "/api/v1/pods")
	job := w.job("report", cluster.Succeeded, 0, func(j *batchv1.Job) { j.Spec.Template.Spec.NodeName = node })
	w.succeedPods(1)
	w.finished(job)
	pods := &corev1.PodList{}
	expect.NoError(t, w.List(t.Context(), pods, client.InNamespace(w.namespace)))
	pod := pods.Items[0]
	w.create(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: w.namespace, Name: "pulled"},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: pod.Name, UID: pod.UID},
		Reason:         "Pulled", Message: "the image is present", Type: corev1.EventTypeNormal,
	})
	w.event(w.namespace, "Job", job.Name, "Created pod") // which the Job controller sends later
	was := job.DeepCopy()

	w.sunset()
	w.policy("archived", fmt.Sprintf(archivedJobs, a.Name))
	w.gone(job, &pod)

	found, ok := w.segmentsOf(w.bucket(s, "history"))[objectVersion{was.UID, was.ResourceVersion}]
	if !ok {
		t.Fatal("the Job is not in the archive")
	}
	w.seenBy(seen, found)
	expect.Equal(t, "dependents", 1, len(found.Record.Dependents))
	w.seenBy(seen, foundIn(t, found.Record.Dependents[0]))
	reasons := map[string]corev1.ObjectReference{}
	for _, data := range found.Record.Events {
		var event corev1.Event
		expect.NoError(t, json.Unmarshal(data, &event))
		reasons[event.Reason] = event.InvolvedObject
	}
	expect.Equal(t, "object of the Event Pulled", found.Record.Logs[0].Pod, reasons["Pulled"].Name)
	expect.Equal(t, "object of the Event SuccessfulCreate", was.UID, reasons["SuccessfulCreate"].UID)
	name, _, _ := strings.Cut(found.Dependents[0], "/")
	expect.Equal(t, "kind of the dependent in the index", "Pod", name)
	expect.Equal(t, "logs", []archive.Log{{Pod: reasons["Pulled"].Name, Container: "main", Text: log}}, found.Record.Logs)
	expect.NoError(t, contains(w.plugin("archive", "logs", "--archive", a.Name, "-n", w.namespace, "job/report"), log))
}

// foundIn reads the identity of an object in a record.
func foundIn(t *testing.T, data json.RawMessage) archive.Found {
	t.Helper()
	var o metav1.PartialObjectMetadata
	expect.NoError(t, json.Unmarshal(data, &o))
	of := audit.Object{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
	return archive.Found{Meta: archive.Meta{Object: of}, Record: archive.Record{Object: data}}
}

// kubelet creates a node whose kubelet has the same log for each container, until the test ends. It does nothing else: succeedPods ends
// the Pods on the node.
func (w *env) kubelet(log string) (node string) {
	w.Helper()
	lines := strings.SplitAfter(strings.TrimSuffix(log, "\n"), "\n")
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		last, err := strconv.Atoi(r.URL.Query().Get("tailLines"))
		if err != nil || !strings.HasPrefix(r.URL.Path, "/containerLogs/"+w.namespace+"/") {
			http.Error(rw, "another request than that for the last lines of a log: "+r.URL.String(), http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(rw, strings.Join(lines[max(0, len(lines)-last):], "")+"\n")
	}))
	w.Cleanup(server.Close)
	host, text, err := net.SplitHostPort(server.Listener.Addr().String())
	expect.NoError(w, err)
	port, err := strconv.ParseInt(text, 10, 32)
	expect.NoError(w, err)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.temporary(n)
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	n.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	expect.NoError(w, w.Status().Update(w.Context(), n))
	return n.Name
}

const archivedPods = `
mode: Enforce
rules:
- name: pods
  target: {apiVersion: v1, kind: Pod, selector: {matchLabels: {env: preview}}}
  eligible: finished(object)
  startTime: object.metadata.creationTimestamp
  ttl: 0s
  archive: {to: %s, logs: {tailBytes: "10"}}
`

// TestPodsAreArchivedInGoogleCloudStorage: a rule about Pods archives each with the end of its log, and the controller writes, reads and
// deletes in a store of Google.
func TestPodsAreArchivedInGoogleCloudStorage(t *testing.T) {
	w := newEnv(t)
	s := stores.GCS(t)
	a := w.archive("history", s)
	node := w.kubelet("first line\nlast line\n")
	seen := w.record("/api/v1/pods")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "once", Labels: preview},
		Spec:       corev1.PodSpec{NodeName: node, RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
	}
	w.create(pod)
	w.succeedPods(1)
	expect.NoError(t, w.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	was := pod.DeepCopy()

	w.sunset()
	p := w.policy("archived", fmt.Sprintf(archivedPods, a.Name))
	w.gone(pod)
	w.counted(p, has(1, 0))
	w.archiveReady(a, metav1.ConditionTrue, "Available")
	for _, c := range a.Status.Conditions {
		if c.Status != metav1.ConditionTrue {
			t.Errorf("%s is %s: %s", c.Type, c.Status, c.Message)
		}
	}
	found, ok := w.segmentsOf(w.bucket(s, "history"))[objectVersion{was.UID, was.ResourceVersion}]
	if !ok {
		t.Fatal("the Pod is not in the archive")
	}
	w.seenBy(seen, found)
	expect.Equal(t, "logs", []archive.Log{{Pod: "once", Container: "main", Text: "last line\n", Truncated: true}}, found.Record.Logs)
	expect.NoError(t, contains(w.plugin("archive", "ls", "--archive", a.Name, "-n", w.namespace, "pods"), "once", "deleted"))
	expect.NoError(t, contains(w.plugin("archive", "verify", "--archive", a.Name), "1 "))
}

const archivedWorkloads = `
mode: Enforce
rules:
- name: workloads
  target: {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttl: 0s
  archive: {to: %s}
`

// TestArchivedWorkloadsComeBack: with a real Kueue, a finished Workload is archived, deleted and restored. It is not active, so that Kueue
// does not admit it again, and its Job does not run again.
func TestArchivedWorkloadsComeBack(t *testing.T) {
	w := newEnv(t)
	w.startKueue()
	a := w.archive("history", stores.S3(t))
	w.queues("", "lq")
	job := w.queued("lq", "report", cluster.Succeeded)
	workload := w.workload(job, is("Finished", "Succeeded"))
	former := workload.DeepCopy()

	w.sunset()
	p := w.policy("archived", fmt.Sprintf(archivedWorkloads, a.Name))
	w.gone(workload)
	w.counted(p, has(1, 0))
	t.Log(w.plugin("archive", "restore", "--archive", a.Name, "-n", w.namespace, "workloads", "--yes"))

	back := former.DeepCopy()
	w.stays(5*time.Second, back, job)
	active, ok, _ := unstructured.NestedBool(back.Object, "spec", "active")
	expect.Equal(t, "spec.active", "false true", fmt.Sprint(active, ok))
	if back.GetUID() == former.GetUID() || !isHeld(back) {
		t.Errorf("the Workload was not restored with a hold: %v", back.GetAnnotations())
	}
	expect.Equal(t, "origin", string(former.GetUID()), back.GetAnnotations()[v1alpha1.RestoredUIDAnnotation])
	expect.Equal(t, "owners", former.GetOwnerReferences(), back.GetOwnerReferences())
	expect.Equal(t, "pod sets", former.Object["spec"].(map[string]any)["podSets"], back.Object["spec"].(map[string]any)["podSets"])
	if is("Admitted")(back) == nil || is("QuotaReserved")(back) == nil {
		t.Errorf("Kueue has admitted the restored Workload: %v", back.Object["status"])
	}
	w.finished(job)
	expect.Equal(t, "Pods that run", 0, int(job.Status.Active))
}

// TestDefinitionAndItsObjectsComeBackTogether: one command restores a CustomResourceDefinition and objects of its kind.
func TestDefinitionAndItsObjectsComeBackTogether(t *testing.T) {
	w := newEnv(t)
	kind := schema.GroupVersionKind{Group: w.namespace + ".example.com", Version: "v1", Kind: "Build"}
	definition := w.define(kind, "builds", nil)
	build := w.finishedBuild(kind)
	s := stores.Files(t)
	b := archive.NewBuilder()
	expect.NoError(t, w.Get(t.Context(), client.ObjectKeyFromObject(definition), definition))
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	for _, object := range []client.Object{build, definition} {
		data, err := json.Marshal(object)
		expect.NoError(t, err)
		_, err = b.Add(foundIn(t, data).Object, archive.Record{ArchivedAt: time.Now(), Object: data})
		expect.NoError(t, err)
	}
	segment, err := b.Seal(time.Now())
	expect.NoError(t, err)
	bucket := w.bucket(s, "").Bucket
	expect.NoError(t, bucket.Write(t.Context(), segment.Name, segment.Data))
	index := archive.NewIndexer(bucket)
	index.Add(segment)
	for line := range segment.Meta {
		index.Finish(segment.Name, line, archive.Deleted, time.Now())
	}
	expect.NoError(t, index.Flush(t.Context(), time.Now()))
	expect.NoError(t, w.Delete(t.Context(), definition))
	w.gone(definition)

	restore := []string{"archive", "restore", "--url", s.URL(""), "-A", "--finished"}
	expect.NoError(t, contains(w.plugin(restore...), "2 objects would be restored"))
	expect.NoError(t, contains(w.plugin(append(restore, "--yes")...), "2 objects restored"))
	w.stays(0, definition, build)
	if conditionOf(build, "Complete")["status"] != "True" {
		t.Errorf("the custom resource was restored without its status: %v", build.Object["status"])
	}
}
