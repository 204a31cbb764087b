package references_test

import (
	"errors"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestAPauseIsNoDoubt: nothing changes but that what is known may be out of date.
func TestAPauseIsNoDoubt(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("Pod", configMap, secret)
	x.Expect("Ingress", secret)
	x.Pause("Pod")
	if err := x.Paused(configMap); err != nil {
		t.Errorf("what is not known is paused: %v", err)
	}
	x.Replace("Pod", nil)
	x.Replace("Ingress", nil)
	x.Take()
	before := x.Of(targets[0])
	for _, step := range []struct {
		when              string
		do                func()
		configMap, secret bool
	}{
		{"a pause outlives a listing", func() {}, true, true},
		{"the pause is over", func() { x.Resume("Pod") }, false, false},
		{"of Secrets alone", func() { x.Pause("Ingress") }, false, true},
		{"of a source that is no more", func() { x.Forget("Ingress") }, false, false},
		{"of one that is unknown", func() { x.Pause("Ingress") }, false, false},
	} {
		step.do()
		expect.Equal(t, step.when+": ConfigMaps are paused", step.configMap, x.Paused(configMap) != nil)
		expect.Equal(t, step.when+": Secrets are paused", step.secret, x.Paused(secret) != nil)
		if got := x.Of(targets[0]); got != before {
			t.Errorf("%s: %v, was %v", step.when, got, before)
		}
		if whole := x.Take().Whole; step.when != "of a source that is no more" && len(whole) > 0 {
			t.Errorf("%s: %v have changed", step.when, whole)
		}
	}
	x.Pause("Pod")
	x.Lose("Pod", errors.New("no right to list"))
	if err := x.Paused(configMap); err != nil {
		t.Errorf("what is in doubt is paused: %v", err)
	}
}
