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

// Main is the body of TestMain for a package whose tests share one cluster: it
// starts the cluster, stores it in *c, runs m (a *testing.M) and stops the
// cluster, also after a panic of m.Run, SIGINT and SIGTERM. It returns the code
// for os.Exit: that of m.Run, or 1 if the cluster did not start or a component
// ended by itself. When a test panics or go test's timeout strikes, the kernel
// ends the components with this process (on Linux).
func Main(m interface{ Run() int }, opts Options, c **Cluster) (code int) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	started, err := Start(ctx, opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		return 1
	}
	*c = started
	noExit := context.AfterFunc(ctx, func() {
		_ = started.Stop() // the interrupt is the news, not what it interrupted
		os.Exit(interrupted)
	})
	defer func() { // before cancel, which would look like an interrupt
		if !noExit() {
			select {} // interrupted: the exit is under way
		}
	}()
	defer func() {
		if err := started.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "cluster:", err)
			code = max(code, 1)
		}
	}()
	return m.Run()
}
