// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package cluster

import "syscall"

// diesWithParent does nothing outside Linux: children of a killed process remain. Stop works as on Linux, and with it a
// normal end and an interrupt.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
