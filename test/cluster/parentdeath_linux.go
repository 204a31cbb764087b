// SPDX-License-Identifier: Apache-2.0

package cluster

import "syscall"

// diesWithParent makes the kernel kill the child when the thread that forked it ends. With spawn, that is when this process
// ends for any reason.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
