package program

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"github.com/spf13/pflag"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/sunset-k8s/sunset/controllers/process/features"
	"github.com/sunset-k8s/sunset/controllers/process/version"
)

// ErrAnswered says that help or the version was asked for, and given: there is nothing else to do.
var ErrAnswered = errors.New("answered")

// Flags are the settings of a program, those that all programs have included. A file may give them too.
type Flags struct {
	*pflag.FlagSet
	program, kind string
	log           zap.Options
	kubeconfig    string
	file          string
	version       bool
	lines         map[string]int // of the file, by the setting that it gives
}

// NewFlags makes the flags of a program, and the kind of its configuration file.
func NewFlags(program, kind string) *Flags {
	f := &Flags{FlagSet: pflag.NewFlagSet(program, pflag.ContinueOnError), program: program, kind: kind, lines: map[string]int{}}
	f.StringVar(&f.file, configFlag, "", "configuration file, whose settings have the names of the flags; flags on the command line override it")
	f.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; if empty, the program uses the ServiceAccount of its Pod")
	f.BoolVar(&f.version, versionFlag, false, "print the version and exit")
	f.addLog()
	return f
}

const configFlag, versionFlag = "config", "version"

// AddGates adds the flag that switches features on and off.
func (f *Flags) AddGates(gates features.Gates) {
	f.Var(gates, "feature-gates", "features to enable or disable, such as References=false:\n"+strings.Join(gates.KnownFeatures(), "\n"))
}

// addLog adds the flags of the log. Errors say in words where they come from, so that stack traces are for panics.
func (f *Flags) addLog() {
	const stackTraces, atPanics = "zap-stacktrace-level", "panic"
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	f.log.BindFlags(flags)
	_ = flags.Set(stackTraces, atPanics) // it is one of the levels
	flags.Lookup(stackTraces).DefValue = atPanics
	f.AddGoFlagSet(flags)
}

// Parse reads the arguments, which are flags alone, and the file that they name, and sets the log up as they say. It gives
// ErrAnswered when all that was asked is answered.
func (f *Flags) Parse(args []string) error {
	switch err := f.FlagSet.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return ErrAnswered
	case err != nil:
		return err
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	case f.version:
		fmt.Fprintln(os.Stdout, version.Get().Line(f.program))
		return ErrAnswered
	}
	if f.file != "" {
		if err := f.read(f.file); err != nil {
			return err
		}
	}
	logger := f.logger()
	ctrl.SetLogger(logger)
	klog.SetLogger(logger.WithName("client-go"))
	return nil
}

// logger writes every line: controller-runtime would drop lines when a hundred of a second have the same message, without a word. What is
// to be said of thousands of objects is summed up where it is logged.
func (f *Flags) logger() logr.Logger {
	var unsampled zapcore.Core // as it is before zap.NewRaw wraps it into a sampler
	remember := func(c zapcore.Core) zapcore.Core {
		unsampled = c
		return c
	}
	raw := zap.NewRaw(zap.UseFlagOptions(&f.log), zap.RawZapOpts(uberzap.WrapCore(remember)))
	return zapr.NewLogger(raw.WithOptions(uberzap.WrapCore(func(zapcore.Core) zapcore.Core { return readable{unsampled} })))
}

// Wrong says of a setting that it cannot be used, and where it was given.
func (f *Flags) Wrong(setting string, err error) error {
	if line, ok := f.lines[setting]; ok {
		return fmt.Errorf("%s:%d: %s: %w", f.file, line, setting, err)
	}
	return fmt.Errorf("--%s: %w", setting, err)
}

// readable writes each line so that operators can read it: an error is its text, without the stack trace that some libraries
// add. What the library logs as an error that keeps the certificate of the webhook is info, because it retries: after an
// installation there is no certificate yet, or another replica writes it. If none comes, the webhook is not ready, and says so.
// What libraries log as info of each of their parts that starts or stops is debug, and so is the error with which each leader ends.
type readable struct{ zapcore.Core }

// With implements zapcore.Core.
func (r readable) With(fields []zapcore.Field) zapcore.Core {
	return readable{r.Core.With(withTexts(fields))}
}

// Check implements zapcore.Core.
func (r readable) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	switch {
	case e.LoggerName == "cert-rotation" && e.Level == zapcore.ErrorLevel:
		e.Level = zapcore.InfoLevel
	case e.Level == zapcore.InfoLevel && isRoutine(e.Message):
		e.Level = zapcore.DebugLevel
	}
	if !r.Enabled(e.Level) {
		return checked
	}
	return checked.AddCore(e, r)
}

// isRoutine recognizes messages of controller-runtime (pkg/manager, pkg/internal/controller, pkg/webhook, pkg/metrics/server) and of
// cert-controller (pkg/rotator) about parts that start or stop. Many of them come without the name of a logger.
func isRoutine(message string) bool {
	return slices.ContainsFunc([]string{"starting ", "stopping ", "serving ", "registering ", "shutting down ", "shutdown signal received",
		"all workers finished", "wait completed", "ensuring ca cert", "no cert refresh needed"},
		func(begins string) bool { return strings.HasPrefix(strings.ToLower(message), begins) })
}

// isOrderlyEnd recognizes the error that controller-runtime (pkg/manager, engageStopProcedure) logs whenever a leader ends as it is told
// to. Another end of the lead ends the program with an error.
func isOrderlyEnd(message string, fields []zapcore.Field) bool {
	return message == "error received after stop sequence was engaged" && slices.ContainsFunc(fields, func(f zapcore.Field) bool {
		err, ok := f.Interface.(error)
		return ok && err.Error() == "leader election lost"
	})
}

// Write implements zapcore.Core.
func (r readable) Write(e zapcore.Entry, fields []zapcore.Field) error {
	if isOrderlyEnd(e.Message, fields) {
		if e.Level = zapcore.DebugLevel; !r.Enabled(e.Level) {
			return nil
		}
	}
	return r.Core.Write(e, withTexts(fields))
}

// withTexts are fields with the texts of errors.
func withTexts(fields []zapcore.Field) []zapcore.Field {
	texts := slices.Clone(fields)
	for i, f := range texts {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			texts[i] = uberzap.String(f.Key, err.Error())
		}
	}
	return texts
}
