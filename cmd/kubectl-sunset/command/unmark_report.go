// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// UnmarkReport is the result of unmark in JSON and YAML. The format is stable.
type UnmarkReport struct {
	metav1.TypeMeta `json:",inline"`
	DryRun          bool            `json:"dryRun"`
	KindsRead       int             `json:"kindsRead"`        // also those without marked objects
	Kinds           []*UnmarkedKind `json:"kinds"`            // those with marked objects
	Errors          []string        `json:"errors,omitempty"` // of the discovery of kinds, of lists and of changes
}

// UnmarkedKind counts the objects of one kind.
type UnmarkedKind struct {
	Kind     string `json:"kind"`     // as Kind.group
	Marked   int    `json:"marked"`   // objects that had a mark
	Unmarked int    `json:"unmarked"` // objects from which the command removed the mark

	mu       sync.Mutex
	failures int
	failed   error // the first error
}

// done records the result for one object. It is safe for concurrent use.
func (k *UnmarkedKind) done(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.Unmarked++
		return
	}
	k.failures++
	k.failed = cmp.Or(k.failed, err)
}

// add adds a kind.
func (u *UnmarkReport) add(kind *UnmarkedKind) {
	if kind.Marked > 0 {
		u.Kinds = append(u.Kinds, kind)
	}
	if kind.failures > 0 {
		u.Errors = append(u.Errors, fmt.Sprintf("cannot unmark %s of %s: %v", preview.Count(kind.failures, "object"), kind.Kind, kind.failed))
	}
}

// writeText writes the counts of each kind that has marks, and their sum.
func (u *UnmarkReport) writeText(w io.Writer) error {
	marked, unmarked := 0, 0
	for _, kind := range u.Kinds {
		marked, unmarked = marked+kind.Marked, unmarked+kind.Unmarked
	}
	if err := u.table(w); err != nil {
		return err
	}
	kinds := preview.Count(u.KindsRead, "kind")
	if u.DryRun {
		_, err := fmt.Fprintf(w, "%s marked, of %s (dry run)\n", preview.Count(marked, "object"), kinds)
		return err
	}
	_, err := fmt.Fprintf(w, "%s unmarked, of %s\n", preview.Count(unmarked, "object"), kinds)
	return err
}

func (u *UnmarkReport) table(w io.Writer) error {
	if len(u.Kinds) == 0 {
		return nil
	}
	header := []string{"KIND", ">MARKED", ">UNMARKED"}
	if u.DryRun {
		header = header[:2]
	}
	return text.NewTable(header...).Write(w, len(u.Kinds), func(i int) []string {
		kind := u.Kinds[i]
		return []string{kind.Kind, strconv.Itoa(kind.Marked), strconv.Itoa(kind.Unmarked)}[:len(header)]
	})
}
