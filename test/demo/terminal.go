// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// terminal draws each frame over the last one. Other output stays above the frame.
type terminal struct {
	out *os.File

	mu     sync.Mutex
	drawn  int // lines of the frame to draw over
	width  int
	height int
}

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	eraseLine  = "\x1b[K" // to the end of the line
	eraseDown  = "\x1b[J"
	eraseAll   = "\x1b[2J\x1b[H"
)

func newTerminal(out *os.File) *terminal { return &terminal{out: out} }

// begin shows the step's name with its elapsed time, below all earlier output.
func (t *terminal) begin(name string) func(error) {
	t.measure()
	t.keep()
	start, ended, drawn := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drawn)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			t.draw([]string{paint(true).in(busy, "… ") + name + paint(true).in(quiet, "  "+took(start))})
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	}()
	return func(err error) {
		close(ended)
		<-drawn
		mark := paint(true).in(good, "✓ ")
		if err != nil {
			mark = paint(true).in(bad, "✗ ")
		}
		t.print(mark + name + paint(true).in(quiet, "  "+took(start)) + "\n")
	}
}

// Write implements io.Writer.
func (t *terminal) Write(text []byte) (int, error) {
	t.print(paint(true).in(quiet, "  "+strings.TrimSpace(string(text))) + "\n")
	return len(text), nil
}

func (t *terminal) say(command, text string) {
	t.print("\n" + paint(true).in(heading, "$ "+command) + "\n" + text + "\n")
}

func (t *terminal) show(f frame) {
	width, height := t.measure()
	lines := f.lines(true, width, height-1)
	t.draw(lines[:min(len(lines), height-1)])
}

func (t *terminal) conclude(f frame, summary table) {
	t.print(paint(true).in(heading, "$ kubectl get cret\n") + f.policy.printed + "\n" +
		strings.Join(summary.lines(true), "\n") + "\n\n" + totalsOf(f).text(true) + "\n\n")
}

func (t *terminal) close() { t.print(showCursor) }

// print writes text in place of the frame.
func (t *terminal) print(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprint(t.out, t.back()+eraseDown+text)
	t.drawn = 0
}

// draw replaces the frame with one write so that it does not flicker.
func (t *terminal) draw(lines []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b bytes.Buffer
	b.WriteString(hideCursor + t.back())
	for _, l := range lines {
		if t.width > 0 {
			l = cut(l, t.width)
		}
		b.WriteString(l + eraseLine + "\n")
	}
	b.WriteString(eraseDown)
	_, _ = t.out.Write(b.Bytes()) // if the terminal closes, its signal ends the demo
	t.drawn = len(lines)
}

// keep leaves the frame on the screen.
func (t *terminal) keep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drawn = 0
}

// back moves to the first line of the frame.
func (t *terminal) back() string {
	if t.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA", t.drawn)
}

// measure reads the terminal's size. After a change the position of the frame is unknown, so it clears the screen.
func (t *terminal) measure() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || height < 4 {
		width, height = 80, 24
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.width != 0 && (width != t.width || height != t.height) {
		fmt.Fprint(t.out, eraseAll)
		t.drawn = 0
	}
	t.width, t.height = width, height
	return width, height
}
