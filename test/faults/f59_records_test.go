// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
	"github.com/sunset-k8s/sunset/test/stores"
)

// completeRecords archives finished Jobs with all that a record can have, and redacts the environment of their containers.
const completeRecords = `
mode: Enforce
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job, selector: {matchLabels: {env: preview}}}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttl: 0s
  archive:
    to: %s
    dependents: [Pod]
    events: true
    logs: {tailBytes: 64, required: true}
    redact: ["spec.template.spec.containers[*].env[*].value", "spec.containers[*].env[*].value", "metadata.annotations['example.com/token']"]
`

// TestF59RecordsAreComplete archives Jobs with their Pods, Events and logs while these cannot be read, and while the leader is killed. The
// check at the end compares each record with what existed.
func TestF59RecordsAreComplete(t *testing.T) {
	t.Parallel()
	unavailable := &proxy.Answer{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}
	answering := func(verb, resource string) proxy.Fault {
		return proxy.Fault{Match: proxy.Requests(verb, resource), Answer: unavailable}
	}
	for name, fault := range map[string]proxy.Fault{
		"Pods cannot be listed":    answering("list", "pods"),
		"answers with Pods end":    {Match: proxy.Requests("list", "pods"), Rewrite: func(body []byte) []byte { return body[:len(body)/2] }},
		"Events cannot be listed":  answering("list", "events"),
		"a log cannot be read":     answering("get", "pods/log"),
		"the leader is killed too": {},
	} {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			s := scenario.New(t, scenario.Options{Nodes: true})
			a := s.Archive("history")
			var armed []*proxy.Armed
			leads, _ := pair(s, scenario.Start{Failover: true, Before: func(r *scenario.Replica) {
				if fault.Match != nil {
					armed = append(armed, r.Proxy.Arm(fault)) // before Logs, which would answer first
				}
				s.Logs(r)
			}})
			p := s.Policy("complete", fmt.Sprintf(completeRecords, a.Name))
			jobs := finishedWithPods(s, 4)
			if fault.Match == nil {
				a.Expect(s, a.Proxy.Arm(stores.Writes("/segments/"), killing(leads, true)))
			}
			for _, job := range jobs {
				s.Change(job, func() { job.Labels["env"] = "preview" })
			}
			if fault.Match != nil {
				s.Eventually(func() error {
					return cluster.Want(armed[0].Fired()+armed[1].Fired() > 0, "no request matched")
				})
				s.Stays(4*time.Second, jobs[0], jobs[3])
			}
			for _, one := range armed {
				one.Lift()
			}
			byLedger(s, p, int64(len(jobs)))
			s.Calm()
		})
	}
}

// finishedWithPods creates Jobs that have finished, each with two Pods that have logged something, and Events about both. No rule selects
// them yet.
func finishedWithPods(s *scenario.Scenario, n int) (jobs []*batchv1.Job) {
	s.Helper()
	for i := range n {
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("job-", i), Labels: map[string]string{"env": "later"}, Annotations: map[string]string{
				"example.com/token": "s3cr3t", corev1.LastAppliedConfigAnnotation: "s3cr3t",
			}},
			Spec: batchv1.JobSpec{Parallelism: ptr.To[int32](2), Completions: ptr.To[int32](2), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, NodeName: cluster.NodeName(0),
				Containers: []corev1.Container{{Name: "main", Image: "busybox", Env: []corev1.EnvVar{{Name: "TOKEN", Value: "s3cr3t"}}}},
			}}},
		}
		cluster.SetFate(&job.Spec.Template, cluster.Succeeded, 0)
		s.MustCreate(job)
		jobs = append(jobs, job)
	}
	for i, job := range jobs {
		s.Eventually(func() error {
			err := s.Get(s.Context(), client.ObjectKeyFromObject(job), job)
			return cluster.Want(err == nil && job.Status.CompletionTime != nil, "Job %s has not finished: %v", job.Name, err)
		})
		pods := &corev1.PodList{}
		expect.NoError(s, s.List(s.Context(), pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}))
		expect.Equal(s, "Pods of "+job.Name, 2, len(pods.Items))
		eventAbout(s, job.Name, corev1.ObjectReference{Kind: "Job", Namespace: job.Namespace, Name: job.Name, UID: job.UID})
		for k := range pods.Items {
			pod := &pods.Items[k]
			s.Logged(pod, "main", strings.Repeat(fmt.Sprintf("line of Job %d\n", i), 2+8*k)) // shorter and longer than the archive keeps
			eventAbout(s, pod.Name, corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID})
		}
	}
	return jobs
}

func eventAbout(s *scenario.Scenario, name string, object corev1.ObjectReference) {
	s.Helper()
	s.MustCreate(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name}, InvolvedObject: object, Reason: "Tested", Type: corev1.EventTypeNormal})
}
