// Package containerd runs a real containerd, with real containers, for tests of what speaks to a container runtime.
//
// There are two lanes: Debian's containerd 1.6, which exercises every fallback, and the newest one, built once per machine
// from the Go module proxy. Both need root, Linux and runc, which comes from Debian; without them a test is skipped and
// says why.
//
// It promises: a daemon has its own socket, and its own root and state directories, in memory where possible; it runs
// in PID and mount namespaces of its own, so that when it is stopped, or this process dies in any way, the kernel ends
// the daemon, its shims and all containers, and lets go of their mounts; images are made by Go code, and a registry
// listens on 127.0.0.1 only.
//
// It refuses to touch another containerd of the machine, to reach out to a network but for packages of Debian that are
// missing, and to run without the kernel's help in ending what it started.
package containerd
