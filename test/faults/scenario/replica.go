// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// Server is one of the API servers.
type Server int

// The API servers of a scenario. B reaches etcd through a relay that can be stopped, see cluster.Cluster.Relay.
const (
	A Server = iota
	B
)

func (s Server) component() cluster.Component {
	if s == B {
		return cluster.SecondAPIServer
	}
	return cluster.APIServer
}

// Start says how a replica runs. The zero value is one of several replicas with leader election, at API server A.
type Start struct {
	Server Server
	// Failover makes leases so short that another replica takes over soon: for scenarios in which a leader ends. On a busy
	// machine, a replica may lose its lease without a fault, so leases last longer in make test.
	Failover bool
	// Binary is the path of the controller. Empty means build.Default, or build.Clocked if there is a Clock.
	Binary string
	// Flags are added last, so they override the scenario's flags.
	Flags []string
	// Clock is the replica's clock. Nil means the machine's.
	Clock *build.Clock
	// Groups are the groups of the replica's user. Nil means an administrator's; empty but not nil means none.
	Groups []string
	// Env is added to the environment, as in "GODEBUG=...".
	Env []string
	// Before is called before the first start of the process, to arm faults. Nil calls nothing.
	Before func(*Replica)
}

// leases returns the flags of leader election: how long a lease lasts, and how long a leader tries to renew it before it
// stops.
func (s Start) leases() []string {
	lasts, renews := "15s", "10s"
	switch {
	case s.Failover && long():
		lasts, renews = "6s", "4s"
	case s.Failover:
		lasts, renews = "10s", "8s"
	}
	return []string{"--leader-elect-lease-duration=" + lasts, "--leader-elect-renew-deadline=" + renews, "--leader-elect-retry-period=1s"}
}

// Replica is a controller process behind its own proxy.
type Replica struct {
	Proxy *proxy.Proxy
	User  string // as in the audit log; the same after restarts

	scenario *Scenario
	dir      string

	mu      sync.Mutex // held while the process starts or ends
	start   Start
	program *cluster.Program
	lives   []life
}

// life describes one process.
type life struct {
	from, to time.Time // to is zero while it runs
	stood    []span    // periods in which it was suspended; the last one may be open
	violent  bool      // it was killed, or ended with an error
}

// Sunset starts a replica, which ends with the test. Its user is sunset-1, sunset-2 and so on, with the scenario's name.
func (s *Scenario) Sunset(start Start) *Replica {
	s.Helper()
	if start.Binary == "" && start.Clock != nil {
		start.Binary = build.Clocked(s)
	} else if start.Binary == "" {
		start.Binary = build.Default(s)
	}
	s.mu.Lock()
	s.named++
	name := fmt.Sprintf("sunset-%d", s.named)
	s.mu.Unlock()
	r := &Replica{scenario: s, start: start, dir: filepath.Join(s.dir, name), User: name + "." + s.Namespace}
	expect.NoError(s, os.Mkdir(r.dir, 0o700))
	var err error
	if r.Proxy, err = proxy.Open(r.config()); err != nil { // the proxy outlives the process
		s.Fatal(err)
	}
	s.narrow(r.Proxy)
	if start.Before != nil {
		start.Before(r)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = append(s.replicas, r)
	return r
}

// Past makes a replica read the objects of a resource from the watch cache of an API server, however old that is. Other
// requests do not change.
func (r *Replica) Past(resource string, from Server) {
	r.scenario.Helper()
	reads := proxy.Requests("list", resource).Or(proxy.Requests("watch", resource))
	r.Proxy.Adjust(func(request *http.Request) {
		if query := request.URL.Query(); reads(request) && query.Get("resourceVersion") == "" {
			query.Set("resourceVersion", "0")
			request.URL.RawQuery = query.Encode()
		}
	})
	expect.NoError(r.scenario, r.Proxy.Divert(reads, r.at(from)))
}

// config returns the configuration of the replica's API server with the replica's user.
func (r *Replica) config() *rest.Config {
	r.scenario.Helper()
	return r.at(r.start.Server)
}

// at returns the configuration of an API server with the replica's user.
func (r *Replica) at(server Server) *rest.Config {
	r.scenario.Helper()
	groups := r.start.Groups
	if groups == nil {
		groups = []string{"system:masters"}
	}
	config, err := r.scenario.Cluster.UserConfigAt(server.component(), r.User, groups...)
	expect.NoError(r.scenario, err)
	return config
}

// run starts the process. The caller holds the lock.
func (r *Replica) run() {
	r.scenario.Helper()
	kubeconfig := filepath.Join(r.dir, "kubeconfig")
	expect.NoError(r.scenario, cluster.WriteKubeconfig(kubeconfig, r.Proxy.Config()))
	r.program = &cluster.Program{
		Path: r.start.Binary, Dir: r.dir, Log: r.logFile(), Env: r.start.Env,
		Args: slices.Concat([]string{
			"--kubeconfig=" + kubeconfig, "--namespace=" + r.scenario.Home, "--metrics-bind-address=0", "--health-probe-bind-address=0",
		}, r.scenario.standbys(), r.start.leases(), r.start.Flags),
	}
	if r.start.Clock != nil {
		r.program.Env = append(r.program.Env, r.start.Clock.Env())
	}
	expect.NoError(r.scenario, r.program.Start(context.Background(), func(context.Context) error { return nil }))
	r.lives = append(r.lives, life{from: time.Now()})
}

// standbys returns the flag for replicas that do not lead; none for the default, which an earlier version may not know.
func (s *Scenario) standbys() []string {
	if s.options.Cold {
		return []string{"--warm-standby=false"}
	}
	return nil
}

func (r *Replica) logFile() string { return filepath.Join(r.dir, "log") }

// ended records that the process has ended. The caller holds the lock.
func (r *Replica) ended(violently bool) {
	l := &r.lives[len(r.lives)-1]
	if l.to.IsZero() {
		l.to, l.violent = time.Now(), violently
	}
	if l.stands() {
		l.stood[len(l.stood)-1].To = l.to
	}
}

// Kill ends a replica as a crash does, and returns when the process is gone. A fault may call it.
func (r *Replica) Kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.program.Kill()
	r.ended(true)
}

