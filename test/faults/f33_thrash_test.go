// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// hungry deletes every Pod of an application, running or not.
const hungry = `
mode: Enforce
limits: {maxDeletions: 20, window: 1h}
rules:
- name: pods
  target: {apiVersion: v1, kind: Pod, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// TestF33AControllerRecreatesDeletedObjects deletes the Pods of a Deployment, which recreates them immediately. Limits bound
// the number of deletions, and other policies are not delayed.
func TestF33AControllerRecreatesDeletedObjects(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Nodes: true})
	web(s, 3)
	p := s.Policy("others", labelled("other", "Enforce", "0s"))
	r := s.Sunset(scenario.Start{})
	counted(s, p, 0)
	longest := func(name string) (took time.Duration) {
		for i := range 5 {
			cm := s.ConfigMap(fmt.Sprint(name, "-", i), map[string]string{"env": "other"})
			began := time.Now()
			s.Gone(cm)
			took = max(took, time.Since(began))
		}
		return took
	}
	usually := longest("before")
	thrashing := s.Policy("hungry", hungry)
	if took := longest("beside"); took > 5*time.Second+10*usually { // a busy machine is slow without it, too
		t.Errorf("a ConfigMap of another policy was deleted after %s, but after %s without this policy", took, usually)
	}
	tells(s, thrashing, v1alpha1.ConditionEnforcing, "LimitReached")
	byLedger(s, thrashing, 20)
	var survivors []client.Object
	s.Eventually(func() (err error) {
		survivors, err = running(s, 3)
		return err
	})
	s.Stays(3*time.Second, survivors...)
	s.Logf("%d DELETEs in total", len(r.Deletes()))
	s.Calm()
}
