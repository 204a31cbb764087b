// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"bytes"
	"io"
	"sync"
)

// still stops watches while its channel is open.
type still struct {
	match Match
	open  chan struct{} // closed when the watches may continue
}

// Freeze pauses matching watches without ending them, including open ones. thaw resumes them; it may be called more than once.
func (g *Proxy) Freeze(match Match) (thaw func()) {
	s := &still{match: match, open: make(chan struct{})}
	g.mu.Lock()
	g.freezes = append(g.freezes, s)
	lasts := g.disturbs(nil)
	g.mu.Unlock()
	return sync.OnceFunc(func() {
		g.mu.Lock()
		g.freezes = without(g.freezes, s)
		lasts.end()
		g.mu.Unlock()
		close(s.open)
	})
}

// edit changes the events of watches.
type edit struct {
	match  Match
	mu     sync.Mutex // held while change runs
	change func(event []byte) [][]byte
}

// Frames edits the events of matching watches, including open ones. change receives one event, a JSON object without its newline,
// and returns the events to send instead, in order. No event drops it, the same event twice duplicates it, and an event that
// change returns in a later call arrives late. One goroutine at a time calls change. lift ends the edits; it may be called more
// than once.
func (g *Proxy) Frames(match Match, change func(event []byte) [][]byte) (lift func()) {
	e := &edit{match: match, change: change}
	g.mu.Lock()
	g.edits = append(g.edits, e)
	lasts := g.disturbs(nil)
	g.mu.Unlock()
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.edits = without(g.edits, e)
		lasts.end()
	})
}

func (e *edit) apply(events [][]byte) (changed [][]byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range events {
		changed = append(changed, e.change(event)...)
	}
	return changed
}

// stream is the body of a watch: one JSON object per line.
type stream struct {
	passage *passage
	from    io.Closer
	lines   *bufio.Reader
	pending []byte // bytes of events that the client has not read yet
	err     error  // returned after pending
}

func newStream(p *passage, body io.ReadCloser) *stream {
	return &stream{passage: p, from: body, lines: bufio.NewReader(body)}
}

func (s *stream) Close() error { return s.from.Close() }

func (s *stream) Read(into []byte) (int, error) {
	for len(s.pending) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.next()
	}
	n := copy(into, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// next reads one event and puts the events to send instead into pending.
func (s *stream) next() {
	line, err := s.lines.ReadBytes('\n')
	s.err = err
	event, whole := bytes.CutSuffix(line, []byte("\n"))
	if !whole || !s.passage.flows() {
		s.pending = line
		return
	}
	events := [][]byte{event}
	for _, e := range s.passage.edits() {
		events = e.apply(events)
	}
	if len(events) != 1 || !bytes.Equal(events[0], event) {
		s.passage.proxy.count(func(t *Counts) { t.Edited++ })
	}
	for _, e := range events {
		s.pending = append(append(s.pending, e...), '\n')
	}
}

// flows waits while the watch is frozen. It returns false if the client disconnects.
func (p *passage) flows() bool {
	for counted := false; ; counted = true {
		s := p.still()
		if s == nil {
			return true
		}
		if !counted {
			p.proxy.count(func(t *Counts) { t.HeldBack++ })
		}
		if !await(p, s.open) {
			return false
		}
	}
}

func (p *passage) still() *still {
	p.proxy.mu.Lock()
	defer p.proxy.mu.Unlock()
	for _, s := range p.proxy.freezes {
		if s.match.meets(p.request) {
			return s
		}
	}
	return nil
}

func (p *passage) edits() (all []*edit) {
	p.proxy.mu.Lock()
	defer p.proxy.mu.Unlock()
	for _, e := range p.proxy.edits {
		if e.match.meets(p.request) {
			all = append(all, e)
		}
	}
	return all
}
