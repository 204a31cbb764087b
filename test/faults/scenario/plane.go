// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

const (
	nodes        = 2
	startTimeout = 5 * time.Minute // of a control plane, without building its components
)

// plane is a control plane with Sunset's CRDs. The zero value is not started.
type plane struct {
	hall sharedLock

	mu      sync.Mutex // held during a start
	cluster *cluster.Cluster
	noded   bool

	history history.Etcd
	audit   history.Audit
}

// shared is the control plane of all scenarios without their own.
var shared plane

// get starts the control plane and its nodes on first use.
func (p *plane) get(t *testing.T, withNodes bool) *cluster.Cluster {
	t.Helper()
	if _, err := cluster.Binaries(t.Context(), os.Stderr, cluster.Etcd, cluster.APIServer, cluster.ControllerManager); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cluster == nil {
		c, err := start(ctx)
		expect.NoError(t, err)
		p.cluster = c
	}
	if withNodes && !p.noded {
		expect.NoError(t, p.cluster.AddNodes(ctx, nodes))
		p.noded = true
	}
	return p.cluster
}

func (p *plane) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cluster == nil {
		return nil
	}
	return p.cluster.Stop()
}

func start(ctx context.Context) (*cluster.Cluster, error) {
	c, err := cluster.Start(ctx, cluster.Options{
		SecondAPIServer: true, History: true, AuditPolicy: cluster.AuditBodies,
		Controllers: append(cluster.DefaultControllers(), "deployment-controller", "replicaset-controller"),
	})
	if err != nil {
		return nil, err
	}
	if err := install(ctx, c); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// install installs Sunset's CRDs in both API servers.
func install(ctx context.Context, c *cluster.Cluster) error {
	second, err := c.UserConfigAt(cluster.SecondAPIServer, "admin", "system:masters")
	if err != nil {
		return err
	}
	if err := cluster.InstallSunset(c.Config()); err != nil {
		return err
	}
	return knows(ctx, second)
}

// knows waits until an API server serves Sunset's kinds.
func knows(ctx context.Context, config *rest.Config) error {
	for {
		c, err := cluster.NewClient(config)
		for _, list := range []client.ObjectList{&v1alpha1.ClusterRetentionPolicyList{}, &v1alpha1.RetentionPolicyList{}, &v1alpha1.RetentionLedgerList{}} {
			if err == nil {
				err = c.List(ctx, list)
			}
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for CRDs: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
