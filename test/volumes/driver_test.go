// SPDX-License-Identifier: Apache-2.0

package volumes_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/volumes"
)

func open(t *testing.T) *volumes.Driver {
	t.Helper()
	dir := t.TempDir()
	d, err := volumes.Open(filepath.Join(dir, "data"), filepath.Join(dir, "socket"))
	expect.NoError(t, err)
	t.Cleanup(func() { expect.NoError(t, d.Close()) })
	return d
}

// TestRepeatedRequestsHaveOneResult: the interface requires it, because a client does not always receive the response.
func TestRepeatedRequestsHaveOneResult(t *testing.T) {
	d, ctx := open(t), t.Context()
	file := filepath.Join(d.Volume("v"), "file")
	for _, text := range []string{"first", "second"} {
		_, err := d.CreateVolume(ctx, &csi.CreateVolumeRequest{Name: "v"})
		expect.NoError(t, err)
		expect.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err = d.CreateSnapshot(ctx, &csi.CreateSnapshotRequest{Name: "s", SourceVolumeId: "v"})
		expect.NoError(t, err)
	}
	text, err := os.ReadFile(filepath.Join(d.Snapshot("s"), "file"))
	expect.NoError(t, err)
	expect.Equal(t, "snapshot", "first", string(text))
	for range 2 {
		_, err := d.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: "v"})
		expect.NoError(t, err)
		_, err = d.DeleteSnapshot(ctx, &csi.DeleteSnapshotRequest{SnapshotId: "s"})
		expect.NoError(t, err)
	}
	for _, dir := range []string{d.Volume(""), d.Snapshot("")} {
		left, err := os.ReadDir(dir)
		expect.NoError(t, err)
		expect.Equal(t, "entries of "+filepath.Base(dir), 0, len(left))
	}
}

func TestDriverRefuses(t *testing.T) {
	d := open(t)
	d.Hold(true)
	_, err := d.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "v"})
	expect.NoError(t, err)
	_, err = d.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "held", SourceVolumeId: "v"})
	expect.NoError(t, err)
	for name, c := range map[string]struct {
		want codes.Code
		do   func() error
	}{
		"a volume outside of its directory": {codes.InvalidArgument, func() error {
			_, err := d.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "../v"})
			return err
		}},
		"to delete all volumes": {codes.InvalidArgument, func() error {
			_, err := d.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{})
			return err
		}},
		"a snapshot of a volume that does not exist": {codes.NotFound, func() error {
			_, err := d.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "s", SourceVolumeId: "none"})
			return err
		}},
		"a snapshot with the name of another volume's": {codes.AlreadyExists, func() error {
			_, err := d.CreateSnapshot(t.Context(), &csi.CreateSnapshotRequest{Name: "held", SourceVolumeId: "other"})
			return err
		}},
		"a volume from a snapshot that is not ready": {codes.NotFound, func() error {
			_, err := d.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "w", VolumeContentSource: source("held")})
			return err
		}},
	} {
		if got := status.Code(c.do()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func source(snapshot string) *csi.VolumeContentSource {
	return &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
		Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: snapshot},
	}}
}
