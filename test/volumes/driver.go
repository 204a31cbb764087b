// SPDX-License-Identifier: Apache-2.0

package volumes

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
)

// Name is the name of the driver, for the provisioner of a StorageClass and the driver of a VolumeSnapshotClass.
const Name = "volumes.sunset.test"

// Driver serves volumes and snapshots until Close. Its methods are safe for concurrent use.
type Driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer

	dir    string
	server *grpc.Server
	ended  chan error // of the server

	mu        sync.Mutex       // guards what follows, and the directories
	volumes   map[string]int64 // capacity in bytes, by handle
	snapshots map[string]*csi.Snapshot
	held      bool
	problem   error
}

// Open serves a driver on a Unix socket. Its volumes and snapshots are below dir, which it creates.
func Open(dir, socket string) (*Driver, error) {
	d := &Driver{
		dir: dir, server: grpc.NewServer(), ended: make(chan error, 1),
		volumes: map[string]int64{}, snapshots: map[string]*csi.Snapshot{},
	}
	for _, sub := range []string{d.Volume(""), d.Snapshot("")} {
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("CSI driver: %w", err)
	}
	csi.RegisterIdentityServer(d.server, d)
	csi.RegisterControllerServer(d.server, d)
	go func() { d.ended <- d.server.Serve(listener) }()
	return d, nil
}

// Close ends the server and removes its socket, but not the directories. Call it once. It accepts nil.
func (d *Driver) Close() error {
	if d == nil {
		return nil
	}
	d.server.Stop()
	if err := <-d.ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("CSI driver: %w", err)
	}
	return nil
}

// Volume is the directory of the volume with this handle, which is spec.csi.volumeHandle of a PersistentVolume.
func (d *Driver) Volume(handle string) string { return filepath.Join(d.dir, "volumes", handle) }

// Snapshot is the directory of the snapshot with this handle, which is status.snapshotHandle of a VolumeSnapshotContent.
func (d *Driver) Snapshot(handle string) string { return filepath.Join(d.dir, "snapshots", handle) }

// Volumes are the handles of all volumes, sorted.
func (d *Driver) Volumes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.volumes))
}

// Snapshots are the handles of all snapshots, sorted.
func (d *Driver) Snapshots() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.snapshots))
}

// Hold makes the driver report that snapshots are not ready to use yet, until Hold(false). It applies to requests to create a
// snapshot; csi-snapshotter repeats them.
func (d *Driver) Hold(held bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = held
}

// Fail makes the driver refuse to create snapshots with this error, until Fail(nil).
func (d *Driver) Fail(problem error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.problem = problem
}
