// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// withOwner deletes the owners of preview ConfigMaps.
const withOwner = `
mode: %s
rules:
- name: previews
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
  delete: {target: Owner%s}
`

const andUnfinished = ", allowUnfinishedOwner: true"

// ownedBy creates a preview ConfigMap with a Job as controller.
func (w *env) ownedBy(name string, job *batchv1.Job) *corev1.ConfigMap {
	w.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: name, Labels: preview,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}}
	w.create(cm)
	return cm
}

// finishedJob creates a Job and waits until it finishes.
func (w *env) finishedJob(name string) *batchv1.Job {
	w.Helper()
	job := w.job(name, cluster.Succeeded, 0)
	w.finished(job)
	return job
}

// TestOwnerGoesAndTakesAlongWhatItOwns: Sunset deletes a Job instead of its two ConfigMaps, and counts it once. The garbage
// collector deletes them and its Pods.
func TestOwnerGoesAndTakesAlongWhatItOwns(t *testing.T) {
	w, g := behindProxy(t)
	requests := recorded(g, func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/namespaces/"+w.namespace+"/") && (r.Method == http.MethodDelete || r.Method == http.MethodGet)
	})
	job := w.finishedJob("job")
	one, two := w.ownedBy("one", job), w.ownedBy("two", job)
	without := w.configMap("without", preview)
	p := w.policy("previews", fmt.Sprintf(withOwner, "Enforce", ""))
	w.gone(job, one, two)
	cluster.Eventually(w, patience, func() error {
		pods := &corev1.PodList{}
		if err := w.List(t.Context(), pods, client.InNamespace(w.namespace)); err != nil || len(pods.Items) > 0 {
			return fmt.Errorf("%d Pods: %w", len(pods.Items), err)
		}
		return nil
	})
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Deleted == 1 && s.Matched == 1 && s.Due.Now == 0, "wrong counts")
	})
	w.stays(0, without)
	jobPath := "/apis/batch/v1/namespaces/" + w.namespace + "/jobs/job"
	for _, request := range requests() {
		if strings.HasPrefix(request, "DELETE") {
			if err := contains(request, jobPath, `"propagationPolicy":"Background"`, string(job.UID), `"resourceVersion":"`); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestDryRunShowsTheOwner(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	job := w.finishedJob("job")
	cm := w.ownedBy("one", job)
	p := w.policy("previews", fmt.Sprintf(withOwner, "DryRun", ""))
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Due.Now != 1 || len(s.Rules[0].Soonest) != 1 || s.Rules[0].Soonest[0].Owner != "Job/job" {
			return errors.New("the status does not name the owner")
		}
		return contains(fmt.Sprint(s.Rules[0].Reads), "metadata.ownerReferences")
	})
	w.stays(time.Second, job, cm)
}

// isKnown returns an error until a policy is in force or the controller says why not.
func isKnown(s v1alpha1.RetentionPolicyStatus) error {
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	return cluster.Want(ready != nil && ready.Status != metav1.ConditionUnknown, "it is not known whether the policy is ready")
}

