// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/policy"
)

const (
	logEvery = time.Minute // minimum time between two lines
	longest  = 512         // maximum length of an error in the log; the endpoint may choose its text
)

// errorLog implements otel.ErrorHandler.
type errorLog struct {
	log    logr.Logger
	clock  clock.PassiveClock
	failed func()

	mu     sync.Mutex
	logged time.Time
	more   int // errors since then
}

// Handle logs an error, unless another was logged in the last minute.
func (l *errorLog) Handle(err error) {
	l.failed()
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if !l.logged.IsZero() && now.Sub(l.logged) < logEvery {
		l.more++
		return
	}
	l.log.Info("traces not exported", "err", policy.Shorten(err.Error(), longest), "more", l.more)
	l.logged, l.more = now, 0
}
