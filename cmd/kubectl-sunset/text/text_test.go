// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestTable(t *testing.T) {
	rows := [][]string{{"a", "1", "ok"}, {"long", "10", "bad"}}
	table := text.NewTable("NAME", ">N", "STATE")
	table.Paint = func(column int, cell string) string {
		if column == 2 {
			return text.Style{Color: true}.Good(cell)
		}
		return cell
	}
	var b strings.Builder
	expect.NoError(t, table.Write(&b, len(rows), func(i int) []string { return rows[i] }))
	expect.NoError(t, table.Append(&b, []string{"longer", "1", "ok"}))
	expect.NoError(t, table.Append(&b, []string{"a", "1", ""}))
	expect.Equal(t, "table", "NAME    N   STATE\na       1   \x1b[32mok\x1b[0m\nlong   10   \x1b[32mbad\x1b[0m\nlonger    1   \x1b[32mok\x1b[0m\na         1\n",
		b.String())
	b.Reset()
	expect.NoError(t, text.NewTable("NAME", "KIND").Write(&b, 1, func(int) []string { return []string{"a\x1b[2K", "Job"} }))
	expect.Equal(t, "escaped", "NAME     KIND\na^[[2K   Job\n", b.String())
}

func TestStyle(t *testing.T) {
	inColor := text.Style{Width: 8, Color: true}
	expect.Equal(t, "of any writer", text.Plain, text.StyleOf(&bytes.Buffer{}))
	expect.Equal(t, "of a Writer", inColor, text.StyleOf(text.Writer{Style: inColor}))
	expect.Equal(t, "without color", "no", text.Plain.Bad("no"))
	expect.Equal(t, "in color", "\x1b[31mno\x1b[0m", inColor.Bad("no"))
	expect.Equal(t, "wrapped", []string{"  one", "    two", "    three"}, inColor.Wrap("one two three", 2, 4))
	expect.Equal(t, "escaped", []string{"a^[[2K", "bcd"}, inColor.Wrap("a\x1b[2K bcd", 0, 0))
}

func TestEscape(t *testing.T) {
	expect.Equal(t, "control characters", `^[[2K\r\u009b\x00\b`, text.Escape("\x1b[2K\r\u009b\x00\b"))
	expect.Equal(t, "other text", "é\t日\n", text.Escape("é\t日\n"))
}
