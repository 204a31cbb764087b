// Package program is what the programs that run in a cluster have in common: how they start, log and end.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
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
	case HelpAsked(err):
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

// HelpAsked reports whether an error of Parse says that help was asked for and given.
func HelpAsked(err error) bool { return errors.Is(err, pflag.ErrHelp) }

// AddLogFlags adds the flags of the log. Errors say in words where they come from, so that stack traces are for panics.
func AddLogFlags(to *pflag.FlagSet, o *zap.Options) {
	const stackTraces, atPanics = "zap-stacktrace-level", "panic"
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	o.BindFlags(flags)
	_ = flags.Set(stackTraces, atPanics) // it is one of the levels
	flags.Lookup(stackTraces).DefValue = atPanics
	to.AddGoFlagSet(flags)
}

// Parse reads flags, which take no further arguments, and sets the log up as they say.
func Parse(flags *pflag.FlagSet, args []string, o *zap.Options) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	logger := zap.New(zap.UseFlagOptions(o))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger.WithName("client-go"))
	return nil
}
