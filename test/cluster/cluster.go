// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/test/scratch"
	"github.com/sunset-k8s/sunset/test/volumes"
)

// Cluster is a running control plane. All methods are safe for concurrent use. After Stop only Stop may be called.
type Cluster struct {
	opts    Options
	scratch *scratch.Dir
	logs    string
	ca      *authority
	paths   Paths
	admin   *rest.Config
	relay   *Relay // nil without a second API server

	kueueOpts KueueOptions    // of the last StartKueue
	kueueCRDs string          // the webhook in its CRDs; empty if they are not installed
	volumes   *volumes.Driver // nil before StartVolumes

	life context.Context // ends when Stop begins
	end  context.CancelFunc
	stop sync.Once
	err  error // of stop

	mu      sync.Mutex // guards servers and the values that they point to
	servers []*server  // in start order
}

// Start builds missing binaries (see Binaries), starts the components that opts select, and returns when all are ready and
// all nodes are Ready. ctx bounds only the start; the cluster runs until Stop. If Start fails, its error contains the last
// log lines of the failed component, and no process or file remains.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	paths, err := Binaries(ctx, opts.progress(), opts.components()...)
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, paths: paths}
	c.life, c.end = context.WithCancel(context.Background())
	if err := c.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare cluster: %w", err), c.discard())
	}
	if err := c.run(ctx); err != nil {
		return nil, errors.Join(err, c.discard())
	}
	return c, nil
}

// prepare creates the directories, keys and certificates.
func (c *Cluster) prepare() (err error) {
	if c.scratch, err = scratch.New(os.TempDir(), "sunset-cluster-*"); err != nil {
		return err
	}
	if c.logs, err = filepath.Abs(c.opts.LogDir); err != nil {
		return err
	}
	if c.opts.LogDir == "" {
		c.logs = c.scratch.Path("logs")
	}
	if err := os.MkdirAll(c.logs, 0o755); err != nil {
		return err
	}
	if c.ca, err = newAuthority(); err != nil {
		return err
	}
	return c.writeKeys()
}

// run starts the components, servers before their clients.
func (c *Cluster) run(ctx context.Context) error {
	etcd := c.etcd()
	if err := c.begin(ctx, etcd); err != nil {
		return err
	}
	if err := c.begin(ctx, c.apiServer(APIServer, etcd.url())); err != nil {
		return err
	}
	if c.opts.SecondAPIServer {
		if err := c.beginSecond(ctx, etcd.port); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, component := range c.opts.components() {
		switch component {
		case ControllerManager:
			g.Go(func() error { return c.begin(ctx, c.controllerManager()) })
		case Kwok:
			g.Go(func() error { return c.beginNodes(ctx) })
		}
	}
	return g.Wait()
}

// begin starts s and adds it to the cluster, even if the start fails.
func (c *Cluster) begin(ctx context.Context, s *server) error {
	s.program = Program{
		Path: c.paths[s.component.program()],
		Dir:  c.scratch.Path(""),
		Log:  filepath.Join(c.logs, string(s.component)+".log"),
		Env:  s.env,
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers = append(c.servers, s)
	if s.component == APIServer {
		return c.writeAdmin(s.url())
	}
	return nil
}

// Stop kills all components and removes all files except Options.LogDir. Its error names components that ended unexpectedly before,
// with their last log lines. Later calls wait for the first and return the same error.
func (c *Cluster) Stop() error {
	c.stop.Do(func() {
		c.end() // cancels a Restart that still waits
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = c.crashes()
		c.endAll()
		c.relay.close()
		c.err = errors.Join(c.err, c.volumes.Close(), c.scratch.Remove())
	})
	return c.err
}

// crashes returns an error for the components that ended unexpectedly.
func (c *Cluster) crashes() error {
	var all []error
	for _, s := range c.servers {
		if err := s.proc.crashed(); err != nil {
			all = append(all, fmt.Errorf("%s: %w", s.component, err))
		}
	}
	return errors.Join(all...)
}

// endAll kills the components, clients before their servers. Nothing reads what they would still write.
func (c *Cluster) endAll() {
	for _, s := range slices.Backward(c.servers) {
		s.proc.finish(0)
	}
}

// discard removes a cluster that did not start.
func (c *Cluster) discard() error {
	c.end()
	if c.scratch == nil {
		return nil
	}
	c.endAll()
	c.relay.close()
	return c.scratch.Remove()
}

// Config returns an administrator's configuration (group system:masters) with no client-side rate limit. Each call returns
// a new copy.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// Kubeconfig is the path of an administrator's kubeconfig file. Stop removes the file.
func (c *Cluster) Kubeconfig() string { return c.scratch.Path("admin.kubeconfig") }

// AuditLog is the path of the API server's audit log, with one JSON event per line. The file exists only with
// Options.AuditPolicy.
func (c *Cluster) AuditLog() string { return c.auditLog(APIServer) }

// AuditLogs are the paths of the audit logs of all API servers.
func (c *Cluster) AuditLogs() []string {
	if !c.opts.SecondAPIServer {
		return []string{c.AuditLog()}
	}
	return []string{c.AuditLog(), c.auditLog(SecondAPIServer)}
}

// LogDir is the directory of the components' logs: Options.LogDir, or a directory that Stop removes.
func (c *Cluster) LogDir() string { return c.logs }
