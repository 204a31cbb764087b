// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/program"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// programs are the programs that tests have built, each once. Their directory is removed at the end.
var programs struct {
	sync.Mutex
	dir string
}

// built returns the path of a program of Sunset, which the first call builds.
func built(t testing.TB, name string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "sunset-programs-")
		expect.NoError(t, err)
		programs.dir = dir
	}
	path := filepath.Join(programs.dir, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	path, err := program.Build(t.Context(), programs.dir, name)
	expect.NoError(t, err)
	return path
}

// process is a program of Sunset in a separate process.
type process struct {
	*exec.Cmd
	ended chan struct{} // closed when the process has ended
	err   error         // the exit error
	log   *bytes.Buffer // read it only after the process has ended
}

// controller starts a controller that reaches the API server through a proxy.
func controller(t *testing.T, g *proxy.Proxy, args ...string) *process {
	t.Helper()
	return startProcess(t, "sunset-controller", g.Config(), args...)
}

// startProcess starts a program for a cluster. The test kills it at its end.
func startProcess(t *testing.T, name string, config *rest.Config, args ...string) *process {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	expect.NoError(t, cluster.WriteKubeconfig(kubeconfig, config))
	p := &process{ended: make(chan struct{}), log: &bytes.Buffer{}}
	p.Cmd = exec.Command(built(t, name), append([]string{"--kubeconfig", kubeconfig,
		"--metrics-bind-address=0", "--health-probe-bind-address=0"}, args...)...)
	p.Stderr = io.MultiWriter(os.Stderr, p.log)
	expect.NoError(t, p.Start())
	go func() {
		p.err = p.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill kills a process with SIGKILL, like a crash, and waits until it has ended.
func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.ended
}

// stop sends SIGTERM to a process and waits until it has ended.
func (p *process) stop(t *testing.T) {
	t.Helper()
	_ = p.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		if p.err != nil {
			t.Errorf("the process did not end cleanly: %v", p.err)
		}
	case <-time.After(patience):
		t.Fatal("the process did not end")
	}
}

// view is a proxy that shows only one policy and its ledger, so that tests with separate processes do not interfere.
func (w *env) view(p *v1alpha1.ClusterRetentionPolicy) *proxy.Proxy {
	g := proxy.New(w.T, w.plane.Config())
	g.Adjust(only(p))
	return g
}

// only restricts requests for policies and ledgers to one policy and its ledger.
func only(p *v1alpha1.ClusterRetentionPolicy) func(*http.Request) {
	return func(r *http.Request) {
		name := ""
		switch {
		case strings.HasSuffix(r.URL.Path, "/clusterretentionpolicies"):
			name = p.Name
		case strings.HasSuffix(r.URL.Path, "/retentionledgers"):
			name = string(p.UID)
		}
		if name != "" && r.Method == http.MethodGet {
			query := r.URL.Query()
			query.Set("fieldSelector", "metadata.name="+name)
			r.URL.RawQuery = query.Encode()
		}
	}
}
