package cri

import (
	"context"
	"math"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Filesystem is where images are stored, and how much space they use.
type Filesystem struct {
	Mountpoint string // absolute path on the node of a directory in the filesystem; CRI reports no capacity, statfs does
	UsedBytes  int64  // by images, as the runtime reports
	InodesUsed int64
	Taken      time.Time // time of the count; containerd counts every 10 seconds
}

// Filesystems returns where images are stored. Without an error the result is not empty. In CRI-O the call is expensive,
// because it walks through everything that is stored.
func (r *Runtime) Filesystems(ctx context.Context) ([]Filesystem, error) {
	const call = "ImageFsInfo"
	answer, err := ask(ctx, r, filesystemTimeout, call, r.images.ImageFsInfo, &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		return nil, err
	}
	var all []Filesystem
	for _, usage := range answer.GetImageFilesystems() {
		used, inodes := usage.GetUsedBytes().GetValue(), usage.GetInodesUsed().GetValue()
		mountpoint := usage.GetFsId().GetMountpoint()
		if !filepath.IsAbs(mountpoint) || used > math.MaxInt64 || inodes > math.MaxInt64 {
			return nil, badAnswer(call, "invalid filesystem: %d bytes and %d inodes used at %q", used, inodes, mountpoint)
		}
		all = append(all, Filesystem{
			Mountpoint: mountpoint,
			UsedBytes:  int64(used),
			InodesUsed: int64(inodes),
			Taken:      time.Unix(0, usage.GetTimestamp()),
		})
	}
	if len(all) == 0 {
		return nil, badAnswer(call, "the response has no filesystem")
	}
	return all, nil
}
