package integration_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// patience is how long a test waits for an expected change.
const patience = 60 * time.Second

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
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(plane.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &env{T: t, Client: c, plane: plane, metrics: prometheus.NewRegistry()}
	namespace.Labels = map[string]string{"test": "true"}
	ns := &corev1.Namespace{ObjectMeta: namespace}
	w.create(ns)
	w.namespace = ns.Name
	t.Cleanup(func() { _ = c.Delete(context.Background(), ns) })
	return w
}

// sunset runs a controller until the test ends or stop is called; stop waits until it has ended.
func (w *env) sunset(adjust ...func(*manager.Config)) (stop func()) {
	w.Helper()
	ended, cancel := w.start(adjust...)
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				w.Errorf("controller: %v", err)
			}
		})
	}
	w.Cleanup(stop)
	return stop
}

// sunsetUntilLost runs a controller that must end with an error, which the channel delivers.
func (w *env) sunsetUntilLost(adjust ...func(*manager.Config)) <-chan error {
	w.Helper()
	ended, cancel := w.start(adjust...)
	w.Cleanup(cancel)
	return ended
}

func (w *env) start(adjust ...func(*manager.Config)) (ended <-chan error, cancel context.CancelFunc) {
	w.Helper()
	config := manager.Config{
		Rest: w.plane.Config(), Clock: clock.RealClock{}, Protection: policy.DefaultProtection("sunset-system"),
		MetricsAddress: "0", ProbeAddress: "0",
	}
	for _, a := range adjust {
		a(&config)
	}
	mgr, err := manager.NewManager(config)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return done, cancel
}

func (w *env) create(object client.Object) {
	w.Helper()
	if err := w.Create(w.Context(), object); err != nil {
		w.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// policy creates a ClusterRetentionPolicy with this spec in YAML for the test's namespace, and deletes it at the end of the
// test.
func (w *env) policy(name, spec string) *v1alpha1.ClusterRetentionPolicy {
	w.Helper()
	object := w.clusterPolicy(name, spec)
	w.create(object)
	p := &v1alpha1.ClusterRetentionPolicy{ObjectMeta: metav1.ObjectMeta{Name: object.GetName()}}
	w.Cleanup(func() { _ = w.Client.Delete(context.Background(), p) })
	return p
}

// clusterPolicy is a ClusterRetentionPolicy, for the test's namespace unless its spec has a namespaceSelector.
func (w *env) clusterPolicy(name, spec string) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(spec), &object.Object); err != nil {
		w.Fatal(err)
	}
	object.Object = map[string]any{"spec": object.Object}
	if _, ok, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "approval"); !ok { // few tests concern approvals
		_ = unstructured.SetNestedMap(object.Object, map[string]any{"backlogCount": int64(1_000_000), "backlogPercent": int64(100)}, "spec", "approval")
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
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(p), current); err != nil {
		w.Fatal(err)
	}
	before := current.DeepCopy()
	change(&current.Spec)
	if err := w.Patch(w.Context(), current, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
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
			data, _ := yaml.Marshal(current.Status)
			return fmt.Errorf("%w in status:\n%s", err, data)
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

// gone waits until an object does not exist.
func (w *env) gone(object client.Object) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		err := w.Get(w.Context(), client.ObjectKeyFromObject(object), object)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		default:
			return fmt.Errorf("%T %s still exists", object, object.GetName())
		}
	})
}

// stays fails the test if an object is deleted or terminating, now or within the time.
func (w *env) stays(within time.Duration, objects ...client.Object) {
	w.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		for _, object := range objects {
			if err := w.Get(w.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				w.Fatalf("%T %s should have stayed: %v", object, object.GetName(), err)
			}
			if object.GetDeletionTimestamp() != nil {
				w.Fatalf("%T %s should have stayed, but is terminating", object, object.GetName())
			}
		}
		if time.Now().After(deadline) {
			return
		}
	}
}

func (w *env) condition(s v1alpha1.RetentionPolicyStatus, name string) metav1.Condition {
	for _, c := range s.Conditions {
		if c.Type == name {
			return c
		}
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
