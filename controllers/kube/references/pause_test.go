// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"errors"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestPauseIsNoDoubt: a pause changes only the result of Paused.
func TestPauseIsNoDoubt(t *testing.T) {
	x := references.New(clocktesting.NewFakePassiveClock(start))
	x.Expect("Pod", configMap, secret)
	x.Expect("Ingress", secret)
	x.Pause("Pod")
	if err := x.Paused(configMap); err != nil {
		t.Errorf("a source in doubt is paused: %v", err)
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
		{"the pause continues after a listing", func() {}, true, true},
		{"the pause ends", func() { x.Resume("Pod") }, false, false},
		{"pause of a source of Secrets", func() { x.Pause("Ingress") }, false, true},
		{"the paused source is removed", func() { x.Forget("Ingress") }, false, false},
		{"pause of an unknown source", func() { x.Pause("Ingress") }, false, false},
	} {
		step.do()
		expect.Equal(t, step.when+": ConfigMaps are paused", step.configMap, x.Paused(configMap) != nil)
		expect.Equal(t, step.when+": Secrets are paused", step.secret, x.Paused(secret) != nil)
		if got := x.Of(targets[0]); got != before {
			t.Errorf("%s: %v, was %v", step.when, got, before)
		}
		if whole := x.Take().Whole; step.when != "the paused source is removed" && len(whole) > 0 {
			t.Errorf("%s: changed kinds %v, want none", step.when, whole)
		}
	}
	x.Pause("Pod")
	x.Lose("Pod", errors.New("no permission to list"))
	if err := x.Paused(configMap); err != nil {
		t.Errorf("a lost source is paused: %v", err)
	}
}