// TestOwnerIsKeptUntilReasonEnds: an owner is kept for a reason, and deleted once the reason is removed.
func TestOwnerIsKeptUntilReasonEnds(t *testing.T) {
	newEnv(t).sunset()
	for name, test := range map[string]struct {
		job   func(*env) *batchv1.Job
		spec  string
		mend  func(*env, *batchv1.Job)
		other string // another policy, which the test deletes
	}{
		"a hold": {
			job: func(w *env) *batchv1.Job {
				job := w.finishedJob("job")
				w.annotate(job, `"true"`)
				return job
			},
			mend: func(w *env, job *batchv1.Job) { w.annotate(job, "null") },
		},
		"it is running": {
			job: func(w *env) *batchv1.Job { return w.job("job", cluster.Endless, 0) },
			mend: func(w *env, job *batchv1.Job) {
				w.patch(job, func() { job.Spec.ActiveDeadlineSeconds = ptr.To[int64](1) })
			},
		},
		"a rule for its kind": {
			job: func(w *env) *batchv1.Job { return w.finishedJob("job") },
			other: `
mode: Suspend
rules:
- {name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object), startTime: finishedAt(object), ttl: 0s}
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			var other *v1alpha1.ClusterRetentionPolicy
			if test.other != "" {
				other = w.policy("other", test.other)
				w.status(other, func(s v1alpha1.RetentionPolicyStatus) error {
					return cluster.Want(w.condition(s, v1alpha1.ConditionReady).Status == metav1.ConditionTrue, "not ready")
				})
			}
			job := test.job(w)
			cm := w.ownedBy("one", job)
			w.status(w.policy("previews", fmt.Sprintf(withOwner, "Enforce", test.spec)), isKnown)
			w.stays(3*time.Second, job, cm)
			if other != nil {
				expect.NoError(t, w.Client.Delete(t.Context(), other))
			} else {
				test.mend(w, job)
			}
			w.gone(job, cm)
		})
	}
}

// patch changes an object with a patch.
func (w *env) patch(object client.Object, change func()) {
	w.Helper()
	expect.NoError(w, w.Get(w.Context(), client.ObjectKeyFromObject(object), object))
	before := object.DeepCopyObject().(client.Object)
	change()
	expect.NoError(w, w.Patch(w.Context(), object, client.MergeFrom(before)))
}

func TestUnfinishedOwnerGoesIfTheRuleSaysSo(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	job := w.job("job", cluster.Endless, 0)
	cm := w.ownedBy("one", job)
	w.policy("previews", fmt.Sprintf(withOwner, "Enforce", andUnfinished))
	w.gone(job, cm)
}

// heldOwnerDelete returns a Job, the ConfigMap that it owns and the DELETE of the Job, which the proxy holds.
func heldOwnerDelete(t *testing.T, method, path string) (*env, *proxy.Proxy, *batchv1.Job, *corev1.ConfigMap, *proxy.Armed) {
	w, g := behindProxy(t)
	held := catchOne(g, func(r *http.Request) bool { return r.Method == method && strings.HasSuffix(r.URL.Path, path) })
	job := w.finishedJob("job")
	cm := w.ownedBy("one", job)
	w.policy("previews", fmt.Sprintf(withOwner, "Enforce", ""))
	select {
	case <-held.Arrived():
	case <-time.After(patience):
		t.Fatalf("no %s of %s came", method, path)
	}
	return w, g, job, cm, held
}

func TestHoldOnTheOwnerThatArrivesBeforeTheDeleteWins(t *testing.T) {
	w, g, job, cm, held := heldOwnerDelete(t, http.MethodDelete, "/jobs/job")
	w.annotate(job, `"true"`)
	held.Release()
	w.stays(2*time.Second, job, cm)
	expectRefused(t, g)
}

func TestOwnerThatChangesBeforeTheDeleteIsReevaluated(t *testing.T) {
	w, g, job, cm, held := heldOwnerDelete(t, http.MethodDelete, "/jobs/job")
	w.setAnnotation(job, "example.org/changed", `"yes"`)
	held.Release()
	w.gone(job) // its new version is still finished
	w.gone(cm)
	expectRefused(t, g)
}

// TestOwnerOfASubjectThatChangesStays: the controller reads the subject right before it deletes the owner.
func TestOwnerOfASubjectThatChangesStays(t *testing.T) {
	w, _, job, cm, held := heldOwnerDelete(t, http.MethodGet, "/configmaps/one")
	w.annotate(cm, `"true"`)
	held.Release()
	w.stays(2*time.Second, job, cm)
}

// TestOwnerOfANamesakeStays: an owner reference names an object by its UID.
func TestOwnerOfANamesakeStays(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	job := w.finishedJob("job")
	forged := job.DeepCopy()
	forged.UID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	w.policy("previews", fmt.Sprintf(withOwner, "Enforce", ""))
	cm := w.ownedBy("one", forged)
	w.gone(cm) // by the garbage collector, because its owner never existed
	w.stays(2*time.Second, job)
}

// TestTenantGainsNothingByNamingAnOwner: a tenant sets different owners on its own object.
func TestTenantGainsNothingByNamingAnOwner(t *testing.T) {
	newEnv(t).sunset()
	reference := func(object client.Object, apiVersion, kind string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: object.GetName(), UID: object.GetUID(), Controller: ptr.To(true)}
	}
	onJobs := func(verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: verbs}
	}
	finishedJob := func(w *env) (client.Object, string, string) { return w.finishedJob("job"), "batch/v1", "Job" }
	team := func(w *env, more string) {
		p := w.team("own", strings.TrimSuffix(fmt.Sprintf(teamRules, "ConfigMap"), "\n")+"\n  delete: {target: Owner"+more+"}\n")
		w.teamStatus(p, isKnown)
	}
	ofCluster := func(w *env, more string) {
		w.status(w.policy("previews", fmt.Sprintf(withOwner, "Enforce", more)), isKnown)
	}
	everything := onConfigMaps("*")
	for name, test := range map[string]struct {
		owner       func(*env) (client.Object, string, string)
		permissions []rbacv1.PolicyRule
		policy      func(*env)
		goes        bool
	}{
		"with every permission": {finishedJob, []rbacv1.PolicyRule{everything, onJobs("get", "delete")}, func(w *env) { team(w, "") }, true},
		"an owner that the account may not delete": {finishedJob, []rbacv1.PolicyRule{everything, onJobs("get")},
			func(w *env) { team(w, "") }, false},
		"an owner that the account may not get": {finishedJob, []rbacv1.PolicyRule{everything, onJobs("delete")},
			func(w *env) { team(w, "") }, false},
		"an owner that never finishes": {func(w *env) (client.Object, string, string) {
			return w.configMap("victim", nil), "v1", "ConfigMap"
		}, []rbacv1.PolicyRule{everything}, func(w *env) { team(w, "") }, false},
		"a running workload, by a rule of the cluster": {func(w *env) (client.Object, string, string) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
			labels := map[string]string{"app": "web"}
			d.Spec.Replicas, d.Spec.Selector = ptr.To[int32](0), &metav1.LabelSelector{MatchLabels: labels}
			d.Spec.Template.Labels, d.Spec.Template.Spec.Containers = labels, []corev1.Container{{Name: "main", Image: "busybox"}}
			w.create(d)
			return d, "apps/v1", "Deployment"
		}, nil, func(w *env) { ofCluster(w, "") }, false},
		"a Role, which is protected": {func(w *env) (client.Object, string, string) {
			role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "victim"}}
			w.create(role)
			return role, "rbac.authorization.k8s.io/v1", "Role"
		}, nil, func(w *env) { ofCluster(w, andUnfinished) }, false},
		"a cluster-scoped owner, by a rule of the cluster": {func(w *env) (client.Object, string, string) {
			return clusterScoped(w), "scheduling.k8s.io/v1", "PriorityClass"
		}, nil, func(w *env) { ofCluster(w, andUnfinished) }, false},
		"a cluster-scoped owner, by a rule of the team": {func(w *env) (client.Object, string, string) {
			return clusterScoped(w), "scheduling.k8s.io/v1", "PriorityClass"
		}, []rbacv1.PolicyRule{everything, {APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
			func(w *env) { team(w, andUnfinished) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t)
			w.account("cleaner", test.permissions...)
			owner, apiVersion, kind := test.owner(w)
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: w.namespace, Name: "forged", Labels: preview, OwnerReferences: []metav1.OwnerReference{reference(owner, apiVersion, kind)},
			}}
			w.create(cm)
			test.policy(w)
			if test.goes {
				w.gone(owner, cm)
				return
			}
			w.stays(4*time.Second, owner, cm)
		})
	}
}

// clusterScoped creates a cluster-scoped object.
func clusterScoped(w *env) client.Object {
	w.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Value: 1}
	w.temporary(class)
	return class
}
