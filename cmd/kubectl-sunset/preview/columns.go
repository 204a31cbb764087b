package preview

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// gap separates columns.
const gap = "   "

// WriteColumns writes rows below a header. Each column is as wide as its widest cell. It calls row twice for each row, and
// stores none. A column whose header starts with ">" is aligned to the right.
func WriteColumns(w io.Writer, header []string, rows int, row func(int) []string) error {
	right := make([]bool, len(header))
	for c := range header {
		header[c], right[c] = strings.CutPrefix(header[c], ">")
	}
	widths := make([]int, len(header))
	measure := func(cells []string) {
		for c, cell := range cells {
			widths[c] = max(widths[c], utf8.RuneCountInString(cell))
		}
	}
	measure(header)
	for i := range rows {
		measure(row(i))
	}
	if _, err := fmt.Fprintln(w, aligned(header, widths, right)); err != nil {
		return err
	}
	for i := range rows {
		if _, err := fmt.Fprintln(w, aligned(row(i), widths, right)); err != nil {
			return err
		}
	}
	return nil
}

// aligned returns one line of a table.
func aligned(cells []string, widths []int, right []bool) string {
	var line strings.Builder
	for c, cell := range cells {
		if c > 0 {
			line.WriteString(gap)
		}
		pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell))
		if right[c] {
			line.WriteString(pad + cell)
		} else {
			line.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(line.String(), " ")
}
