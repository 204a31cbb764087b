// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Column is what one tool reports.
type Column struct {
	Tool  string
	Found Reported
}

// score compares what a tool reports with what is unused, among some subjects.
type score struct {
	right         int
	wrong, missed []subject // sorted
}

func (s *State) score(found Reported, kind string) (sc score) {
	for subject, unused := range s.unused {
		switch has := found.Has(subject); {
		case kind != "" && subject.kind != kind:
		case has && unused:
			sc.right++
		case has:
			sc.wrong = append(sc.wrong, subject)
		case unused:
			sc.missed = append(sc.missed, subject)
		}
	}
	slices.SortFunc(sc.wrong, compare)
	slices.SortFunc(sc.missed, compare)
	return sc
}

func compare(a, b subject) int {
	return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
}

// count returns how many subjects of a kind are kept, and how many are unused.
func (s *State) count(kind string) (kept, unused int) {
	for subject, is := range s.unused {
		switch {
		case kind != "" && subject.kind != kind:
		case is:
			unused++
		default:
			kept++
		}
	}
	return kept, unused
}

// Write prints a table in Markdown, a row for each kind, and then the objects behind the numbers.
func Write(w io.Writer, s *State, columns []Column) error {
	var b strings.Builder
	b.WriteString("| kind | kept | unused |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.Tool)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, kind := range append(s.kinds(), "") {
		kept, unused := s.count(kind)
		fmt.Fprintf(&b, "| %s | %d | %d |", cmp.Or(kind, "all"), kept, unused)
		for _, c := range columns {
			sc := s.score(c.Found, kind)
			fmt.Fprintf(&b, " %d, %d, %d |", sc.right, len(sc.wrong), len(sc.missed))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nEach tool: unused objects reported, kept objects reported, misses.\n")
	for _, c := range columns {
		sc := s.score(c.Found, "")
		fmt.Fprintf(&b, "\n%s, kept objects reported:\n%s%s, misses:\n%s", c.Tool, lines(sc.wrong), c.Tool, lines(sc.missed))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func lines(all []subject) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	return b.String()
}
