// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// patience is how long a test waits for an expected change: much longer than the change takes on a busy machine.
const patience = 2 * time.Minute

// env is a namespace on the test's control plane.
type env struct {
	*testing.T
	client.Client
	plane     *cluster.Cluster
	namespace string
	began     time.Time            // base of the last uses of ranked objects
	metrics   *prometheus.Registry // metrics of its agents
}

func newEnv(t *testing.T) *env {
	t.Helper()
	return envOn(t, planes.of(t), metav1.ObjectMeta{GenerateName: "t-"})
}

// envOn creates the namespace on the control plane of the test.
func envOn(t *testing.T, plane *cluster.Cluster, namespace metav1.ObjectMeta) *env {
	t.Helper()
	c, err := cluster.NewClient(plane.Config())
	expect.NoError(t, err)
	w := &env{T: t, Client: c, plane: plane, metrics: prometheus.NewRegistry()}
	namespace.Labels = map[string]string{"test": "true"}
	ns := &corev1.Namespace{ObjectMeta: namespace}
	w.create(ns)
	w.namespace = ns.Name
	t.Cleanup(func() { w.tidy(ns) })
	return w
}

// tidy stops what could affect later tests on the same control plane. The rest stays until the control plane ends, because
// deleting a namespace costs about a hundred requests.
func (w *env) tidy(namespace *corev1.Namespace) {
	ctx, in := context.Background(), client.InNamespace(namespace.Name)
	err := errors.Join(w.DeleteAllOf(ctx, &v1alpha1.RetentionPolicy{}, in), w.DeleteAllOf(ctx, &batchv1.CronJob{}, in),
		w.DeleteAllOf(ctx, &batchv1.Job{}, in, client.PropagationPolicy(metav1.DeletePropagationBackground)),
		w.Patch(ctx, namespace, edit(`{"metadata":{"labels":{"test":null}}}`)))
	if err != nil {
		w.Logf("after the test: %v", err)
	}
}

// sunset runs a controller until the test ends or stop is called; stop waits until it has ended.
func (w *env) sunset(adjust ...func(*manager.Config)) (stop func()) {
	w.Helper()
	return w.background("controller", w.controller(adjust...).Start)
}

// background runs a program until the test ends or stop is called; stop waits until it has ended.
func (w *env) background(what string, run func(context.Context) error) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("%s: %v", what, err)
		}
	})
	w.Cleanup(stop)
	return stop
}

// sunsetUntilLost runs a controller that must end with an error, which the channel delivers.
func (w *env) sunsetUntilLost(adjust ...func(*manager.Config)) <-chan error {
	w.Helper()
	mgr := w.controller(adjust...)
	ctx, cancel := context.WithCancel(context.Background())
	w.Cleanup(cancel)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return ended
}

func (w *env) controller(adjust ...func(*manager.Config)) ctrlmanager.Manager {
	w.Helper()
	config := manager.Config{
		Rest: w.plane.Config(), Clock: clock.RealClock{}, Protection: policy.DefaultProtection("sunset-system"),
		MetricsAddress: "0", ProbeAddress: "0",
	}
	for _, a := range adjust {
		a(&config)
	}
	mgr, err := manager.NewManager(config)
	expect.NoError(w, err)
	return mgr
}

func (w *env) create(object client.Object) {
	w.Helper()
	if err := w.Create(w.Context(), object); err != nil {
		w.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// temporary creates an object, and deletes it at the end of the test.
func (w *env) temporary(object client.Object) {
	w.Helper()
	w.create(object)
	w.Cleanup(func() { _ = w.Client.Delete(context.Background(), object) })
}

// createAll creates objects from YAML documents, and deletes them at the end of the test. It waits until a namespace of a test before, on
// the same control plane, is gone.
func (w *env) createAll(texts []string, adjust ...func(*unstructured.Unstructured)) {
	w.Helper()
	for _, text := range texts {
		object := &unstructured.Unstructured{}
		expect.NoError(w, yaml.Unmarshal([]byte(text), &object.Object))
		for _, a := range adjust {
			a(object)
		}
		if object.GetKind() == "Namespace" {
			w.gone(object.DeepCopy())
		}
		w.temporary(object)
	}
}

// policy creates a ClusterRetentionPolicy with this spec in YAML for the test's namespace, and deletes it at the end of the
// test.
func (w *env) policy(name, spec string) *v1alpha1.ClusterRetentionPolicy {
	w.Helper()
	object := w.clusterPolicy(name, spec)
	w.temporary(object)
	return &v1alpha1.ClusterRetentionPolicy{ObjectMeta: metav1.ObjectMeta{Name: object.GetName(), UID: object.GetUID()}}
}

// clusterPolicy is a ClusterRetentionPolicy, for the test's namespace unless its spec has a namespaceSelector.
func (w *env) clusterPolicy(name, spec string) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	expect.NoError(w, yaml.Unmarshal([]byte(spec), &object.Object))
	object.Object = map[string]any{"spec": object.Object}
	if _, ok, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "approval"); !ok { // few tests concern approvals
		_ = unstructured.SetNestedMap(object.Object, map[string]any{"maxObjects": int64(1_000_000), "maxPercent": int64(100)}, "spec", "approval")
	}
	object.SetGroupVersionKind(v1alpha1.ClusterRetentionPolicyKind)
	object.SetName(w.namespace + "-" + name)
	if _, ok, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "namespaceSelector"); !ok {
		_ = unstructured.SetNestedMap(object.Object, map[string]any{"matchLabels": map[string]any{
			"kubernetes.io/metadata.name": w.namespace}}, "spec", "namespaceSelector")
	}
	return object
}

