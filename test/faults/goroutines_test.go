// SPDX-License-Identifier: Apache-2.0

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
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// ofSunset matches the stacks of goroutines that a controller or its libraries have started.
var ofSunset = regexp.MustCompile(`sunset-k8s/sunset/(controllers|engine|policy)[./]|sigs\.k8s\.io/controller-runtime/pkg/(manager|cache|controller|internal)|k8s\.io/client-go/tools/`)

// TestControllerLeavesNoGoroutines starts and stops a controller in this process five times, each time with work to do:
// watches, references, marks, a ledger. After each round there are as many goroutines as before, which is none.
func TestControllerLeavesNoGoroutines(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Alone: true, Unchecked: "the controller is not a replica: it acts as an administrator"})
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
		expect.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- mgr.Start(ctx) }()
		s.Gone(s.ConfigMap(fmt.Sprint("round-", round), preview))
		if during := goroutines(t); len(during) == 0 {
			t.Error("a running controller has no goroutines")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		cluster.Eventually(t, scenario.Patience(), func() error {
			if left := goroutines(t); len(left) > len(before) {
				return fmt.Errorf("%d goroutines are left after round %d: %w", len(left), round, errors.New(strings.Join(left, "\n\n")))
			}
			return nil
		})
	}
	t.Logf("%d before, %d after five rounds; %d in total", len(before), len(goroutines(t)), pprof.Lookup("goroutine").Count())
}

// goroutines returns the stacks of Sunset's goroutines.
func goroutines(t *testing.T) (stacks []string) {
	t.Helper()
	var text strings.Builder
	expect.NoError(t, pprof.Lookup("goroutine").WriteTo(&text, 2))
	for stack := range strings.SplitSeq(text.String(), "\n\n") {
		if ofSunset.MatchString(stack) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
