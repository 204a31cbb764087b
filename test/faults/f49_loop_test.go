// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// TestF49ALoopEnds recreates a ConfigMap under its name as fast as Sunset deletes it. Sunset deletes it three times and then
// keeps it, and the policy has the condition Recreated. Sunset deletes objects with other names as before, and the Pods that
// a ReplicaSet recreates.
func TestF49ALoopEnds(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Nodes: true})
	p := s.Policy("loop", labelled("loop", "Enforce", "0s"))
	pods := s.Policy("hungry", hungry)
	s.Sunset(scenario.Start{})
	enforcing(s, p)

	created := 0
	create := func() *corev1.ConfigMap {
		created++
		return s.ConfigMap("again", map[string]string{"env": "loop"})
	}
	last := create()
	for quiet := time.Now(); time.Since(quiet) < 5*time.Second && created <= 10; time.Sleep(20 * time.Millisecond) {
		switch err := s.Get(s.Context(), client.ObjectKeyFromObject(last), &corev1.ConfigMap{}); {
		case apierrors.IsNotFound(err):
			last, quiet = create(), time.Now()
		case err != nil:
			t.Fatal(err)
		}
	}
	if created != 4 {
		t.Errorf("the loop continued: %d objects of one name were deleted, want 3", created-1)
	}
	recreated := func(p *v1alpha1.ClusterRetentionPolicy, want metav1.ConditionStatus) {
		s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
			c := scenario.Condition(status, v1alpha1.ConditionRecreated)
			return cluster.Want(c.Status == want, "Recreated is %s", c.Status)
		})
	}
	recreated(p, metav1.ConditionTrue)
	for i := range 5 {
		s.Gone(s.ConfigMap(fmt.Sprint("other-", i), map[string]string{"env": "loop"}))
	}
	web(s, 2)
	byLedger(s, pods, 20)
	recreated(pods, metav1.ConditionUnknown)
	s.Stays(time.Second, last)

	s.Remove(last) // by a user: the count starts again
	s.Eventually(func() error {
		return cluster.Want(s.Left(&corev1.ConfigMapList{}, map[string]string{"env": "loop"}) == 0, "the ConfigMap still exists")
	})
	s.Gone(create())
	recreated(p, metav1.ConditionUnknown)
	s.Calm()
}
