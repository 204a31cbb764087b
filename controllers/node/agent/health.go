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

// runtimeSight reports the state of the container runtime.
type runtimeSight interface {
	Unreachable() time.Duration
	Trouble() error
}

// alive returns a check that fails once the runtime has been unreachable for longer than mostUnreachable.
func alive(node runtimeSight) healthz.Checker {
	return func(*http.Request) error {
		if gone := node.Unreachable(); gone > mostUnreachable {
			return fmt.Errorf("the container runtime has not answered for %s: %w", gone.Round(time.Second), node.Trouble())
		}
		return nil
	}
}

// ready returns a check that fails until the agent has read the rules once, and while the runtime does not answer. If the API
// server is unreachable the agent keeps all images, but stays ready.
func ready(node runtimeSight, told func() bool) healthz.Checker {
	return func(*http.Request) error {
		if !told() {
			return errNoRules
		}
		if trouble := node.Trouble(); trouble != nil && !errors.Is(trouble, images.ErrPods) {
			return trouble
		}
		return nil
	}
}

// addHealth adds the liveness and readiness checks of the agent to the manager.
func addHealth(mgr manager.Manager, node runtimeSight, rules *rules, pulses ...*liveness.Heartbeat) error {
	if err := mgr.AddReadyzCheck("sunset", ready(node, rules.Told)); err != nil {
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
