// SPDX-License-Identifier: Apache-2.0

// Package containerd runs a real containerd, with real containers, for tests of clients of a container runtime.
//
// There are two lanes: Debian's containerd 1.6, which exercises every fallback, and the newest version, built once per
// machine from the Go module proxy. Both need root, Linux and runc, which comes from Debian. Without them a test is skipped
// with the reason.
//
// A daemon has its own socket, and its own root and state directories, in memory where possible. It runs in its own PID and
// mount namespaces: when it stops, or this process dies for any reason, the kernel ends the daemon, its shims and all
// containers, and releases their mounts. Go code creates the images, and a registry listens on 127.0.0.1 only.
//
// The package never touches another containerd of the machine. It uses the network only for missing packages of Debian. It
// does not run without the kernel's help to end what it started.
package containerd
