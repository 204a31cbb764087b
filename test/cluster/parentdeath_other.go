//go:build unix && !linux

package cluster

import "syscall"

// diesWithParent has no meaning outside Linux: children of a killed process
// stay. Stop, and thus a normal end or an interrupt, works as on Linux.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
