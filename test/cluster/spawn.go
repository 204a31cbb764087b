// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"runtime"
	"sync"
)

// spawner runs functions on one OS thread that lives as long as the process. The kernel's parent death signal belongs to
// the thread that forked, not to the process. If the Go runtime ended that thread, the child would end at a random moment.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// spawn calls start, which forks, on the long-lived thread.
func spawn(start func() error) error {
	result := make(chan error, 1)
	spawner() <- func() { result <- start() }
	return <-result
}
