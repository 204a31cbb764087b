// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
)

// Ports come from below the range from which the kernel assigns local ports to outgoing connections (32768 and up on Linux,
// 49152 elsewhere). So a client's connection cannot occupy a server's port while the server restarts.
const firstPort, lastPort = 20000, 29999

var ports struct {
	sync.Mutex
	given map[int]bool // this process never returns a port twice
	held  []net.Listener
}

// FreePort returns a TCP port of 127.0.0.1 on which no process listens. On Linux, no other process gets it from FreePort until this one
// ends, also while its server restarts. Processes that do not call FreePort may still take it first; the caller then retries.
func FreePort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	if ports.given == nil {
		ports.given = map[int]bool{}
	}
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if ports.given[port] || !reserved(port) {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		ports.given[port] = true
		return port, l.Close()
	}
	return 0, errors.New("no free port on 127.0.0.1")
}

// reserved reports whether this process now holds an abstract socket with the number of a port. The kernel removes the socket when the
// process ends. The caller holds the lock.
func reserved(port int) bool {
	if runtime.GOOS != "linux" {
		return true // only Linux has abstract sockets
	}
	l, err := net.Listen("unix", fmt.Sprintf("@sunset-port-%d", port))
	if err == nil {
		ports.held = append(ports.held, l)
	}
	return err == nil
}
