package report

import (
	"fmt"
	"io"
	"strconv"
)

// Unmarking is what removing marks came to.
type Unmarking struct {
	Kinds   int // looked at
	DryRun  bool
	Trouble []string // what could not be done
	marked  []Unmarked
}

// Unmarked is what became of the objects of one kind.
type Unmarked struct {
	Kind         string
	Marked, Done int
	Failed       error // the first of those that could not be changed
}

// Add adds a kind.
func (u *Unmarking) Add(kind Unmarked) {
	if kind.Marked > 0 {
		u.marked = append(u.marked, kind)
	}
	if left := kind.Marked - kind.Done; left > 0 && kind.Failed != nil {
		u.Trouble = append(u.Trouble, fmt.Sprintf("cannot unmark %s of %s: %v", count(left, "object"), kind.Kind, kind.Failed))
	}
}

// Write writes the counts of each kind that has marks, and what could not be done.
func (u *Unmarking) Write(out, errOut io.Writer) error {
	marked, done := 0, 0
	for _, kind := range u.marked {
		marked, done = marked+kind.Marked, done+kind.Done
	}
	if err := u.table(out); err != nil {
		return err
	}
	for _, text := range u.Trouble {
		fmt.Fprintln(errOut, text)
	}
	switch looked := count(u.Kinds, "kind"); {
	case u.DryRun:
		fmt.Fprintf(out, "%s marked, of %s (dry run)\n", count(marked, "object"), looked)
	default:
		fmt.Fprintf(out, "%s unmarked, of %s\n", count(done, "object"), looked)
	}
	return nil
}

func (u *Unmarking) table(out io.Writer) error {
	if len(u.marked) == 0 {
		return nil
	}
	header := []string{"KIND", ">MARKED", ">UNMARKED"}
	if u.DryRun {
		header = header[:2]
	}
	return columns(out, header, len(u.marked), func(i int) []string {
		kind := u.marked[i]
		return []string{kind.Kind, strconv.Itoa(kind.Marked), strconv.Itoa(kind.Done)}[:len(header)]
	})
}
