package scene

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// Policy creates a ClusterRetentionPolicy from the YAML of its spec. Unless the spec says otherwise it is about the scene's
// namespaces alone, and needs no approval.
func (s *Scene) Policy(name, spec string) *v1alpha1.ClusterRetentionPolicy { return nil }

// Override creates a RetentionPolicy in the scene's namespace from the YAML of its spec.
func (s *Scene) Override(name, spec string) *v1alpha1.RetentionPolicy { return nil }

// Edit changes a policy's spec.
func (s *Scene) Edit(p *v1alpha1.ClusterRetentionPolicy, change func(*v1alpha1.ClusterRetentionPolicySpec)) {
}

// ConfigMap creates a ConfigMap in the scene's namespace.
func (s *Scene) ConfigMap(name string, labels map[string]string, adjust ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
	return nil
}

// Job creates a Job whose only Pod ends as told after a while. The scene must have Nodes.
func (s *Scene) Job(name string, outcome cluster.Outcome, runFor time.Duration, adjust ...func(*batchv1.Job)) *batchv1.Job {
	return nil
}

// FinishedJob creates a Job that has already completed, without Pods and without the Job controller.
func (s *Scene) FinishedJob(name string, adjust ...func(*batchv1.Job)) *batchv1.Job { return nil }

// Finished waits until a Job has finished and gives the time.
func (s *Scene) Finished(job *batchv1.Job) time.Time { return time.Time{} }

// Pod creates a Pod that ends as told after a while. The scene must have Nodes.
func (s *Scene) Pod(name string, outcome cluster.Outcome, runFor time.Duration, adjust ...func(*corev1.Pod)) *corev1.Pod {
	return nil
}

// MustCreate creates an object of any kind, in the scene's namespace if it is of a namespaced type that does not say where.
func (s *Scene) MustCreate(object client.Object) {}

// Remove deletes objects as their owner would. One that is gone is no error.
func (s *Scene) Remove(objects ...client.Object) {}

// Change reads an object, changes it and writes it, again after a conflict. The object is then as it was stored.
func (s *Scene) Change(object client.Object, change func()) {}

// Hold annotates an object so that it is kept.
func (s *Scene) Hold(object client.Object) {}

// Unhold takes the annotation of Hold away.
func (s *Scene) Unhold(object client.Object) {}

// Touch makes another version of an object, by an annotation.
func (s *Scene) Touch(object client.Object) {}

// Gone waits until objects are no more.
func (s *Scene) Gone(objects ...client.Object) {}

// Stays fails the test if an object is gone, is another one, or is on its way, now or within the time.
func (s *Scene) Stays(within time.Duration, objects ...client.Object) {}

// Left is how many objects of a list's kind, with labels, the scene's namespace has.
func (s *Scene) Left(list client.ObjectList, labels map[string]string) int { return 0 }

// Status waits until the status of a policy is as wanted.
func (s *Scene) Status(p *v1alpha1.ClusterRetentionPolicy, want func(v1alpha1.RetentionPolicyStatus) error) {
}

// Condition is a condition of a status; one of status Unknown when it has none of the name.
func Condition(status v1alpha1.RetentionPolicyStatus, name string) metav1.Condition {
	return metav1.Condition{}
}

// Ledger is the ledger of a policy; nil when it has none yet.
func (s *Scene) Ledger(p *v1alpha1.ClusterRetentionPolicy) *v1alpha1.RetentionLedger { return nil }

// Eventually waits until check gives no error.
func (s *Scene) Eventually(check func() error) {}
