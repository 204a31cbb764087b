package program

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// traced is an error as some libraries make them.
type traced struct{}

func (traced) Error() string { return "it has no ca.crt" }

func (traced) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, "it has no ca.crt\nmain.go:7") }

// TestErrorsAreReadable: no line has a stack trace, and a fresh installation, which begins without a certificate, logs no errors.
func TestErrorsAreReadable(t *testing.T) {
	var out bytes.Buffer
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg", LevelKey: "level", EncodeLevel: zapcore.LowercaseLevelEncoder})
	logger := zap.New(readable{zapcore.NewCore(encoder, zapcore.AddSync(&out), zapcore.InfoLevel)})
	logger.Named("cert-rotation").With(zap.Error(traced{})).Error("secret is not well-formed")
	logger.Named("cert-rotation").Debug("nothing to do")
	logger.Named("webhook").Error("not served", zap.Error(traced{}))
	want := []string{
		`{"level":"info","msg":"secret is not well-formed","error":"it has no ca.crt"}`,
		`{"level":"error","msg":"not served","error":"it has no ca.crt"}`,
	}
	if got := strings.TrimSpace(out.String()); got != strings.Join(want, "\n") {
		t.Errorf("logged\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
