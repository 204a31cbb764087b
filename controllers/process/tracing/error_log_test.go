// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestErrorLog: the log has one error a minute, with the number of errors since the line before. Every error is counted.
func TestErrorLog(t *testing.T) {
	var lines []string
	failed, clock := 0, clocktesting.NewFakePassiveClock(fixture.Now)
	l := &errorLog{log: funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}), clock: clock, failed: func() { failed++ }}
	for _, after := range []time.Duration{0, time.Second, logEvery - 1, logEvery, 2 * logEvery} {
		clock.SetTime(fixture.Now.Add(after))
		l.Handle(errors.New("no answer"))
	}
	expect.Equal(t, "lines", []string{
		`"level"=0 "msg"="traces not exported" "err"="no answer" "more"=0`,
		`"level"=0 "msg"="traces not exported" "err"="no answer" "more"=2`,
		`"level"=0 "msg"="traces not exported" "err"="no answer" "more"=0`,
	}, lines)
	expect.Equal(t, "counted", 5, failed)
}
