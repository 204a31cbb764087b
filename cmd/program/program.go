// Package program is what the programs that run in a cluster have in common: how they are told what to do, start, log and end.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	ctrl "sigs.k8s.io/controller-runtime"
)

// gcPercent trades processor time, of which little is used, for memory: the heap grows by a fifth of what is kept before
// garbage is collected. GOGC overrides it.
const gcPercent = 20

// Main parses the arguments of a program and runs what they ask for until a signal ends it. It exits with 2 when they
// cannot be used and with 1 when the run fails.
func Main(name string, parse func(args []string) (run func(context.Context) error, err error)) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	run, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, ErrAnswered):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		ctrl.Log.Error(err, "stopped")
		os.Exit(1)
	}
}
