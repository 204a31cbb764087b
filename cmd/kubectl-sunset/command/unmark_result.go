// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// unmarkResult is the result of unmark.
type unmarkResult struct {
	Kinds  int // number of kinds
	DryRun bool
	Errors []string // of discovery, and of kinds
	marked []*unmarkedKind
}

// unmarkedKind counts the objects of one kind.
type unmarkedKind struct {
	Kind   string
	Marked int

	mu     sync.Mutex
	Done   int
	Failed error // the first error
}

// done records the result for one object. It is safe for concurrent use.
func (k *unmarkedKind) done(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil:
		k.Done++
	case k.Failed == nil:
		k.Failed = err
	}
}

// add adds a kind.
func (u *unmarkResult) add(kind *unmarkedKind) {
	if kind.Marked > 0 {
		u.marked = append(u.marked, kind)
	}
	if left := kind.Marked - kind.Done; left > 0 && kind.Failed != nil {
		u.Errors = append(u.Errors, fmt.Sprintf("cannot unmark %s of %s: %v", preview.Count(left, "object"), kind.Kind, kind.Failed))
	}
}

// write writes the counts of each kind that has marks, and the errors.
func (u *unmarkResult) write(out, errOut io.Writer) error {
	marked, done := 0, 0
	for _, kind := range u.marked {
		marked, done = marked+kind.Marked, done+kind.Done
	}
	if err := u.table(out); err != nil {
		return err
	}
	for _, text := range u.Errors {
		fmt.Fprintln(errOut, text)
	}
	switch looked := preview.Count(u.Kinds, "kind"); {
	case u.DryRun:
		fmt.Fprintf(out, "%s marked, of %s (dry run)\n", preview.Count(marked, "object"), looked)
	default:
		fmt.Fprintf(out, "%s unmarked, of %s\n", preview.Count(done, "object"), looked)
	}
	return nil
}

func (u *unmarkResult) table(out io.Writer) error {
	if len(u.marked) == 0 {
		return nil
	}
	header := []string{"KIND", ">MARKED", ">UNMARKED"}
	if u.DryRun {
		header = header[:2]
	}
	return text.NewTable(header...).Write(out, len(u.marked), func(i int) []string {
		kind := u.marked[i]
		return []string{kind.Kind, strconv.Itoa(kind.Marked), strconv.Itoa(kind.Done)}[:len(header)]
	})
}
