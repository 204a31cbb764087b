// SPDX-License-Identifier: Apache-2.0

// Command demo shows Sunset at work: a real control plane, real Jobs and the real controller, on this machine only.
//
// On a terminal it redraws a table in place until Ctrl-C. With DEMO_ONCE=1, or if its output is not a terminal, it plays
// its scenario once, prints plain lines and ends. The exit code is 0 only if exactly the expected Jobs were deleted, none
// early and all on time, with their Pods, and if one of them could be restored from the archive. No process or file remains.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"golang.org/x/term"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// errInterrupted means that the user stopped the demo before it had shown everything.
var errInterrupted = errors.New("interrupted")

func main() {
	klog.SetLogger(logr.Discard()) // watches fail when the API server ends: do not log that
	ctrl.SetLogger(logr.Discard())
	ctx, stop := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		signal.Stop(signals) // a second signal ends the demo immediately, and the kernel ends its children
		stop(errInterrupted)
	}()
	os.Exit(exitCode(os.Stderr, run(ctx, stop)))
}

func run(ctx context.Context, stop context.CancelCauseFunc) error {
	terminal := term.IsTerminal(int(os.Stdout.Fd()))
	once := os.Getenv("DEMO_ONCE") == "1"
	plainOutput := once || !terminal || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	d := &demo{ui: newTerminal(os.Stdout), stop: stop, stay: terminal && !once}
	if plainOutput {
		d.ui = newPlain(os.Stdout)
	}
	if !terminal && !once {
		fmt.Println("The output is not a terminal: the demo runs once and ends. On a terminal it runs until Ctrl-C.")
	}
	return d.run(ctx)
}

func exitCode(stderr io.Writer, err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted):
		fmt.Fprintln(stderr, "demo: interrupted; all processes are stopped")
		return 130
	default:
		fmt.Fprintln(stderr, "demo:", err)
		return 1
	}
}
