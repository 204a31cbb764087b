package explain

import (
	"strings"
	"unicode/utf8"
)

// width is how many columns people have.
const width = 80

// Wrap breaks a text at its spaces into lines that fit, the first indented by first, the others by rest. What has no
// space is not broken.
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
