// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"golang.org/x/sys/unix"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// statfs returns the usage of the filesystem of a path. Like the kubelet, it counts blocks that are reserved for root as used.
func statfs(path string) (v1alpha1.NodeImageFilesystem, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return v1alpha1.NodeImageFilesystem{}, err
	}
	return usageOf(s.Blocks, s.Bavail, uint64(s.Bsize)), nil
}
