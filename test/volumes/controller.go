// SPDX-License-Identifier: Apache-2.0

package volumes

import (
	"context"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// defaultCapacity is the size of a volume whose request names none, in bytes.
const defaultCapacity = 1 << 30

// GetPluginInfo implements csi.IdentityServer.
func (d *Driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: Name, VendorVersion: "test"}, nil
}

// GetPluginCapabilities implements csi.IdentityServer.
func (d *Driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		{Type: &csi.PluginCapability_Service_{Service: service}},
	}}, nil
}

// Probe implements csi.IdentityServer: the driver is always ready.
func (d *Driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

// ControllerGetCapabilities implements csi.ControllerServer.
func (d *Driver) ControllerGetCapabilities(
	context.Context, *csi.ControllerGetCapabilitiesRequest,
) (*csi.ControllerGetCapabilitiesResponse, error) {
	response := &csi.ControllerGetCapabilitiesResponse{}
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
	} {
		rpc := &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: kind}}
		response.Capabilities = append(response.Capabilities, &csi.ControllerServiceCapability{Type: rpc})
	}
	return response, nil
}

// CreateVolume implements csi.ControllerServer. The handle of a volume is its name, so that a repeated request finds it. The volume
// is empty or has the files of a snapshot.
func (d *Driver) CreateVolume(_ context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	handle, source := r.GetName(), r.GetVolumeContentSource()
	if err := checkHandle(handle); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.volumes[handle]; !ok {
		if err := d.fill(d.Volume(handle), source); err != nil {
			return nil, err
		}
		d.volumes[handle] = capacity(r.GetCapacityRange())
	}
	return &csi.CreateVolumeResponse{
		Volume: &csi.Volume{VolumeId: handle, CapacityBytes: d.volumes[handle], ContentSource: source},
	}, nil
}

func capacity(r *csi.CapacityRange) int64 {
	if r.GetRequiredBytes() == 0 {
		return defaultCapacity
	}
	return r.GetRequiredBytes()
}

// fill creates the directory of a volume with the files of its source.
func (d *Driver) fill(dir string, source *csi.VolumeContentSource) error {
	if source == nil {
		return os.Mkdir(dir, 0o755)
	}
	handle := source.GetSnapshot().GetSnapshotId()
	snapshot, ok := d.snapshots[handle]
	if !ok || !snapshot.ReadyToUse {
		return status.Errorf(codes.NotFound, "no snapshot %q is ready to use", handle)
	}
	return copyDir(dir, d.Snapshot(handle))
}

// DeleteVolume implements csi.ControllerServer. Snapshots of the volume remain. Deleting it again is not an error.
func (d *Driver) DeleteVolume(_ context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if err := checkHandle(r.GetVolumeId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.volumes, r.GetVolumeId())
	return &csi.DeleteVolumeResponse{}, os.RemoveAll(d.Volume(r.GetVolumeId()))
}

// CreateSnapshot implements csi.ControllerServer. The handle of a snapshot is its name. The snapshot is a copy of the volume's
// files at the first request.
func (d *Driver) CreateSnapshot(_ context.Context, r *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	handle, volume := r.GetName(), r.GetSourceVolumeId()
	if err := checkHandle(handle); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.problem != nil {
		return nil, status.Error(codes.Internal, d.problem.Error())
	}
	snapshot, ok := d.snapshots[handle]
	if !ok {
		size, exists := d.volumes[volume]
		if !exists {
			return nil, status.Errorf(codes.NotFound, "no volume %q", volume)
		}
		if err := copyDir(d.Snapshot(handle), d.Volume(volume)); err != nil {
			return nil, err
		}
		snapshot = &csi.Snapshot{SnapshotId: handle, SourceVolumeId: volume, SizeBytes: size, CreationTime: timestamppb.Now()}
		d.snapshots[handle] = snapshot
	}
	if snapshot.SourceVolumeId != volume {
		return nil, status.Errorf(codes.AlreadyExists, "snapshot %q is of volume %q", handle, snapshot.SourceVolumeId)
	}
	snapshot.ReadyToUse = snapshot.ReadyToUse || !d.held
	return &csi.CreateSnapshotResponse{Snapshot: proto.CloneOf(snapshot)}, nil
}

// DeleteSnapshot implements csi.ControllerServer. Deleting it again is not an error.
func (d *Driver) DeleteSnapshot(_ context.Context, r *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	if err := checkHandle(r.GetSnapshotId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.snapshots, r.GetSnapshotId())
	return &csi.DeleteSnapshotResponse{}, os.RemoveAll(d.Snapshot(r.GetSnapshotId()))
}

// checkHandle returns an error unless the handle is the name of a file.
func checkHandle(handle string) error {
	if handle == "" || handle == "." || !filepath.IsLocal(handle) || filepath.Base(handle) != handle {
		return status.Errorf(codes.InvalidArgument, "%q is not the name of a directory", handle)
	}
	return nil
}

// copyDir copies a directory under another name first, so that target is never an incomplete copy.
func copyDir(target, source string) error {
	temp := target + ".new"
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	if err := os.CopyFS(temp, os.DirFS(source)); err != nil {
		return err
	}
	return os.Rename(temp, target)
}
