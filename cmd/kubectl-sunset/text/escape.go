// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"strings"
	"unicode"
)

// Escape makes control characters visible, so that the names and messages of objects do not control the terminal. ESC becomes ^[, as in
// kubectl. Line breaks and tabs stay.
func Escape(text string) string { return escape(text, isControl) }

// EscapeLine is Escape for text that is part of a line: it makes line breaks and tabs visible too, so that a name cannot begin a line.
func EscapeLine(text string) string { return escape(text, unicode.IsControl) }

func escape(text string, isControl func(rune) bool) string {
	if !strings.ContainsFunc(text, isControl) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\x1b':
			b.WriteString("^[")
		case isControl(r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
