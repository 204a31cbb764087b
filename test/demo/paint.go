// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"unicode/utf8"
)

// tone is the meaning of a text's colour. The zero value has no colour.
type tone int

const (
	plainTone tone = iota
	heading        // names a column or a part
	quiet          // in the past
	steady         // does not change
	urgent         // happens soon
	good
	bad
	busy
)

var codes = map[tone]string{
	heading: "1", quiet: "2", steady: "33", urgent: "1;36", good: "32", bad: "31", busy: "36",
}

// paint reports whether texts may have colours.
type paint bool

func (p paint) in(t tone, text string) string {
	code, ok := codes[t]
	if !bool(p) || !ok || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// cut shortens a line with colours to this number of visible columns.
func cut(line string, columns int) string {
	var b strings.Builder
	for seen := 0; line != ""; {
		if strings.HasPrefix(line, "\x1b[") {
			end := strings.IndexByte(line, 'm') + 1
			b.WriteString(line[:end])
			line = line[end:]
			continue
		}
		_, size := utf8.DecodeRuneInString(line)
		if seen++; seen <= columns {
			b.WriteString(line[:size])
		}
		line = line[size:]
	}
	return b.String()
}
