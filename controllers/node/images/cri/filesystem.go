package cri

import (
	"context"
	"math"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Filesystem is where images are, and how much of it they take.
type Filesystem struct {
	Mountpoint string // an absolute path on the node, of a directory in the file system: CRI tells no capacity, statfs does
	UsedBytes  int64  // by images, as the runtime counts
	InodesUsed int64
	Taken      time.Time // when it was counted; containerd counts every 10 seconds
}

// Filesystems asks where images are. It is never empty without an error. In CRI-O it is expensive: each call walks
// through everything that is stored.
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
			return nil, badAnswer(call, "%d bytes and %d inodes are used at %q", used, inodes, mountpoint)
		}
		all = append(all, Filesystem{
			Mountpoint: mountpoint,
			UsedBytes:  int64(used),
			InodesUsed: int64(inodes),
			Taken:      time.Unix(0, usage.GetTimestamp()),
		})
	}
	if len(all) == 0 {
		return nil, badAnswer(call, "the response names no file system")
	}
	return all, nil
}
