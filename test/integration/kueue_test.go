// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestKueue checks what Sunset does with the Workloads of a real Kueue, which runs for these tests only.
func TestKueue(t *testing.T) {
	newEnv(t).startKueue()
	t.Run("finished Workloads are deleted on time, and their Jobs stay", finishedWorkloadsGo)
	t.Run("Workloads deactivated by Kueue are deleted by reason, those deactivated by users stay", deactivatedWorkloadsGo)
	t.Run("priority and namespace determine the TTL", priorityAndNamespaceDecide)
	t.Run("a reactivated Workload stays", reactivatedWorkloadStays)
}

// finishedWorkloads sets the TTL of finished Workloads for each queue. It has no rule for the queue "kept".
const finishedWorkloads = `
mode: Enforce
rules:
- name: later
  target: {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload}
  eligible: finished(object) && object.spec.queueName == 'later'
  startTime: finishedAt(object)
  ttl: 1h
- name: at-once
  target: {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload}
  eligible: finished(object) && object.spec.queueName == 'at-once'
  startTime: finishedAt(object)
  ttl: 0s
`

func finishedWorkloadsGo(t *testing.T) {
	w := newEnv(t)
	g := proxy.New(t, w.byTheKueuePage())
	w.sunset(func(c *manager.Config) { c.Rest = g.Config() })
	writes := recorded(g, w.ofWorkloads)
	w.queues("", "later", "at-once", "kept")
	p := w.policy("finished", finishedWorkloads)
	later := w.queued("later", "later", cluster.Succeeded)
	failed := w.queued("later", "failed", cluster.Failed)
	atOnce := w.queued("at-once", "at-once", cluster.Succeeded)
	kept := w.queued("kept", "kept", cluster.Succeeded)
	runs := w.queued("at-once", "runs", cluster.Endless)

	running := w.workload(runs, is("Admitted"))
	stays := w.workload(kept, is("Finished", "Succeeded"))
	ended := map[*unstructured.Unstructured]time.Time{}
	for job, reason := range map[*batchv1.Job]string{later: "Succeeded", failed: "Failed"} {
		workload := w.workload(job, is("Finished", reason))
		ended[workload] = since(t, workload, "Finished")
	}
	w.finished(atOnce)
	cluster.Eventually(t, patience, func() error { return w.none(atOnce) })
	ttl := inSeconds(slices.MinFunc(slices.Collect(maps.Values(ended)), time.Time.Compare))
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[0].TTL = ttl.String() })
	for workload, at := range ended {
		w.gone(workload)
		if early := time.Until(at.Add(ttl)); early > 0 {
			t.Errorf("%s was deleted %s before it was due", workload.GetName(), early)
		}
	}

	w.stays(2*time.Second, running, stays, later, failed, atOnce, kept, runs)
	for _, job := range []*batchv1.Job{later, failed, atOnce} {
		if err := w.none(job); err != nil {
			t.Errorf("Kueue has created another Workload: %v", err)
		}
		if len(job.Finalizers) > 0 {
			t.Errorf("Job %s was changed: finalizers %v", job.Name, job.Finalizers)
		}
	}
	onlyDeletesWithPreconditions(t, writes(), 3+conflicts(g)) // Kueue removes its finalizer at the same time
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Deleted == 3 && s.Errors == 0, "wrong counts")
	})
}

// inSeconds is a TTL for an object with this start time that ends in a few seconds. So nothing is due yet, even if a busy
// machine took long to get here.
func inSeconds(from time.Time) time.Duration {
	return time.Since(from).Truncate(time.Second) + 4*time.Second
}

// ofWorkloads matches requests that change Workloads of the test.
func (w *env) ofWorkloads(r *http.Request) bool {
	return r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/"+w.namespace+"/workloads")
}

// none returns an error while Kueue has a Workload for a Job.
func (w *env) none(job *batchv1.Job) error {
	all, err := w.workloads(job)
	if err == nil && len(all) > 0 {
		err = fmt.Errorf("Job %s has Workload %s", job.Name, all[0].GetName())
	}
	return err
}

// onlyDeletesWithPreconditions checks all writes of Sunset to Workloads: it must not change their finalizers, their status or their
// spec.
func onlyDeletesWithPreconditions(t *testing.T, writes []string, want int) {
	t.Helper()
	for _, request := range writes {
		if err := contains(request, http.MethodDelete+" ", `"preconditions":{"uid":"`, `"resourceVersion":"`, `"propagationPolicy":"Background"`); err != nil {
			t.Error(err)
		}
	}
	if len(writes) != want {
		t.Errorf("%d writes, want %d: %v", len(writes), want, writes)
	}
}

// deactivatedWorkloads selects the Workloads of Kueue's afterDeactivatedByKueue (0.16.2,
// shouldHandleDeletionOfDeactivatedWorkload): spec.active is false, and the condition Evicted is True with a reason that
// begins with DeactivatedDueTo. The rest of the reason is the cause:
//
//   - RequeuingLimitExceeded: its Pods missed the ready timeout as often as the configuration allows;
//   - MaximumExecutionTimeExceeded: it ran for longer than spec.maximumExecutionTimeSeconds;
//   - AdmissionCheck: a check said Rejected;
//   - EvictedOnManagerCluster: in a worker cluster of MultiKueue.
//
// A user who sets spec.active to false causes the reason Deactivated, without a cause. The condition DeactivationTarget is
// ignored: Kueue usually removes it after acting on it, but not always. Kueue starts its duration at the same time, the
// last transition of Evicted, but has one duration for all causes.
const deactivatedWorkloads = `
mode: Enforce
variables:
- name: evicted
  expression: "object.?status.?conditions.orValue([]).filter(c, c.type == 'Evicted' && c.status == 'True')"
- name: cause
  expression: "variables.evicted.size() == 1 ? variables.evicted[0].reason : ''"
rules:
- name: deactivated
  target: {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload}
  eligible: "!object.spec.?active.orValue(true) && !finished(object) && variables.cause.startsWith('DeactivatedDueTo')"
  startTime: conditionTime(object, 'Evicted')
  ttlExpression: "variables.cause.endsWith('MaximumExecutionTimeExceeded') ? days(1) : variables.cause.endsWith('AdmissionCheck') ? duration('%s') : duration('0s')"
`

