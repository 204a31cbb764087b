package preview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// group is one sort of change, as it is headed and counted.
type group struct {
	title string
	has   func(*Change) bool
}

var groups = []group{
	{"newly go now", func(c *Change) bool { return c.What == NewlyGoes && c.After.Action == policy.Delete }},
	{"newly go later", func(c *Change) bool { return c.What == NewlyGoes && c.After.Action != policy.Delete }},
	{"go sooner", func(c *Change) bool { return c.What == Sooner }},
	{"go later", func(c *Change) bool { return c.What == Later }},
	{"newly kept", func(c *Change) bool { return c.What == NewlyKept }},
}

// writeDiff writes what changes against the rules in force, by namespace.
func writeDiff(w io.Writer, r *Result) {
	switch {
	case !r.Compared:
		return
	case len(r.Changes) == 0:
		fmt.Fprintln(w, "\nNo change against the rules in force.")
		return
	}
	fmt.Fprintf(w, "\nAgainst the rules in force: %s\n", totals(r.Changes))
	for rest := r.Changes; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(c Change) bool { return c.Namespace != rest[0].Namespace })
		if n < 0 {
			n = len(rest)
		}
		writeDiffOf(w, rest[:n], r.At)
		rest = rest[n:]
	}
}

func totals(changes []Change) string {
	n := make([]int, len(groups))
	for i := range changes {
		n[groupOf(&changes[i])]++
	}
	return fmt.Sprintf("%d newly go (%d now), %d newly kept, %d sooner, %d later", n[0]+n[1], n[0], n[4], n[2], n[3])
}

func groupOf(c *Change) int {
	return slices.IndexFunc(groups, func(g group) bool { return g.has(c) })
}

// changesShown is how many changes of one group in one namespace a table shows; JSON and YAML have all.
const changesShown = 3

// writeDiffOf writes what changes in one namespace.
func writeDiffOf(w io.Writer, changes []Change, at time.Time) {
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
		fmt.Fprintf(w, "  %s: %d\n", groups[g].title, len(found))
		for _, c := range found[:min(len(found), changesShown)] {
			fmt.Fprintf(w, "    %s %s: %s, was %s\n", c.Kind, c.Name, c.After.text(at), c.Before.text(at))
		}
		if more := len(found) - changesShown; more > 0 {
			fmt.Fprintf(w, "    and %d more\n", more)
		}
	}
}

// whenChanged is when the subject goes, or would have gone: the first to go come first.
func whenChanged(c *Change) time.Time {
	if c.What == NewlyKept {
		return c.Before.Due.Time
	}
	return c.After.Due.Time
}

// text is an outcome in two or three words: when the subject is deleted, or why not.
func (o *Outcome) text(at time.Time) string {
	if o.Action == policy.Keep {
		return string(o.Reason)
	}
	return "due " + Away(o.Due.Time, at)
}
