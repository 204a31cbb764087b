// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images"
)

// fakeRuntimeState is a runtime with a time for which it has been unreachable, and an error.
type fakeRuntimeState struct {
	away    time.Duration
	trouble error
}

func (s fakeRuntimeState) Unreachable() time.Duration { return s.away }
func (s fakeRuntimeState) LastError() error           { return s.trouble }

func TestHealth(t *testing.T) {
	gone, pods := errors.New("no socket"), fmt.Errorf("%w: timeout", images.ErrPods)
	for name, test := range map[string]struct {
		node         fakeRuntimeState
		told, report bool
		alive, ready bool
	}{
		"no error":                                {fakeRuntimeState{}, true, true, true, true},
		"the rules have not been read":            {fakeRuntimeState{}, false, true, true, false},
		"the runtime is unreachable":              {fakeRuntimeState{time.Second, gone}, true, true, true, false},
		"the report cannot be created":            {fakeRuntimeState{}, true, false, true, false},
		"the runtime is unreachable for too long": {fakeRuntimeState{mostUnreachable + time.Second, gone}, true, true, false, false},
		"the API server is unreachable":           {fakeRuntimeState{0, pods}, true, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := alive(test.node)(nil); (err == nil) != test.alive {
				t.Errorf("alive: %v", err)
			}
			if err := ready(test.node, func() bool { return test.told }, func() bool { return test.report })(nil); (err == nil) != test.ready {
				t.Errorf("ready: %v", err)
			}
		})
	}
}
