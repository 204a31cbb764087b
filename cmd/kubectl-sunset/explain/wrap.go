package explain

import (
	"strings"
	"unicode/utf8"
)

// width is the number of columns of a terminal.
const width = 80

// Wrap breaks text at spaces into lines of at most width columns. It indents the first line by first, and the others by rest.
// It does not break words.
func Wrap(text string, first, rest int) []string {
	var lines []string
	line := strings.Repeat(" ", first)
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && columnsOf(line)+1+columnsOf(word) > width {
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

func columnsOf(text string) int { return utf8.RuneCountInString(text) }
