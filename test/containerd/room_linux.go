// SPDX-License-Identifier: Apache-2.0

package containerd

import "golang.org/x/sys/unix"

// hasRoom reports whether a file system has this many free bytes and allows programs to run.
func hasRoom(dir string, bytes uint64) bool {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	return err == nil && s.Flags&unix.ST_NOEXEC == 0 && s.Bavail*uint64(s.Bsize) >= bytes
}
