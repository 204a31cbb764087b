package program

import (
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// TestErrorsOfTheCertificateAreInfo: a fresh installation, which begins without a certificate, logs no errors.
func TestErrorsOfTheCertificateAreInfo(t *testing.T) {
	core, logged := observer.New(zapcore.InfoLevel)
	logger := zap.New(retried{core})
	logger.Named("cert-rotation").With(zap.Int("try", 1)).Error("secret is not well-formed")
	logger.Named("cert-rotation").Debug("nothing to do")
	logger.Named("webhook").Error("not served")
	for i, want := range []zapcore.Level{zapcore.InfoLevel, zapcore.ErrorLevel} {
		if got := logged.All()[i]; logged.Len() != 2 || got.Level != want {
			t.Errorf("of %d lines, %q is at level %s, want %s", logged.Len(), got.Message, got.Level, want)
		}
	}
}
