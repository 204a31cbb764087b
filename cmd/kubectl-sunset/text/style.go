// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Style is how text looks.
type Style struct {
	Width int // columns of wrapped text
	Color bool
}

// Plain is the style of text that is not for a terminal.
var Plain = Style{Width: 80}

// Writer is a writer with a style.
type Writer struct {
	io.Writer
	Style Style
}

// StyleOf returns the style of a Writer, and Plain for any other writer.
func StyleOf(w io.Writer) Style {
	if styled, ok := w.(Writer); ok {
		return styled.Style
	}
	return Plain
}

// The sequences that set a color; see ECMA-48, SGR.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// ForTerminal returns text as it may be written to w: escaped if w is a terminal, and as it is otherwise.
func ForTerminal(w io.Writer, text string) string {
	if _, ok := w.(Writer); ok {
		return Escape(text)
	}
	return text
}

// Good returns text in the color of what works, or of an addition.
func (s Style) Good(text string) string { return s.paint(green, text) }

// Warning returns text in the color of a possible problem.
func (s Style) Warning(text string) string { return s.paint(yellow, text) }

// Bad returns text in the color of a problem, or of a removal.
func (s Style) Bad(text string) string { return s.paint(red, text) }

func (s Style) paint(color, text string) string {
	if !s.Color {
		return text
	}
	return color + text + reset
}

// Wrap breaks text at spaces into lines of at most Width columns. It indents the first line by first, and the others by rest. It
// does not break words, and escapes them.
func (s Style) Wrap(text string, first, rest int) []string {
	var lines []string
	line := strings.Repeat(" ", first)
	empty := true
	for word := range strings.FieldsSeq(text) {
		word = Escape(word)
		if !empty && Columns(line)+1+Columns(word) > s.Width {
			lines = append(lines, line)
			line, empty = strings.Repeat(" ", rest), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return append(lines, line)
}

// Columns returns the number of columns of text without colors.
func Columns(text string) int { return utf8.RuneCountInString(text) }