// edit changes the spec of a policy.
func (w *env) edit(p *v1alpha1.ClusterRetentionPolicy, change func(*v1alpha1.ClusterRetentionPolicySpec)) {
	w.Helper()
	current := &v1alpha1.ClusterRetentionPolicy{}
	expect.NoError(w, w.Get(w.Context(), client.ObjectKeyFromObject(p), current))
	before := current.DeepCopy()
	change(&current.Spec)
	expect.NoError(w, w.Patch(w.Context(), current, client.MergeFrom(before)))
}

// sees waits until the controller has seen a generation of a policy.
func (w *env) sees(p *v1alpha1.ClusterRetentionPolicy, generation int64) {
	w.Helper()
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.ObservedGeneration == generation, "the controller has not seen generation %d", generation)
	})
}

// status waits until the status of a policy satisfies want.
func (w *env) status(p *v1alpha1.ClusterRetentionPolicy, want func(v1alpha1.RetentionPolicyStatus) error) {
	w.Helper()
	w.statusWithin(patience, p, want)
}

func (w *env) statusWithin(patience time.Duration, p *v1alpha1.ClusterRetentionPolicy, want func(v1alpha1.RetentionPolicyStatus) error) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		current := &v1alpha1.ClusterRetentionPolicy{}
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(p), current); err != nil {
			return err
		}
		if err := want(current.Status); err != nil {
			return cluster.WithYAML(err, current.Status)
		}
		return nil
	})
}

// job creates a real Job whose Pod ends with this outcome after runFor.
func (w *env) job(name string, outcome cluster.Outcome, runFor time.Duration, adjust ...func(*batchv1.Job)) *batchv1.Job {
	w.Helper()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](0),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				NodeName:      cluster.NodeName(0),
				Containers:    []corev1.Container{{Name: "main", Image: "busybox"}},
			}},
		},
	}
	cluster.SetFate(&job.Spec.Template, outcome, runFor)
	for _, a := range adjust {
		a(job)
	}
	w.create(job)
	return job
}

// finished waits until a Job has finished and returns the finish time.
func (w *env) finished(job *batchv1.Job) time.Time {
	w.Helper()
	var at time.Time
	cluster.Eventually(w, patience, func() error {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(job), job); err != nil {
			return err
		}
		for _, c := range job.Status.Conditions {
			if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
				at = c.LastTransitionTime.Time
				return nil
			}
		}
		return fmt.Errorf("job %s has not finished", job.Name)
	})
	return at
}

// gone waits until objects do not exist.
func (w *env) gone(objects ...client.Object) {
	w.Helper()
	for _, object := range objects {
		cluster.Eventually(w, patience, func() error {
			err := w.Get(w.Context(), client.ObjectKeyFromObject(object), object)
			if err == nil {
				return fmt.Errorf("%T %s still exists", object, object.GetName())
			}
			return client.IgnoreNotFound(err)
		})
	}
}

// stays fails the test if an object is deleted, replaced or terminating, now or within the time. It asks rarely, because a deleted object
// does not come back, and one that is created again has another UID.
func (w *env) stays(within time.Duration, objects ...client.Object) {
	w.Helper()
	uids := make([]types.UID, len(objects))
	for deadline := time.Now().Add(within); ; time.Sleep(min(500*time.Millisecond, time.Until(deadline))) {
		for i, object := range objects {
			if err := w.Get(w.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				w.Fatalf("%T %s should have stayed: %v", object, object.GetName(), err)
			}
			if object.GetDeletionTimestamp() != nil {
				w.Fatalf("%T %s should have stayed, but is terminating", object, object.GetName())
			}
			if uids[i] != "" && uids[i] != object.GetUID() {
				w.Fatalf("%T %s should have stayed, but was replaced", object, object.GetName())
			}
			uids[i] = object.GetUID()
		}
		if time.Now().After(deadline) {
			return
		}
	}
}

func (w *env) condition(s v1alpha1.RetentionPolicyStatus, name string) metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{Type: name, Status: metav1.ConditionUnknown, Reason: "Missing"}
}

func contains(text string, parts ...string) error {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return fmt.Errorf("%q is missing in %q", part, text)
		}
	}
	return nil
}
