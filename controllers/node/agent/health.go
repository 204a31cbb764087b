// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/process/liveness"
)

// mostUnreachable is how long the runtime may be unreachable before the kubelet restarts the agent. If the socket is mounted as
// a single file and the runtime restarts, the mount still refers to the old socket.
const mostUnreachable = 2 * time.Minute

// runtimeState reports the state of the container runtime.
type runtimeState interface {
	Unreachable() time.Duration
	LastError() error
}

// alive returns a check that fails once the runtime has been unreachable for longer than mostUnreachable.
func alive(node runtimeState) healthz.Checker {
	return func(*http.Request) error {
		if gone := node.Unreachable(); gone > mostUnreachable {
			return fmt.Errorf("the container runtime has been unreachable for %s: %w", gone.Round(time.Second), node.LastError())
		}
		return nil
	}
}

var errNoReport = errors.New("the agent has neither read nor created its NodeImageReport yet; the log of the agent says why")

// ready returns a check that fails until the agent has read the rules once and has a report, and while the runtime does not
// answer. If the API server is unreachable afterwards the agent keeps all images, but stays ready.
func ready(node runtimeState, isRead, hasReport func() bool) healthz.Checker {
	return func(*http.Request) error {
		if !isRead() {
			return errNoRules
		}
		if !hasReport() {
			return errNoReport
		}
		if err := node.LastError(); err != nil && !errors.Is(err, images.ErrPods) {
			return err
		}
		return nil
	}
}

// addHealth adds the liveness and readiness checks of the agent to the manager.
func addHealth(mgr manager.Manager, node runtimeState, rules *rules, reporter *reporter, pulses ...*liveness.Heartbeat) error {
	if err := mgr.AddReadyzCheck("sunset", ready(node, rules.IsRead, reporter.hasBegun)); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("runtime", alive(node)); err != nil {
		return err
	}
	for _, p := range pulses {
		if err := mgr.AddHealthzCheck(p.Name(), p.Check); err != nil {
			return err
		}
	}
	return nil
}
