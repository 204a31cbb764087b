package cluster

import (
	"io"
	"os"
	"slices"
)

// TTLAfterFinished is the controller that deletes finished Jobs by
// spec.ttlSecondsAfterFinished. It is not among the defaults, because it would
// compete with the retention engine under test.
const TTLAfterFinished = "ttl-after-finished-controller"

// DefaultControllers returns the controllers that run when Options.Controllers
// is nil. The slice is the caller's, so a test may append to it.
func DefaultControllers() []string {
	return []string{"clusterrole-aggregation-controller", "cronjob-controller", "garbage-collector-controller", "job-controller", "namespace-controller"}
}

// Options says what a cluster consists of. The zero value is etcd, an API
// server and a controller manager with DefaultControllers; no nodes.
type Options struct {
	// Nodes is the number of fake, always ready nodes, NodeName(0) and up.
	// Zero starts no kwok, and then no Pod ever runs.
	Nodes int

	// Controllers are the names of the controllers to run, as
	// kube-controller-manager --controllers has them. Nil means
	// DefaultControllers; empty but not nil starts no controller manager.
	Controllers []string

	// Scheduler starts kube-scheduler. Without it a Pod needs spec.nodeName.
	Scheduler bool

	// SecondAPIServer starts another API server on the same etcd, which it
	// reaches through Cluster.Relay. Its audit log is its own.
	SecondAPIServer bool

	// History keeps every revision in etcd, and objects in it as JSON, so that
	// all that ever was can be read from there.
	History bool

	// FeatureGates is given to API server, controller manager and scheduler,
	// in the form "A=true,B=false". Empty leaves the defaults.
	FeatureGates string

	// AuditPolicy is the YAML of an audit policy, for example AuditMetadata;
	// events then go to the file that Cluster.AuditLog names. Empty: no audit.
	AuditPolicy string

	// APIServerArgs, ControllerManagerArgs, SchedulerArgs and EtcdArgs are
	// added last to the command lines, so that they override ours.
	APIServerArgs         []string
	ControllerManagerArgs []string
	SchedulerArgs         []string
	EtcdArgs              []string

	// LogDir receives one log file per component (and the audit log) and is
	// kept after Stop. It is created if missing; logs of an earlier run in it
	// are appended to. Empty: logs are removed with the cluster.
	LogDir string

	// Progress receives one line per component that has to be built first.
	// Nil means os.Stderr; io.Discard silences it.
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

// components is what these options make necessary, in start order.
func (o Options) components() []Component {
	return slices.DeleteFunc(Components(), func(c Component) bool {
		switch c {
		case ControllerManager:
			return len(o.controllers()) == 0
		case Scheduler:
			return !o.Scheduler
		case Kwok:
			return o.Nodes == 0
		case Kueue:
			return true
		default:
			return false
		}
	})
}

// featureGates is the flag for the gates, or nothing.
func (o Options) featureGates() []string {
	if o.FeatureGates == "" {
		return nil
	}
	return []string{"--feature-gates=" + o.FeatureGates}
}
