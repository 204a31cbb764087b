package program_test

import (
	"testing"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/sunset-k8s/sunset/cmd/program"
)

// TestStackTracesAreForPanics: an error is one line, unless the flag says otherwise.
func TestStackTracesAreForPanics(t *testing.T) {
	const atError, atPanic = 2, 4 // levels of zap
	for name, test := range map[string]struct {
		args []string
		want bool // whether an error has one
	}{
		"by default":         {nil, false},
		"with other flags":   {[]string{"--zap-devel", "--zap-log-level=debug"}, false},
		"when asked for":     {[]string{"--zap-stacktrace-level=error"}, true},
		"when not asked for": {[]string{"--zap-stacktrace-level=panic"}, false},
	} {
		var o zap.Options
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		program.AddLogFlags(flags, &o)
		if err := program.Parse(flags, test.args, &o); err != nil {
			t.Fatal(err)
		}
		if got := o.StacktraceLevel.Enabled(atError); got != test.want || !o.StacktraceLevel.Enabled(atPanic) {
			t.Errorf("%s: an error has a stack trace: %v", name, got)
		}
	}
}
