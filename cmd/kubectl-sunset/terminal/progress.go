// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	progressDelay    = 2 * time.Second
	progressInterval = 200 * time.Millisecond

	eraseLine = "\r\x1b[K"
)

// Progress shows a number in a line of a terminal, and erases the line at the end. It shows nothing in the first two seconds, and
// nothing on anything but a terminal that can erase a line. A nil Progress shows nothing.
type Progress struct {
	number atomic.Int64
	stop   func()
}

// StartProgress starts to show a number of something, such as "objects read". The caller must call Stop.
func StartProgress(w io.Writer, what string) *Progress {
	if !isTerminal(w) || isDumb() {
		return &Progress{stop: func() {}}
	}
	return startProgress(w, what)
}

func startProgress(w io.Writer, what string) *Progress {
	ended, erased := make(chan struct{}), make(chan struct{})
	p := &Progress{stop: sync.OnceFunc(func() {
		close(ended)
		<-erased
	})}
	go func() {
		defer close(erased)
		p.show(w, what, ended)
	}()
	return p
}

func (p *Progress) show(w io.Writer, what string, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-time.After(progressDelay):
	}
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		fmt.Fprintf(w, "%s%d %s", eraseLine, p.number.Load(), what)
		select {
		case <-ended:
			fmt.Fprint(w, eraseLine)
			return
		case <-tick.C:
		}
	}
}

// Set sets the number.
func (p *Progress) Set(n int) {
	if p != nil {
		p.number.Store(int64(n))
	}
}

// Add adds to the number.
func (p *Progress) Add(n int) {
	if p != nil {
		p.number.Add(int64(n))
	}
}

// Stop erases the line. It may be called more than once.
func (p *Progress) Stop() {
	if p != nil {
		p.stop()
	}
}
