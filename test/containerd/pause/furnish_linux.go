// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"syscall"
)

// furnish makes later mounts private to this mount namespace, mounts /proc for this PID namespace, and mounts an own
// /run/containerd: containerd and its shims create sockets there, regardless of their configuration.
func furnish() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := syscall.Mount("tmpfs", "/run/containerd", "tmpfs", 0, "mode=0711"); err != nil {
		return fmt.Errorf("mount /run/containerd: %w", err)
	}
	return nil
}
