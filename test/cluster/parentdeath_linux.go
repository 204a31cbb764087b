package cluster

import "syscall"

// diesWithParent makes the kernel kill the child when the thread that forked it
// ends, that is, with spawn, when this process ends in whatever way.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