func deactivatedWorkloadsGo(t *testing.T) {
	w, g := behindProxy(t)
	writes := recorded(g, w.ofWorkloads)
	w.queues(w.admissionCheck(), "checked")
	w.queues("", "plain")
	p := w.policy("deactivated", fmt.Sprintf(deactivatedWorkloads, "1h"))
	unready := w.queued("plain", "unready", cluster.Endless, func(j *batchv1.Job) { j.Spec.Template.Spec.NodeName = "not-there" })
	slow := w.queued("plain", "slow", cluster.Endless, labelled("kueue.x-k8s.io/max-exec-time-seconds", "1"))
	ofUser := w.queued("plain", "of-user", cluster.Endless)
	refused := w.queued("checked", "refused", cluster.Endless)
	first := w.workload(unready, is("Admitted"))

	rejected := w.workload(refused, is("QuotaReserved"))
	w.reject(rejected)
	rejected = w.workload(refused, is("Evicted", "DeactivatedDueToAdmissionCheck"))
	evicted := since(t, rejected, "Evicted")
	users := w.workload(ofUser, is("Admitted"))
	w.activate(users, false)
	users = w.workload(ofUser, is("Evicted", "Deactivated"))
	tooLong := w.workload(slow, is("Evicted", "DeactivatedDueToMaximumExecutionTimeExceeded"))

	ttl := inSeconds(evicted)
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) {
		s.Rules[0].TTLExpression = strings.Replace(s.Rules[0].TTLExpression, "1h", ttl.String(), 1)
	})
	w.replaced(rejected)
	if early := time.Until(evicted.Add(ttl)); early > 0 {
		t.Errorf("deleted %s before it was due", early)
	}
	w.replaced(first)

	// The Jobs still exist and are not finished, so Kueue queues them again. The new Workloads have the same names and
	// other UIDs.
	again := w.workload(unready, is("Admitted"), first)
	w.activate(again, false)
	waits := w.workload(refused, is("QuotaReserved"), rejected)

	w.stays(time.Second, users, tooLong, again, waits, unready, slow, ofUser, refused)
	onlyDeletesWithPreconditions(t, writes(), 2+conflicts(g))
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Deleted == 2 && s.Errors == 0 && s.Due.Day == 1, "wrong counts")
	})
}

// byPriority keeps important Workloads longer.
const byPriority = `
mode: Enforce
namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [%s, %s]}]}
rules:
- name: finished
  target: {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttlExpression: "object.spec.?priority.orValue(0) >= 1000 ? days(30) : duration('1s')"
`

func priorityAndNamespaceDecide(t *testing.T) {
	here, there, elsewhere := newEnv(t), newEnv(t), newEnv(t)
	here.sunset()
	here.kueueObject(`{kind: WorkloadPriorityClass, metadata: {name: %[1]s}, value: 1000}`)
	there.team("longer", "overrides: [{policy: "+here.namespace+"-by-priority, ttl: 1h}]")
	here.policy("by-priority", fmt.Sprintf(byPriority, here.namespace, there.namespace))
	important := labelled("kueue.x-k8s.io/priority-class", here.namespace)
	var plain []*batchv1.Job
	for _, w := range []*env{here, there, elsewhere} {
		w.queues("", "lq")
		plain = append(plain, w.queued("lq", "plain", cluster.Succeeded))
	}
	dear := here.workload(here.queued("lq", "important", cluster.Succeeded, important), is("Finished"))
	longer := there.workload(plain[1], is("Finished"))
	alone := elsewhere.workload(plain[2], is("Finished"))
	here.finished(plain[0])
	cluster.Eventually(t, patience, func() error { return here.none(plain[0]) })
	here.stays(2*time.Second, dear, longer, alone) // a second after the default TTL
}

// reactivatedWorkloadStays activates a Workload again after Sunset has decided to delete it: the precondition of the DELETE
// names the earlier version.
func reactivatedWorkloadStays(t *testing.T) {
	w, g := behindProxy(t)
	held := catchOne(g, func(r *http.Request) bool { return r.Method == http.MethodDelete && w.ofWorkloads(r) })
	w.queues(w.admissionCheck(), "checked")
	w.policy("deactivated", fmt.Sprintf(deactivatedWorkloads, "0s"))
	job := w.queued("checked", "refused", cluster.Endless)
	w.reject(w.workload(job, is("QuotaReserved")))
	workload := w.workload(job, is("Evicted", "DeactivatedDueToAdmissionCheck"))
	select {
	case <-held.Arrived():
	case <-time.After(patience):
		t.Fatal("no DELETE came")
	}
	w.activate(workload, true)
	held.Release()
	w.stays(2*time.Second, workload, job)
	expectRefused(t, g)
}
