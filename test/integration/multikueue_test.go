// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/long"
)

// finishedOnManager deletes finished objects in the manager cluster.
const finishedOnManager = `
mode: Enforce
rules:
- {name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object), startTime: finishedAt(object), ttl: 1s}
- {name: workloads, target: {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload}, eligible: finished(object), startTime: finishedAt(object), ttl: 1s}
`

// finishedOnWorker deletes finished objects in the worker cluster. Only the rules with allowManaged delete objects that
// MultiKueue created: one finished Job, and the finished Workload of another Job.
const finishedOnWorker = `
mode: Enforce
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  eligible: finished(object) && object.metadata.name != 'job-allowed'
  startTime: finishedAt(object)
  ttl: 0s
- name: jobs-allowed
  target: {apiVersion: batch/v1, kind: Job}
  eligible: finished(object) && object.metadata.name == 'job-allowed'
  startTime: finishedAt(object)
  ttl: 0s
  delete: {allowManaged: true}
- name: workloads
  target: {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload}
  eligible: finished(object) && !object.metadata.name.startsWith('job-workload-allowed-')
  startTime: finishedAt(object)
  ttl: 0s
- name: workloads-allowed
  target: {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload}
  eligible: finished(object) && object.metadata.name.startsWith('job-workload-allowed-')
  startTime: finishedAt(object)
  ttl: 0s
  delete: {allowManaged: true}
`

// TestMultiKueue runs a Kueue manager on one control plane and a Kueue worker on the other, with Sunset on both. The
// manager's Kueue is paused while three Jobs finish on the worker. MultiKueue dispatches a Job again only if Sunset has
// deleted the worker's Job in that time, or perhaps its Workload. It needs two control planes for a minute: SUNSET_LONG=1
// runs it.
func TestMultiKueue(t *testing.T) {
	if !long.Enabled() {
		t.Skip("needs two control planes for a minute: set SUNSET_LONG=1")
	}
	manager, worker := managerAndWorker(t)
	created := worker.createdJobs()
	manager.sunset()
	worker.sunset()
	manager.policy("finished", finishedOnManager)
	worker.policy("finished", finishedOnWorker)

	names := []string{"kept", "job-allowed", "workload-allowed"}
	jobs, workloads := map[string]*batchv1.Job{}, map[string]*unstructured.Unstructured{}
	managers := map[string]*batchv1.Job{}
	for _, name := range names {
		managers[name] = manager.queued("lq", name, cluster.Endless, forMultiKueue)
	}
	for _, name := range names {
		manager.workload(managers[name], is("Admitted"))
		jobs[name] = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: worker.namespace, Name: name}}
		cluster.Eventually(t, patience, func() error {
			return worker.Get(t.Context(), client.ObjectKeyFromObject(jobs[name]), jobs[name])
		})
		workloads[name] = worker.workload(jobs[name], is("Admitted"))
	}
	expect.NoError(t, manager.plane.Pause(cluster.Kueue))
	resume := sync.OnceValue(func() error { return manager.plane.Resume(cluster.Kueue) })
	t.Cleanup(func() { _ = resume() })
	worker.succeedPods(len(names))

	worker.gone(jobs["job-allowed"])
	worker.gone(workloads["workload-allowed"])
	worker.finished(jobs["kept"])
	worker.workload(jobs["kept"], is("Finished"))
	worker.stays(2*time.Second, jobs["kept"], workloads["kept"])
	worker.explains("job/kept", "ManagedByMultiKueue")
	worker.explains("workload/"+workloads["kept"].GetName(), "ManagedByMultiKueue")
	expect.NoError(t, resume())

	worker.gone(jobs["kept"])
	worker.gone(workloads["kept"])
	manager.gone(managers["kept"])
	cluster.Eventually(t, patience, func() error { return manager.none(managers["kept"]) })
	cluster.Eventually(t, patience, func() error {
		n := created("job-allowed")
		return cluster.Want(n >= 2, "MultiKueue dispatched Job job-allowed %d times, want 2: docs/tasks/kueue.md is wrong about allowManaged", n)
	})
	t.Logf("MultiKueue dispatched Job workload-allowed %d times", created("workload-allowed")) // depends on which event it sees first
	if n := created("kept"); n != 1 {
		t.Errorf("MultiKueue dispatched Job kept %d times, want once", n)
	}
}

