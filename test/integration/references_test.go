// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// unreferenced deletes ConfigMaps without references as soon as possible: after the quiet period.
const unreferenced = `
mode: Enforce
rules:
- name: configmaps
  target: {apiVersion: v1, kind: ConfigMap}
  eligible: references.count == 0
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// andSecrets also deletes Secrets, in the namespaces of all tests, and declares a kind that is not installed yet.
const andSecrets = unreferenced + `
- name: secrets
  target: {apiVersion: v1, kind: Secret}
  eligible: references.count == 0
  startTime: object.metadata.creationTimestamp
  ttl: 0s
references:
- from: {apiVersion: late.example.com/v1, kind: Lock}
  to: Secret
  names: object.?spec.secrets.orValue([])
namespaceSelector: {matchLabels: {test: "true"}}
`

// TestReferencesOfASunsetOfItsOwn: each case has its own namespace and its own Sunset, which sees only one policy.
func TestReferencesOfASunsetOfItsOwn(t *testing.T) {
	newEnv(t)
	for name, test := range map[string]func(*env){
		"marks follow references":      (*env).marksFollowReferences,
		"an unreadable referrer keeps": (*env).whatCannotBeFollowedKeeps,
		"missing targets, selectors":   (*env).missingTargetsAndSelectors,
		"declared owners":              (*env).declaredOwners,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newEnv(t))
		})
	}
}

// TestUnreferencedObjectsAreDeleted: only objects without references are deleted, for different kinds of referrers. Each case has
// its own namespace.
func TestUnreferencedObjectsAreDeleted(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	w.policy("unreferenced", andSecrets)
	for name, test := range map[string]func(*env){
		"hashed ConfigMaps of a Deployment":       (*env).hashedConfigMaps,
		"a Deployment scaled to zero":             (*env).scaledToZero,
		"a suspended CronJob":                     (*env).suspendedCronJob,
		"a kind that is installed later":          (*env).referrerLater,
		"objects for Kubernetes, Helm and owners": (*env).builtInHolds,
		"an ended Pod, and an optional value":     (*env).endedPod,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newEnv(t))
		})
	}
}

// hashedConfigMaps: each rollout has its own ConfigMap. An old one stays as long as the ReplicaSet that uses it exists for
// a rollback.
func (w *env) hashedConfigMaps() {
	w.Helper()
	unused := w.configMap("unused", nil)
	maps := []*corev1.ConfigMap{w.configMap("site-5f8b", nil)}
	d := w.deployment("web", maps[0].Name, 1, 1)
	w.rolledOut(d)
	maps = append(maps, w.configMap("site-7c2d", nil))
	w.patch(d, func() { d.Spec.Template.Spec.Volumes = mounting(maps[1].Name) })
	w.rolledOut(d)
	w.gone(unused)
	w.stays(time.Second, maps[0], maps[1])

	maps = append(maps, w.configMap("site-9h6g", nil))
	w.patch(d, func() { d.Spec.Template.Spec.Volumes = mounting(maps[2].Name) })
	w.rolledOut(d)
	w.gone(maps[0])
	w.stays(time.Second, maps[1], maps[2])
}

func (w *env) scaledToZero() {
	w.Helper()
	used, unused := w.configMap("used", nil), w.configMap("unused", nil)
	d := w.deployment("web", used.Name, 0, 1)
	w.gone(unused)
	w.stays(time.Second, used)
	began := time.Now()
	w.delete(d)
	w.gone(used)
	if early := quiet - time.Since(began); early > 0 {
		w.Errorf("deleted %s early after its last reference", early)
	}
}

// quiet is how long an object must be without references, minus a possible difference between the clocks.
const quiet = 30*time.Second - 500*time.Millisecond

func (w *env) suspendedCronJob() {
	w.Helper()
	used, unused := w.configMap("used", nil), w.configMap("unused", nil)
	w.create(&batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "report"},
		Spec: batchv1.CronJobSpec{
			Schedule: "0 6 * * *", Suspend: ptr.To(true),
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
				Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: readingAll(used.Name)}}}},
		},
	})
	w.gone(unused)
	w.stays(time.Second, used)
}

// referrerLater: a kind that is not installed refers to nothing. Once it is installed, its objects count.
func (w *env) referrerLater() {
	w.Helper()
	w.gone(w.secret("before", "", nil))
	kind := schema.GroupVersionKind{Group: "late.example.com", Version: "v1", Kind: "Lock"}
	w.define(kind, "locks", nil)
	lock := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"secrets": []any{"used"}}}}
	lock.SetGroupVersionKind(kind)
	lock.SetNamespace(w.namespace)
	lock.SetName("door")
	cluster.Eventually(w, patience, func() error { return w.Create(w.Context(), lock.DeepCopy()) })
	used, unused := w.secret("used", "", nil), w.secret("unused", "", nil)
	w.gone(unused)
	w.stays(time.Second, used)
}

// builtInHolds: no object refers to these, but other components need them.
func (w *env) builtInHolds() {
	w.Helper()
	job := w.job("owner", cluster.Endless, 0)
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "owned",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}}}
	w.create(owned)
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "deployer"}})
	held := []client.Object{
		owned,
		w.configMap("kube-root-ca.crt", nil),
		w.secret("sh.helm.release.v1.shop.v7", "helm.sh/release.v1", nil),
		w.secret("deployer-token", corev1.SecretTypeServiceAccountToken, map[string]string{corev1.ServiceAccountNameKey: "deployer"}),
	}
	maps, secrets := w.configMap("unused", nil), w.secret("unused", "", nil)
	w.gone(maps, secrets)
	w.stays(time.Second, held...)
}

// endedPod: a Pod counts as long as it exists, and an optional reference counts too.
func (w *env) endedPod() {
	w.Helper()
	used, unused := w.configMap("used", nil), w.configMap("unused", nil)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "ended"},
		Spec:       corev1.PodSpec{NodeName: cluster.NodeName(0), RestartPolicy: corev1.RestartPolicyNever, InitContainers: readingAll(used.Name), Containers: idle()},
	}
	pod.Spec.InitContainers[0].EnvFrom[0].ConfigMapRef.Optional = ptr.To(true)
	cluster.SetFate(pod, cluster.Succeeded, 0)
	w.create(pod)
	w.gone(unused)
	w.stays(time.Second, used, pod)
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || pod.Status.Phase != corev1.PodSucceeded {
		w.Errorf("the Pod should have ended: %s, %v", pod.Status.Phase, err)
	}
}

// secret creates a Secret of a type, Opaque if that is empty.
func (w *env) secret(name string, of corev1.SecretType, annotations map[string]string) *corev1.Secret {
	w.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Annotations: annotations}, Type: of}
	w.create(s)
	return s
}

// deployment creates a Deployment whose Pods mount a ConfigMap.
func (w *env) deployment(name, configMap string, replicas, history int32) *appsv1.Deployment {
	w.Helper()
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas), RevisionHistoryLimit: ptr.To(history), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{NodeName: cluster.NodeName(0), Containers: idle(), Volumes: mounting(configMap)},
			},
		},
	}
	cluster.SetFate(&d.Spec.Template, cluster.Endless, 0)
	w.create(d)
	return d
}

func idle() []corev1.Container { return []corev1.Container{{Name: "main", Image: "busybox"}} }

func mounting(configMap string) []corev1.Volume {
	return []corev1.Volume{{Name: "site", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}}}}
}

// readingAll returns containers that read their environment from a ConfigMap.
func readingAll(configMap string) []corev1.Container {
	return []corev1.Container{{Name: "reads", Image: "busybox", EnvFrom: []corev1.EnvFromSource{{
		ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}}}}}
}

// rolledOut waits until all Pods of a Deployment are updated, and only the ReplicaSets of its history are left.
func (w *env) rolledOut(d *appsv1.Deployment) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		all := &appsv1.ReplicaSetList{}
		if err := w.List(w.Context(), all, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		s, want := d.Status, *d.Spec.Replicas
		if s.ObservedGeneration < d.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want || s.Replicas != want ||
			len(all.Items) > int(*d.Spec.RevisionHistoryLimit)+1 {
			return fmt.Errorf("%d ReplicaSets, %+v", len(all.Items), s)
		}
		return nil
	})
}

// delete deletes an object and the objects that it owns.
func (w *env) delete(object client.Object) {
	w.Helper()
	expect.NoError(w, w.Client.Delete(w.Context(), object, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	w.gone(object)
}
