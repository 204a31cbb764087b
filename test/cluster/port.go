// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// Ports come from below the range from which the kernel assigns local ports to outgoing connections (32768 and up on Linux,
// 49152 elsewhere). So a client's connection cannot occupy a server's port while the server restarts.
const firstPort, lastPort = 20000, 29999

var ports struct {
	sync.Mutex
	given map[int]*os.File // locks, which the kernel releases when this process ends
}

// FreePort returns a TCP port of 127.0.0.1 on which no process listens. While this process runs, no other call returns that port, also
// not in another process of the same user. A program that does not call FreePort may still take the port first; the caller then retries.
func FreePort() (int, error) {
	root, err := cacheRoot()
	if err != nil {
		return 0, err
	}
	locks := filepath.Join(root, "ports")
	if err := os.MkdirAll(locks, 0o755); err != nil {
		return 0, err
	}
	ports.Lock()
	defer ports.Unlock()
	if ports.given == nil {
		ports.given = map[int]*os.File{}
	}
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		held, err := tryLock(filepath.Join(locks, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			_ = held.Close()
			continue
		}
		ports.given[port] = held
		return port, l.Close()
	}
	return 0, errors.New("no free port on 127.0.0.1")
}
