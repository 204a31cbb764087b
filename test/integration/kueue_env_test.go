// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// kueueIsImpatient makes Kueue deactivate a Job after the first try if its Pods do not become ready. In these tests that
// happens only on a node that does not exist.
const kueueIsImpatient = `
clientConnection: {qps: 1000, burst: 1000}
waitForPodsReady:
  timeout: 20s
  blockAdmission: false
  requeuingStrategy: {backoffLimitCount: 0}
`

// startKueue runs Kueue on the test's control plane until the test ends: other tests need no Kueue.
func (w *env) startKueue() {
	w.Helper()
	w.startKueueWith(kueueIsImpatient)
}

func (w *env) startKueueWith(configuration string) {
	w.Helper()
	expect.NoError(w, w.plane.StartKueue(w.Context(), cluster.KueueOptions{Configuration: configuration}))
	w.Cleanup(func() {
		if err := w.plane.Kill(cluster.Kueue); err != nil {
			w.Error(err)
		}
	})
}

// byTheKueuePage is a Sunset with the permissions of docs/tasks/kueue.md and the permissions that it always needs.
func (w *env) byTheKueuePage() *rest.Config {
	w.Helper()
	page, err := os.ReadFile("../../docs/tasks/kueue.md")
	expect.NoError(w, err)
	const user = "system:serviceaccount:sunset-system:sunset-controller"
	w.grant(user, "core", core...)
	w.createAll(documents(string(page)))
	config, err := w.plane.UserConfig(user)
	expect.NoError(w, err)
	return config
}

var workloadKind = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"}

// queues creates a ClusterQueue with enough quota, and a LocalQueue for each name. spec is appended to the spec of the
// ClusterQueue.
func (w *env) queues(spec string, names ...string) {
	w.Helper()
	all := "%[1]s-" + names[0]
	w.kueueObject(`{kind: ResourceFlavor, metadata: {name: ` + all + `}}`)
	w.kueueObject(`{kind: ClusterQueue, metadata: {name: ` + all + `}, spec: {namespaceSelector: {}, resourceGroups: [
		{coveredResources: [cpu], flavors: [{name: ` + all + `, resources: [{name: cpu, nominalQuota: 1000}]}]}]` + spec + `}}`)
	for _, name := range names {
		w.kueueObject(`{kind: LocalQueue, metadata: {namespace: %[1]s, name: ` + name + `}, spec: {clusterQueue: ` + all + `}}`)
	}
}

// kueueObject creates an object of Kueue from YAML, in which %[1]s is the test's namespace.
func (w *env) kueueObject(text string) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{}
	if strings.Contains(text, "%[1]s") {
		text = fmt.Sprintf(text, w.namespace)
	}
	expect.NoError(w, yaml.Unmarshal([]byte(strings.ReplaceAll(text, "\t", " ")), &object.Object))
	object.SetAPIVersion(workloadKind.GroupVersion().String())
	w.temporary(object)
	return object
}

// queued creates a Job that waits in a queue, with the fields that Kueue's webhook would set.
func (w *env) queued(queue, name string, outcome cluster.Outcome, adjust ...func(*batchv1.Job)) *batchv1.Job {
	w.Helper()
	return w.job(name, outcome, 0, append([]func(*batchv1.Job){func(j *batchv1.Job) {
		j.Spec.Suspend = ptr.To(true)
		j.Labels = map[string]string{"kueue.x-k8s.io/queue-name": queue}
	}}, adjust...)...)
}

func labelled(key, value string) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Labels[key] = value }
}

// workload waits until Kueue has created a Job's Workload and it satisfies want. Earlier Workloads are ignored.
func (w *env) workload(job *batchv1.Job, want func(*unstructured.Unstructured) error, earlier ...*unstructured.Unstructured) *unstructured.Unstructured {
	w.Helper()
	var found *unstructured.Unstructured
	cluster.Eventually(w, patience, func() error {
		all, err := w.workloads(job)
		if err != nil {
			return err
		}
		for i := range all {
			if len(earlier) == 0 || all[i].GetUID() != earlier[0].GetUID() {
				found = &all[i]
				return want(found)
			}
		}
		return fmt.Errorf("no Workload of Job %s among %d", job.Name, len(all))
	})
	return found
}

func (w *env) workloads(job *batchv1.Job) (mine []unstructured.Unstructured, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(workloadKind)
	err = w.List(w.Context(), list, client.InNamespace(w.namespace))
	for _, item := range list.Items {
		if metav1.IsControlledBy(&item, job) {
			mine = append(mine, item)
		}
	}
	return mine, err
}

// replaced waits until an object is deleted or replaced by another object with its name.
func (w *env) replaced(object *unstructured.Unstructured) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		current := object.DeepCopy()
		err := w.Get(w.Context(), client.ObjectKeyFromObject(object), current)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return err
		case err == nil && current.GetUID() == object.GetUID():
			return fmt.Errorf("%s %s still exists", object.GetKind(), object.GetName())
		}
		return nil
	})
}

// is requires that a condition of a Workload is True, with this reason if one is given.
func is(kind string, reason ...string) func(*unstructured.Unstructured) error {
	return func(u *unstructured.Unstructured) error {
		c := conditionOf(u, kind)
		if c["status"] == "True" && (len(reason) == 0 || c["reason"] == reason[0]) {
			return nil
		}
		return fmt.Errorf("want %s %v: %v", kind, reason, u.Object["status"])
	}
}

// since returns the last transition time of a condition.
func since(t *testing.T, u *unstructured.Unstructured, kind string) time.Time {
	t.Helper()
	text, _ := conditionOf(u, kind)["lastTransitionTime"].(string)
	at, err := time.Parse(time.RFC3339, text)
	expect.NoError(t, err)
	return at
}

func conditionOf(u *unstructured.Unstructured, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, entry := range list {
		if c, ok := entry.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}

// admissionCheck creates an AdmissionCheck that this test controls, and returns the fields that ClusterQueues need to use
// it.
func (w *env) admissionCheck() (spec string) {
	w.Helper()
	check := w.kueueObject(`{kind: AdmissionCheck, metadata: {name: %[1]s}, spec: {controllerName: sunset.test/check}}`)
	w.change(check, func(u *unstructured.Unstructured) {
		active := map[string]any{"type": "Active", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": timeNow()}
		_ = unstructured.SetNestedSlice(u.Object, []any{active}, "status", "conditions")
	}, true)
	return `, admissionChecksStrategy: {admissionChecks: [{name: %[1]s}]}`
}

// reject rejects a Workload, like the controller of an AdmissionCheck. Kueue then deactivates it.
func (w *env) reject(workload *unstructured.Unstructured) {
	w.Helper()
	w.change(workload, func(u *unstructured.Unstructured) {
		rejected := map[string]any{"name": w.namespace, "state": "Rejected", "message": "no", "lastTransitionTime": timeNow()}
		_ = unstructured.SetNestedSlice(u.Object, []any{rejected}, "status", "admissionChecks")
	}, true)
}

// activate sets spec.active, as users do.
func (w *env) activate(workload *unstructured.Unstructured, active bool) {
	w.Helper()
	w.change(workload, func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, active, "spec", "active")
	}, false)
}

// change writes an object or its status, and retries on conflict.
func (w *env) change(object *unstructured.Unstructured, how func(*unstructured.Unstructured), status bool) {
	w.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		how(object)
		if status {
			return w.Status().Update(w.Context(), object)
		}
		return w.Update(w.Context(), object)
	})
	if err != nil {
		w.Fatalf("change %s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

func timeNow() string { return time.Now().UTC().Format(time.RFC3339) }