// managerAndWorker starts Kueue on two control planes. The manager dispatches the Jobs of the queue "lq" to the worker.
func managerAndWorker(t *testing.T) (manager, worker *env) {
	t.Helper()
	manager = newEnv(t)
	other := planes.another(t)
	worker = envOn(t, other, metav1.ObjectMeta{Name: manager.namespace})
	worker.startKueueWith("")
	manager.startKueueWith("multiKueue: {workerLostTimeout: 5s}") // makes it dispatch Jobs again if the worker lacks their Workload
	worker.queues("", "lq")

	file := filepath.Join(t.TempDir(), "kubeconfig")
	expect.NoError(t, cluster.WriteKubeconfig(file, other.Config()))
	kubeconfig, err := os.ReadFile(file)
	expect.NoError(t, err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.KueueNamespace, Name: manager.namespace}, Data: map[string][]byte{"kubeconfig": kubeconfig}}
	manager.temporary(secret)
	manager.kueueObject(`{kind: MultiKueueCluster, metadata: {name: %[1]s}, spec: {clusterSource: {kubeConfig: {locationType: Secret, location: %[1]s}}}}`)
	manager.kueueObject(`{kind: MultiKueueConfig, metadata: {name: %[1]s}, spec: {clusters: [%[1]s]}}`)
	check := manager.kueueObject(`{kind: AdmissionCheck, metadata: {name: %[1]s}, spec: {controllerName: kueue.x-k8s.io/multikueue,
		parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: %[1]s}}}`)
	cluster.Eventually(t, patience, func() error {
		if err := manager.Get(t.Context(), client.ObjectKeyFromObject(check), check); err != nil {
			return err
		}
		return is("Active")(check)
	})
	manager.queues(`, admissionChecksStrategy: {admissionChecks: [{name: %[1]s}]}`, "lq")
	return manager, worker
}

// forMultiKueue sets the fields that Kueue's webhook would set, and a node that does not exist: succeedPods ends the Job's
// Pod.
func forMultiKueue(j *batchv1.Job) {
	j.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue")
	j.Spec.Template.Spec.NodeName = "not-there"
}

// succeedPods waits for Pods and sets their phase to Succeeded, as a kubelet does.
func (w *env) succeedPods(count int) {
	w.Helper()
	pods := &corev1.PodList{}
	cluster.Eventually(w, patience, func() error {
		if err := w.List(w.Context(), pods, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		return cluster.Want(len(pods.Items) == count, "%d Pods, want %d", len(pods.Items), count)
	})
	for i := range pods.Items {
		pod := &pods.Items[i]
		before := pod.DeepCopy()
		pod.Status.Phase = corev1.PodSucceeded
		expect.NoError(w, w.Status().Patch(w.Context(), pod, client.MergeFrom(before)))
	}
}

// createdJobs watches the namespace's Jobs until the test ends. The returned function counts the created Jobs with a name.
func (w *env) createdJobs() func(name string) int {
	w.Helper()
	clients, err := kubernetes.NewForConfig(w.plane.Config())
	expect.NoError(w, err)
	watch, err := clients.BatchV1().Jobs(w.namespace).Watch(w.Context(), metav1.ListOptions{})
	expect.NoError(w, err)
	w.Cleanup(watch.Stop)
	var mu sync.Mutex
	var ended error
	uids := map[string]map[types.UID]bool{}
	go func() {
		for event := range watch.ResultChan() {
			job, ok := event.Object.(*batchv1.Job)
			mu.Lock()
			if !ok {
				ended = fmt.Errorf("watch of Jobs: %v", event.Object)
			} else if uids[job.Name] == nil {
				uids[job.Name] = map[types.UID]bool{job.UID: true}
			} else {
				uids[job.Name][job.UID] = true
			}
			mu.Unlock()
		}
		mu.Lock()
		defer mu.Unlock()
		ended = errors.Join(ended, errors.New("watch of Jobs ended"))
	}()
	return func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		if ended != nil {
			w.Error(ended)
		}
		return len(uids[name])
	}
}

// explains requires a text in the output of "sunset explain" for an object.
func (w *env) explains(object, want string) {
	w.Helper()
	if out, err := w.commandLine(w.plane.Config())("explain", object, "-n", w.namespace); err != nil || !strings.Contains(out, want) {
		w.Errorf("explain %s: %v, want %s:\n%s", object, err, want, out)
	}
}
