package faults_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scene"
)

// A rule asks of large ConfigMaps, which change all the time, what takes seconds for each. They stay, and the policy says how many and
// why; other ConfigMaps, which come by the same watch, are on time, and so are Jobs.
func TestF30ExpressionsThatTakeForEver(t *testing.T) {
	scene.Long(t)
	s := scene.New(t, scene.Options{})
	const bombs, promptly = 12, 10 * time.Second
	large := map[string]string{}
	for i := range 4000 {
		large[fmt.Sprintf("key-%d", i)] = "x"
	}
	var stay []client.Object
	for i := range bombs {
		stay = append(stay, s.ConfigMap(fmt.Sprintf("bomb-%d", i), map[string]string{"env": "bomb"}, func(c *corev1.ConfigMap) { c.Data = large }))
	}
	pair(s, scene.Start{})
	p := s.Policy("bombs", `
mode: Enforce
rules:
- name: bombs
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: bomb}}}
  eligible: object.data.all(a, object.data.all(b, a.size() + b.size() > 0))
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`)
	s.Policy("previews", previews(v1alpha1.Enforce, "2s"))
	s.Policy("jobs", `
mode: Enforce
rules:
- name: finished
  target: {apiVersion: batch/v1, kind: Job}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttl: 2s
`)
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		if len(status.Rules) != 1 || status.Rules[0].Errors != bombs {
			return fmt.Errorf("status has %+v", status.Rules)
		}
		return nil
	})
	latest := time.Duration(0)
	for round := range 5 {
		for _, bomb := range stay {
			s.Touch(bomb)
		}
		cm, job := s.ConfigMap(fmt.Sprintf("preview-%d", round), preview), s.FinishedJob(fmt.Sprintf("job-%d", round))
		due := job.Status.CompletionTime.Add(2 * time.Second) // the other is due before
		s.Gone(cm, job)
		latest = max(latest, time.Since(due))
	}
	t.Logf("the latest was seen to be gone %s after it was due, by times in whole seconds", latest.Round(time.Millisecond))
	if latest > promptly {
		t.Errorf("others were %s late", latest)
	}
	s.Stays(5*time.Second, stay...)
	s.Calm()
}
