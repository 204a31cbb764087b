// SPDX-License-Identifier: Apache-2.0

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

	"github.com/sunset-k8s/sunset/controllers/audit"
	"github.com/sunset-k8s/sunset/controllers/process/features"
	"github.com/sunset-k8s/sunset/controllers/process/version"
)

// ErrAnswered means that the program has printed its help or version, and has nothing to run.
var ErrAnswered = errors.New("answered")

// Flags holds the settings of a program, including those that all programs share. A file can set them too.
type Flags struct {
	*pflag.FlagSet
	program, kind string
	log           zap.Options
	kubeconfig    string
	file          string
	version       bool
	lines         map[string]int // line in the file, by setting
}

// NewFlags returns the flags that all programs share. kind is the kind of the configuration file of the program.
func NewFlags(program, kind string) *Flags {
	f := &Flags{FlagSet: pflag.NewFlagSet(program, pflag.ContinueOnError), program: program, kind: kind, lines: map[string]int{}}
	f.StringVar(&f.file, configFlag, "", "configuration file, whose settings have the names of the flags in camelCase; flags on the command line override it")
	f.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; if empty, the program uses the ServiceAccount of its Pod")
	f.BoolVar(&f.version, versionFlag, false, "print the version and exit")
	f.addLog()
	return f
}

const configFlag, versionFlag = "config", "version"

// AddGates adds the flag that enables and disables features.
func (f *Flags) AddGates(gates features.Gates) {
	f.Var(gates, "feature-gates", "features to enable or disable, such as References=false:\n"+strings.Join(gates.KnownFeatures(), "\n"))
}

const auditFlag = "audit-records"

// AddAudit adds the flag for audit records.
func (f *Flags) AddAudit(format *string) {
	f.StringVar(format, auditFlag, audit.Log, "how to write an audit record of each deletion: Log writes a line to the log, CloudEvents writes a CloudEvent to standard output, None writes nothing")
}

// Audit demands a format of audit records.
func Audit(format string) Demand {
	return Demand{auditFlag, slices.Contains(audit.Formats(), format), strings.Join(audit.Formats(), ", ")}
}

// addLog adds the logging flags. By default only panics have stack traces, because errors state their context in words.
func (f *Flags) addLog() {
	const stackTraces, atPanics = "zap-stacktrace-level", "panic"
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	f.log.BindFlags(flags)
	_ = flags.Set(stackTraces, atPanics) // a valid level
	flags.Lookup(stackTraces).DefValue = atPanics
	f.AddGoFlagSet(flags)
}

// Parse reads the arguments, which must all be flags, and the file that they name. Then it sets up logging. It returns
// ErrAnswered after it has printed the help or the version.
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

// logger returns a logger that writes every line. By default, controller-runtime silently drops lines if a hundred in one
// second have the same message. Code that logs about thousands of objects aggregates its lines.
func (f *Flags) logger() logr.Logger {
	var unsampled zapcore.Core // the core before zap.NewRaw wraps it in a sampler
	remember := func(c zapcore.Core) zapcore.Core {
		unsampled = c
		return c
	}
	raw := zap.NewRaw(zap.UseFlagOptions(&f.log), zap.RawZapOpts(uberzap.WrapCore(remember)))
	return zapr.NewLogger(raw.WithOptions(uberzap.WrapCore(func(zapcore.Core) zapcore.Core { return readable{unsampled} })))
}

// Wrong adds to an error the name of the invalid setting, and where it was set: the line of the file, or the flag.
func (f *Flags) Wrong(setting string, err error) error {
	if line, ok := f.lines[setting]; ok {
		return fmt.Errorf("%s:%d: %s: %w", f.file, line, SettingName(setting), err)
	}
	return fmt.Errorf("--%s: %w", setting, err)
}

// readable writes lines that operators can read. An error is its text, without the stack trace that some libraries add.
//
// It lowers the level of some messages of libraries. Errors of the certificate rotation become info, because the library
// retries: a new installation has no certificate yet, or another replica writes it. If no certificate appears, the webhook is
// not ready and reports why. Info messages about parts that start or stop become debug. So does the error that each leader logs
// when it ends. Audit records are written at every level: --audit-records controls them.
type readable struct{ zapcore.Core }

// Enabled implements zapcore.LevelEnabler. Check decides about info messages.
func (r readable) Enabled(l zapcore.Level) bool { return l >= zapcore.InfoLevel || r.Core.Enabled(l) }

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
	if !r.Core.Enabled(e.Level) && e.LoggerName != audit.LoggerName {
		return checked
	}
	return checked.AddCore(e, r)
}

// isRoutine recognizes messages of controller-runtime (pkg/manager, pkg/internal/controller, pkg/webhook, pkg/metrics/server)
// and of cert-controller (pkg/rotator) about parts that start or stop. Many of these messages have no logger name.
func isRoutine(message string) bool {
	return slices.ContainsFunc([]string{"starting ", "stopping ", "serving ", "registering ", "shutting down ", "shutdown signal received",
		"all workers finished", "wait completed", "ensuring ca cert", "no cert refresh needed"},
		func(begins string) bool { return strings.HasPrefix(strings.ToLower(message), begins) })
}

// isOrderlyEnd recognizes the error that controller-runtime (pkg/manager, engageStopProcedure) logs when a leader shuts down on
// request. If a leader loses the Lease in another way, the program ends with an error.
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

// withTexts returns the fields with errors replaced by their texts.
func withTexts(fields []zapcore.Field) []zapcore.Field {
	texts := slices.Clone(fields)
	for i, f := range texts {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			texts[i] = uberzap.String(f.Key, err.Error())
		}
	}
	return texts
}
