// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestImagesOnASmallFilesystem: a test can choose the size of the file system, and CRI reports this file system for images.
func TestImagesOnASmallFilesystem(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip(containerd.ErrMachine, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	d := containerd.Run(t, containerd.Options{Lane: containerd.Debian, Dir: dir})
	free := func() uint64 {
		all, err := d.Runtime().Filesystems(t.Context())
		expect.NoError(t, err)
		var s unix.Statfs_t
		expect.NoError(t, unix.Statfs(all[0], &s))
		if total := s.Blocks * uint64(s.Bsize); total != 64<<20 {
			t.Fatalf("%s has %d bytes, want 64 MiB", all[0], total)
		}
		return s.Bavail * uint64(s.Bsize)
	}
	before := free()
	expect.NoError(t, d.Import(t.Context(), containerd.Image{Tags: []string{"sunset.test/big:1"}, Bytes: 8 << 20}))
	if after := free(); before-after < 8<<20 {
		t.Errorf("%d bytes were free before and %d after an image of 8 MiB", before, after)
	}
}
