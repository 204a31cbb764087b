package main

import (
	"fmt"
	"syscall"
)

// furnish keeps what is mounted from here on to this mount namespace, gives it the processes of this PID namespace, and a
// /run/containerd of its own: that is where containerd and its shims put sockets, whatever their configuration says.
func furnish() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := syscall.Mount("tmpfs", "/run/containerd", "tmpfs", 0, "mode=0711"); err != nil {
		return fmt.Errorf("mount /run/containerd: %w", err)
	}
	return nil
}
