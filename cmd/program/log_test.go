// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/sunset-k8s/sunset/controllers/audit"
	"github.com/sunset-k8s/sunset/test/expect"
)

// traced is an error that formats with a stack trace, as those of some libraries do.
type traced struct{}

func (traced) Error() string { return "it has no ca.crt" }

func (traced) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, "it has no ca.crt\nmain.go:7") }

// TestErrorsAreReadable: no line has a stack trace. A new installation, which has no certificate yet, logs no error. Messages
// of libraries about parts that start or stop are not logged at level info.
func TestErrorsAreReadable(t *testing.T) {
	var out bytes.Buffer
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg", LevelKey: "level", EncodeLevel: zapcore.LowercaseLevelEncoder})
	logger := zap.New(readable{zapcore.NewCore(encoder, zapcore.AddSync(&out), zapcore.InfoLevel)})
	logger.Named("cert-rotation").With(zap.Error(traced{})).Error("secret is not well-formed")
	logger.Named("cert-rotation").Debug("nothing to do")
	logger.Named("webhook").Error("not served", zap.Error(traced{}))
	for _, message := range []string{"Starting EventSource", "Starting workers", "starting server", "Stopping and waiting for caches", "starting cert rotator controller"} {
		logger.Info(message)
	}
	logger.Info("policy summary")
	want := []string{
		`{"level":"info","msg":"secret is not well-formed","error":"it has no ca.crt"}`,
		`{"level":"error","msg":"not served","error":"it has no ca.crt"}`,
		`{"level":"info","msg":"policy summary"}`,
	}
	if got := strings.TrimSpace(out.String()); got != strings.Join(want, "\n") {
		t.Errorf("logged\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestAuditRecordsAreWrittenAtEveryLevel: they are info messages, and a log level is not meant to drop them.
func TestAuditRecordsAreWrittenAtEveryLevel(t *testing.T) {
	f := NewFlags("sunset-test", "TestConfig")
	var out bytes.Buffer
	f.log.DestWriter = &out
	expect.NoError(t, f.FlagSet.Parse([]string{"--zap-log-level=error"}))
	logger := f.logger()
	logger.Info("policy read")
	logger.WithName(audit.LoggerName).Info("object deleted")
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 1 || !strings.Contains(lines[0], "object deleted") {
		t.Errorf("logged %q", lines)
	}
}

// TestLoggerWritesEqualLines: no library drops lines with equal messages. The code that logs them aggregates them (package retention).
func TestLoggerWritesEqualLines(t *testing.T) {
	f := NewFlags("sunset-test", "TestConfig")
	var out bytes.Buffer
	f.log.DestWriter = &out
	logger := f.logger()
	const lines = 1000
	for range lines {
		logger.Info("policy read")
	}
	logger.V(1).Info("deleted")
	logger.Error(errors.New("leader election lost"), "error received after stop sequence was engaged")
	logger.Info("Starting Controller")
	logger.Error(traced{}, "status not written")
	if n := strings.Count(out.String(), "policy read"); n != lines {
		t.Errorf("%d of %d equal lines were written", n, lines)
	}
	rest := strings.Split(strings.TrimSpace(out.String()), "\n")[min(lines, strings.Count(out.String(), "policy read")):]
	if len(rest) != 1 || !strings.Contains(rest[0], `"error":"it has no ca.crt"}`) {
		t.Errorf("the other lines are %q", rest)
	}
}
