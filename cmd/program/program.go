// SPDX-License-Identifier: Apache-2.0

// Package program is the common part of the programs that run in a cluster: settings, start, logging and shutdown.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	ctrl "sigs.k8s.io/controller-runtime"
)

// gcPercent trades CPU time, of which the programs use little, for memory: the heap grows by a fifth of the live heap before a
// garbage collection. GOGC overrides it.
const gcPercent = 20

// Main parses the arguments of a program and runs it until a signal ends it. It exits with code 2 if the arguments are invalid,
// and with code 1 if the run fails.
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