// Stop suspends the process, as if its machine were suspended.
func (r *Replica) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.program.Signal(syscall.SIGSTOP) // an error means that the process has ended
	l := &r.lives[len(r.lives)-1]
	l.stood = append(l.stood, span{From: time.Now()})
}

// Cont resumes a suspended process.
func (r *Replica) Cont() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cont()
}

func (r *Replica) cont() {
	_ = r.program.Signal(syscall.SIGCONT) // an error means that the process has ended
	if l := &r.lives[len(r.lives)-1]; l.stands() {
		l.stood[len(l.stood)-1].To = time.Now()
	}
}

func (l *life) stands() bool { return len(l.stood) > 0 && l.stood[len(l.stood)-1].To.IsZero() }

// Interrupt ends a replica with SIGTERM, and fails the test if it does not end cleanly.
func (r *Replica) Interrupt() {
	r.scenario.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.program.Signal(syscall.SIGTERM) // an error means that the process has ended
	select {
	case <-r.program.Ended():
	case <-time.After(Patience()):
		r.scenario.Fatalf("%s did not end in time", r.User)
	}
	err := r.program.Failure()
	if err != nil && !r.endedBeforeItBegan(err) {
		r.scenario.Errorf("%s did not end cleanly: %v", r.User, err)
	}
	r.ended(err != nil)
}

// Restart starts a replica again, after killing it if it runs. change may change how it runs, for example its API server.
func (r *Replica) Restart(change ...func(*Start)) {
	r.scenario.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.program.Kill()
	r.ended(true)
	before := r.start.Server
	for _, c := range change {
		c(&r.start)
	}
	if r.start.Server != before {
		expect.NoError(r.scenario, r.Proxy.Retarget(r.config()))
	}
	r.run()
}

// Running reports whether the process runs.
func (r *Replica) Running() bool {
	select {
	case <-r.Ended():
		return false
	default:
		return true
	}
}

// Ended returns a channel that is closed when the last started process has ended.
func (r *Replica) Ended() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.program.Ended()
}

// Log returns the replica's output since its first start.
func (r *Replica) Log() string {
	text, err := os.ReadFile(r.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// PID returns the ID of the last started process.
func (r *Replica) PID() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.program.PID()
}

// Deletes returns the DELETEs that a replica has sent, over all its starts, without dry runs and DELETEs of ledgers.
func (r *Replica) Deletes() (sent []proxy.Entry) {
	for _, e := range r.Proxy.Journal() {
		if e.Verb == "delete" && e.Resource != "retentionledgers" && !e.DryRun {
			sent = append(sent, e)
		}
	}
	return sent
}

// endedBeforeItBegan reports whether SIGTERM ended a process that did not handle signals yet and had sent no request.
func (r *Replica) endedBeforeItBegan(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	began := r.lives[len(r.lives)-1].from
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM &&
		!slices.ContainsFunc(r.Proxy.Journal(), func(e proxy.Entry) bool { return e.At.After(began) })
}
