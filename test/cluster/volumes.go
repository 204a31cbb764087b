// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sunset-k8s/sunset/test/volumes"
)

// StartVolumes adds volumes and snapshots to a cluster with VolumeControllers. It builds the snapshot controller,
// csi-snapshotter and csi-provisioner if necessary, installs the CRDs of snapshots, and runs these components and a CSI driver
// until Stop. The caller creates a StorageClass and a VolumeSnapshotClass for the driver, volumes.Name. Another call returns
// the same driver and starts the components again, for example after KillVolumes.
//
// Three things differ from a cluster. The components act as administrators. The driver is not one of a vendor: see package
// volumes. Group snapshots are disabled and their CRDs are not installed.
func (c *Cluster) StartVolumes(ctx context.Context) (*volumes.Driver, error) {
	if c.volumes != nil {
		return c.volumes, c.eachVolumeComponent(func(component Component) error { return c.Restart(ctx, component) })
	}
	paths, err := Binaries(ctx, c.opts.progress(), VolumeComponents()...)
	if err != nil {
		return nil, err
	}
	if err := c.installSnapshotCRDs(ctx); err != nil {
		return nil, fmt.Errorf("CRDs of snapshots: %w", err)
	}
	if c.volumes, err = volumes.Open(c.scratch.Path("csi"), c.socket()); err != nil {
		return nil, err
	}
	for _, component := range VolumeComponents() {
		c.paths[component] = paths[component]
		if err := c.begin(ctx, c.volumeServer(component)); err != nil {
			return nil, err
		}
	}
	return c.volumes, nil
}

// KillVolumes ends the components that StartVolumes started, so that they do not work for other tests. The driver still runs.
func (c *Cluster) KillVolumes() error { return c.eachVolumeComponent(c.Kill) }

func (c *Cluster) eachVolumeComponent(do func(Component) error) error {
	var all []error
	for _, component := range VolumeComponents() {
		all = append(all, do(component))
	}
	return errors.Join(all...)
}

// socket is where the driver listens. The path of a Unix socket has at most 107 bytes.
func (c *Cluster) socket() string { return c.scratch.Path("csi.sock") }

func (c *Cluster) installSnapshotCRDs(ctx context.Context) error {
	dir, err := moduleDir(ctx, snapshotsHome, snapshotterClientModule)
	if err != nil {
		return err
	}
	crds, err := readCRDs(filepath.Join(dir, "config", "crd", "snapshot.storage.k8s.io_*.yaml"))
	if err != nil {
		return err
	}
	_, err = InstallCRDs(c.Config(), envtest.CRDInstallOptions{CRDs: crds})
	return err
}

// volumeServer is one of the VolumeComponents. All have the same flags, except that the snapshot controller does not know the
// driver and csi-provisioner knows no group snapshots.
func (c *Cluster) volumeServer(component Component) *server {
	return &server{
		component: component,
		scheme:    "http",
		args: func(port int) []string {
			args := []string{
				"--kubeconfig=" + c.Kubeconfig(), fmt.Sprintf("--http-endpoint=127.0.0.1:%d", port),
				"--kube-api-qps=1000", "--kube-api-burst=1000",
				"--retry-interval-start=100ms", "--retry-interval-max=1s",
			}
			if component != SnapshotController {
				args = append(args, "--csi-address="+c.socket())
			}
			if component != CSIProvisioner {
				args = append(args, "--feature-gates=CSIVolumeGroupSnapshot=false")
			}
			return args
		},
		ready: func(ctx context.Context, port int) error {
			_, err := get(ctx, http.DefaultClient, fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
			return err
		},
	}
}
