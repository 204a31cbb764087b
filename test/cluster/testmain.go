// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the exit code after SIGINT or SIGTERM.
const interrupted = 130

// Main is the body of TestMain for a package whose tests take clusters from a pool. It runs m (a *testing.M) and ends the pool, also
// after a panic of m.Run, SIGINT and SIGTERM. It returns the code for os.Exit: that of m.Run, or 1 if a cluster did not start or a
// component ended unexpectedly. If a test panics or go test times out, the kernel ends the components with this process (on Linux).
func Main(m interface{ Run() int }, pool *Pool) (code int) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	noExit := context.AfterFunc(ctx, func() {
		_ = pool.End() // ignore errors that the interrupt caused
		os.Exit(interrupted)
	})
	defer func() { // before cancel, which would look like an interrupt
		if !noExit() {
			select {} // interrupted: the exit is under way
		}
	}()
	defer func() {
		if err := pool.End(); err != nil {
			fmt.Fprintln(os.Stderr, "cluster:", err)
			code = max(code, 1)
		}
	}()
	return m.Run()
}
