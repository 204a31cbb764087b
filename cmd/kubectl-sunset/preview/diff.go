// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy"
)

// group is a group of changes with a title and its color: more deletions are bad.
type group struct {
	title string
	paint func(text.Style, string) string
	has   func(*Change) bool
}

var groups = []group{
	{"newly deleted now", text.Style.Bad, func(c *Change) bool { return c.Type == NewlyDeleted && c.After.Action == policy.Delete }},
	{"newly deleted later", text.Style.Bad, func(c *Change) bool { return c.Type == NewlyDeleted && c.After.Action != policy.Delete }},
	{"deleted sooner", text.Style.Bad, func(c *Change) bool { return c.Type == Sooner }},
	{"deleted later", text.Style.Good, func(c *Change) bool { return c.Type == Later }},
	{"newly kept", text.Style.Good, func(c *Change) bool { return c.Type == NewlyKept }},
}

// writeDiff writes the changes from the rules in force, by namespace.
func writeDiff(w io.Writer, style text.Style, r *Result) {
	switch {
	case !r.Compared:
		return
	case len(r.Changes) == 0:
		fmt.Fprintln(w, "\nNo changes compared with the rules in force.")
		return
	}
	fmt.Fprintf(w, "\nCompared with the rules in force: %s\n", Totals(r.Changes))
	for rest := r.Changes; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(c Change) bool { return c.Namespace != rest[0].Namespace })
		if n < 0 {
			n = len(rest)
		}
		writeDiffOf(w, style, rest[:n], r.At)
		rest = rest[n:]
	}
}

// Totals describes the numbers of changes of each type.
func Totals(changes []Change) string {
	n := make([]int, len(groups))
	for i := range changes {
		n[groupOf(&changes[i])]++
	}
	return fmt.Sprintf("%d newly deleted (%d now), %d newly kept, %d sooner, %d later", n[0]+n[1], n[0], n[4], n[2], n[3])
}

func groupOf(c *Change) int {
	return slices.IndexFunc(groups, func(g group) bool { return g.has(c) })
}

// changesShown limits the changes that a table shows of one group in one namespace. JSON and YAML have all.
const changesShown = 3

// writeDiffOf writes the changes in one namespace.
func writeDiffOf(w io.Writer, style text.Style, changes []Change, at time.Time) {
	fmt.Fprintln(w, cmp.Or(changes[0].Namespace, "cluster-scoped objects"))
	byGroup := make([][]*Change, len(groups))
	for i := range changes {
		g := groupOf(&changes[i])
		byGroup[g] = append(byGroup[g], &changes[i])
	}
	for g, found := range byGroup {
		if len(found) == 0 {
			continue
		}
		slices.SortStableFunc(found, func(a, b *Change) int { return whenChanged(a).Compare(whenChanged(b)) })
		fmt.Fprintf(w, "  %s: %d\n", groups[g].paint(style, groups[g].title), len(found))
		for _, c := range found[:min(len(found), changesShown)] {
			fmt.Fprintf(w, "    %s %s: %s, was %s\n", c.Kind, text.Escape(c.Name), c.After.Text(at), c.Before.Text(at))
		}
		if more := len(found) - changesShown; more > 0 {
			fmt.Fprintf(w, "    and %d more\n", more)
		}
	}
}

// whenChanged returns when the subject is deleted, or would have been deleted. Changes are sorted by this time.
func whenChanged(c *Change) time.Time {
	if c.Type == NewlyKept {
		return c.Before.Due.Time
	}
	return c.After.Due.Time
}

// Text describes an outcome in two or three words: when the subject is deleted, or why it is kept.
func (o *Outcome) Text(at time.Time) string {
	if o.Action == policy.Keep {
		return string(o.Reason)
	}
	return "due " + Away(o.Due.Time, at)
}
