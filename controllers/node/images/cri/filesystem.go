// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"path/filepath"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Filesystems returns where images are stored: absolute paths on the node of directories in the filesystems. CRI reports no
// capacity, statfs does. Without an error the result is not empty. In CRI-O the call is expensive, because it walks through
// everything that is stored.
func (r *Runtime) Filesystems(ctx context.Context) ([]string, error) {
	const call = "ImageFsInfo"
	answer, err := ask(ctx, r, filesystemTimeout, call, r.images.ImageFsInfo, &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, usage := range answer.GetImageFilesystems() {
		mountpoint := usage.GetFsId().GetMountpoint()
		if !filepath.IsAbs(mountpoint) {
			return nil, badAnswer(call, "invalid filesystem at %q", mountpoint)
		}
		all = append(all, mountpoint)
	}
	if len(all) == 0 {
		return nil, badAnswer(call, "the response has no filesystem")
	}
	return all, nil
}
