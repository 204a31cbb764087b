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

// mostUnreachable is how long a runtime may be out of reach before it is for the kubelet to start the agent again: a socket that
// is mounted by itself is that of the runtime before, once that was started again.
const mostUnreachable = 2 * time.Minute

// runtimeSight is what is known of the container runtime.
type runtimeSight interface {
	Unreachable() time.Duration
	Trouble() error
}

// alive fails once the runtime has been out of reach for long.
func alive(node runtimeSight) healthz.Checker {
	return func(*http.Request) error {
		if gone := node.Unreachable(); gone > mostUnreachable {
			return fmt.Errorf("the container runtime has not answered for %s: %w", gone.Round(time.Second), node.Trouble())
		}
		return nil
	}
}

// ready fails until the rules have been read once, and while the runtime does not answer. An API server that is away keeps
// images, and is no reason to take an agent for one that does not work.
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

// addHealth makes a manager answer whether the agent lives, and does its part.
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
