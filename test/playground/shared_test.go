// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// shared is something that needs seconds of CPU to start, because it compiles the engine, and that tests use one after the other. After a
// test that fails, the next one starts another, so that it does not fail only for that reason.
type shared[T any] struct {
	value T
	stop  func() // nil without a value
}

// use returns the value for a test. If there is none, start returns one, and a function that stops it.
func (s *shared[T]) use(t *testing.T, start func(*testing.T) (T, func())) T {
	t.Helper()
	if s.stop == nil {
		s.value, s.stop = start(t)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.end()
		}
	})
	return s.value
}

// end stops the value, if there is one.
func (s *shared[T]) end() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// The tabs that tests share: one with the playground, and one with the engine in a worker of its own too.
var thePlayground, theWorker shared[*tab]

// openPlayground returns a tab with the playground as it is after it was opened: with the first sample, in the light color scheme, and with
// the focus at the top. Tests of what a new page does open one of their own.
func openPlayground(t *testing.T) *tab {
	t.Helper()
	b := thePlayground.use(t, func(t *testing.T) (*tab, func()) {
		b, closeTab := newTab(t)
		b.open(b.local())
		return b, closeTab
	})
	b = &tab{t, b.ctx, b.dir}
	call(b, page.BringToFront, cdp.Empty{}) // other tests may have opened tabs since then
	b.look("light", 1280, 800)
	b.choose("finished-jobs")
	b.run(`document.getElementById("skip").focus()`)
	b.run(`document.activeElement.blur()`) // the next Tab still starts there
	b.run(`scrollTo(0, 0)`)
	return b
}

// openWorker returns a tab whose engine answers ask.
func openWorker(t *testing.T) *tab {
	t.Helper()
	b := theWorker.use(t, func(t *testing.T) (*tab, func()) {
		b, closeTab := newTab(t)
		b.startWorker()
		return b, closeTab
	})
	return &tab{t, b.ctx, b.dir}
}
