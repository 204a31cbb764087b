package faults_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scene"
)

// ofSunset is in the stack of goroutines that a controller has begun, by itself or through what it is made of.
var ofSunset = regexp.MustCompile(`sunset-k8s/sunset/(controllers|engine|policy)[./]|sigs\.k8s\.io/controller-runtime/pkg/(manager|cache|controller|internal)|k8s\.io/client-go/tools/`)

// A controller that runs in this process, not in one of its own, begins and ends five times, each time with work to do: watches,
// references, marks, a ledger. Each time it leaves as many goroutines as before, which is none.
func TestAControllerLeavesNoGoroutines(t *testing.T) {
	scene.Long(t)
	s := scene.New(t, scene.Options{Alone: true, Unjudged: "the controller is no replica: it acts as an administrator"})
	s.Policy("previews", previews("Enforce", "0s")+limited(500))
	s.Policy("unused", `
mode: Enforce
rules:
- name: unused
  target: {apiVersion: v1, kind: Secret, selector: {matchLabels: {kind: unused}}}
  eligible: references.count == 0
  ttl: 1h
`)
	before := goroutines(t)
	for round := range 5 {
		ctx, cancel := context.WithCancel(context.Background())
		mgr, err := manager.NewManager(manager.Config{
			Rest: s.Cluster.Config(), Clock: clock.RealClock{}, Protection: policy.DefaultProtection(), Namespace: s.Home,
			Identity: fmt.Sprint("in-process-", round), Election: manager.Election{Enabled: true}, MetricsAddress: "0", ProbeAddress: "0",
		})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- mgr.Start(ctx) }()
		s.Gone(s.ConfigMap(fmt.Sprint("round-", round), preview))
		if during := goroutines(t); len(during) == 0 {
			t.Error("nothing is seen of a controller that runs")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		cluster.Eventually(t, scene.Patience(), func() error {
			if left := goroutines(t); len(left) > len(before) {
				return fmt.Errorf("%d goroutines are left after round %d: %w", len(left), round, errors.New(strings.Join(left, "\n\n")))
			}
			return nil
		})
	}
	t.Logf("%d before, %d after five rounds; %d of anybody", len(before), len(goroutines(t)), pprof.Lookup("goroutine").Count())
}

// goroutines are the stacks of those of Sunset.
func goroutines(t *testing.T) (stacks []string) {
	t.Helper()
	var text strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&text, 2); err != nil {
		t.Fatal(err)
	}
	for stack := range strings.SplitSeq(text.String(), "\n\n") {
		if ofSunset.MatchString(stack) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
