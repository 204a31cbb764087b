// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

const jobsRule = `
mode: %s
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttlExpression: "failed(object) ? duration('1h') : duration('2h')"
`

func TestFinishedJobsGoOnTimeWithTheirPods(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("jobs", fmt.Sprintf(jobsRule, "Enforce"))
	succeeds := w.job("succeeds", cluster.Succeeded, 0)
	fails := w.job("fails", cluster.Failed, 0)
	runs := w.job("runs", cluster.Endless, 0)
	finished := w.finished(succeeds)
	w.finished(fails)
	ttl := inSeconds(finished)
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) {
		s.Rules[0].TTLExpression = strings.Replace(s.Rules[0].TTLExpression, "2h", ttl.String(), 1)
	})
	due := finished.Add(ttl)

	w.gone(succeeds)
	if early := time.Until(due); early > 0 {
		t.Errorf("deleted %s before it was due", early)
	}
	cluster.Eventually(t, patience, func() error {
		pods := &corev1.PodList{}
		if err := w.List(t.Context(), pods, client.InNamespace(w.namespace), client.MatchingLabels{"job-name": "succeeds"}); err != nil {
			return err
		}
		return cluster.Want(len(pods.Items) == 0, "its Pods still exist")
	})
	w.stays(time.Second, fails, runs)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		switch {
		case s.Deleted != 1, s.Matched != 2, s.Eligible != 1, s.Due.Now != 0, s.Due.Hour != 1:
			return errors.New("wrong counts")
		case w.condition(s, v1alpha1.ConditionReady).Status != metav1.ConditionTrue:
			return errors.New("not ready")
		}
		return nil
	})
}
