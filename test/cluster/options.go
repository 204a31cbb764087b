// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"os"
	"slices"
)

// DefaultControllers returns the controllers that run when Options.Controllers
// is nil. The slice is the caller's, so a test may append to it.
func DefaultControllers() []string {
	return []string{"clusterrole-aggregation-controller", "cronjob-controller", "garbage-collector-controller", "job-controller", "namespace-controller"}
}

// VolumeControllers returns DefaultControllers and the controllers that bind and protect claims and volumes, which
// StartVolumes needs. Without the last two no claim or volume is ever removed, because the API server adds their finalizers.
// The slice is the caller's.
func VolumeControllers() []string {
	return append(DefaultControllers(), "persistentvolume-binder-controller",
		"persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller")
}

// Options selects the components of a cluster. The zero value is etcd, an API server and a controller manager with
// DefaultControllers, and no nodes.
type Options struct {
	// Nodes is the number of fake nodes, from NodeName(0) on, which are always ready. With zero nodes kwok does not run,
	// and no Pod ever runs.
	Nodes int

	// Controllers are the names of the controllers to run, as for kube-controller-manager --controllers. Nil means
	// DefaultControllers; with a slice that is empty but not nil no controller manager starts.
	Controllers []string

	// SecondAPIServer starts another API server on the same etcd, which it reaches through Cluster.Relay. It has its own
	// audit log.
	SecondAPIServer bool

	// History keeps every revision in etcd, and stores objects as JSON, so that a test can read all earlier states.
	History bool

	// AuditPolicy is the YAML of an audit policy, for example AuditMetadata. The API server then writes events to the file
	// at Cluster.AuditLog. Empty means no audit log.
	AuditPolicy string

	// APIServerEnv are more environment variables of the API server, for example GOGC=30. All components have GOGC of this process.
	APIServerEnv []string

	// APIServerArgs come last on the command line of the API server, so that they override ours.
	APIServerArgs []string

	// LogDir receives one log file per component and the audit log. Stop keeps it. Start creates it if it is missing, and
	// appends to logs of an earlier run. If it is empty, Stop removes the logs.
	LogDir string

	// Progress receives one line for each component that must be built. Nil means os.Stderr; io.Discard hides the lines.
	Progress io.Writer
}

func (o Options) progress() io.Writer {
	if o.Progress == nil {
		return os.Stderr
	}
	return o.Progress
}

func (o Options) controllers() []string {
	if o.Controllers == nil {
		return DefaultControllers()
	}
	return o.Controllers
}

// components returns the components that these options need, in start order.
func (o Options) components() []Component {
	return slices.DeleteFunc(Components(), func(c Component) bool {
		switch c {
		case ControllerManager:
			return len(o.controllers()) == 0
		case Kwok:
			return o.Nodes == 0
		case Kueue:
			return true
		default:
			return false
		}
	})
}
