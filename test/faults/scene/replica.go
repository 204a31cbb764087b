package scene

import (
	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/gate"
)

// Server is one of the API servers.
type Server int

// The API servers of a scene. B reaches etcd through a relay that can stop, see cluster.Cluster.Relay.
const (
	A Server = iota
	B
)

// Start says how a replica runs. The zero value is one of several that elect a leader, at API server A.
type Start struct {
	Server Server
	// Binary is the path of the controller. Empty means build.Default, or build.Clocked if there is a Clock.
	Binary string
	// Flags are added last, and so override those of the scene.
	Flags []string
	// Clock is what the replica takes for the time. Nil means the machine's.
	Clock *build.Clock
	// Groups are those of the replica's user. Nil means an administrator's; empty but not nil means none.
	Groups []string
	// Env is added to the environment, as in "GODEBUG=...".
	Env []string
}

// Replica is a controller that is a process of its own, behind a gate of its own.
type Replica struct {
	Gate *gate.Gate
	User string // as the audit log names it; it stays over restarts
}

// Sunset starts a replica, which ends with the test. Its user is sunset-1, sunset-2 and so on, with the scene's name.
func (s *Scene) Sunset(start Start) *Replica { return nil }

// Leader waits until one of the replicas that run holds the scene's lease, and gives it.
func (s *Scene) Leader() *Replica { return nil }

// Kill ends a replica as a crash does, and returns when it is gone. It may be called by a fault.
func (r *Replica) Kill() {}

// Stop makes the process stand still, as a machine does that is suspended.
func (r *Replica) Stop() {}

// Cont lets a process that stands still go on.
func (r *Replica) Cont() {}

// Interrupt ends a replica as an operator does, and fails the test if it does not end cleanly.
func (r *Replica) Interrupt() {}

// Restart starts a replica again, killing it first if it runs. change may alter how it runs, for example at which server.
func (r *Replica) Restart(change ...func(*Start)) {}

// Running tells whether the process lives.
func (r *Replica) Running() bool { return false }

// Ended is closed when the process that was started last has ended.
func (r *Replica) Ended() <-chan struct{} { return nil }

// Log is what a replica has written since its first start.
func (r *Replica) Log() string { return "" }

// PID is the id of the process that was started last.
func (r *Replica) PID() int { return 0 }

// Deletes are the DELETEs of subjects that a replica has sent, over all starts, dry runs and those of ledgers excluded.
func (r *Replica) Deletes() []gate.Entry { return nil }
