package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// group is one sort of change, as it is headed and counted.
type group struct {
	title string
	has   func(*preview.Change) bool
}

var groups = []group{
	{"newly go now", func(c *preview.Change) bool { return c.What == preview.NewlyGoes && c.After.Action == policy.Delete }},
	{"newly go later", func(c *preview.Change) bool { return c.What == preview.NewlyGoes && c.After.Action != policy.Delete }},
	{"go sooner", func(c *preview.Change) bool { return c.What == preview.Sooner }},
	{"go later", func(c *preview.Change) bool { return c.What == preview.Later }},
	{"newly kept", func(c *preview.Change) bool { return c.What == preview.NewlyKept }},
}

// diff writes what changes against the rules in force, by namespace.
func diff(w io.Writer, r *preview.Result) {
	switch {
	case !r.Compared:
		return
	case len(r.Changes) == 0:
		fmt.Fprintln(w, "\nNo change against the rules in force.")
		return
	}
	fmt.Fprintf(w, "\nAgainst the rules in force: %s\n", totals(r.Changes))
	for rest := r.Changes; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(c preview.Change) bool { return c.Namespace != rest[0].Namespace })
		if n < 0 {
			n = len(rest)
		}
		diffOf(w, rest[:n], r.At)
		rest = rest[n:]
	}
}

func totals(changes []preview.Change) string {
	n := make([]int, len(groups))
	for i := range changes {
		n[groupOf(&changes[i])]++
	}
	return fmt.Sprintf("%d newly go (%d now), %d newly kept, %d sooner, %d later", n[0]+n[1], n[0], n[4], n[2], n[3])
}

func groupOf(c *preview.Change) int {
	return slices.IndexFunc(groups, func(g group) bool { return g.has(c) })
}

// changesShown is how many changes of one group in one namespace a table shows; JSON and YAML have all.
const changesShown = 3

// diffOf writes what changes in one namespace.
func diffOf(w io.Writer, changes []preview.Change, at time.Time) {
	fmt.Fprintln(w, cmp.Or(changes[0].Namespace, "cluster-scoped objects"))
	byGroup := make([][]*preview.Change, len(groups))
	for i := range changes {
		g := groupOf(&changes[i])
		byGroup[g] = append(byGroup[g], &changes[i])
	}
	for g, found := range byGroup {
		if len(found) == 0 {
			continue
		}
		slices.SortStableFunc(found, func(a, b *preview.Change) int { return whenChanged(a).Compare(whenChanged(b)) })
		fmt.Fprintf(w, "  %s: %d\n", groups[g].title, len(found))
		for _, c := range found[:min(len(found), changesShown)] {
			fmt.Fprintf(w, "    %s %s: %s, was %s\n", c.Kind, c.Name, outcome(c.After, at), outcome(c.Before, at))
		}
		if more := len(found) - changesShown; more > 0 {
			fmt.Fprintf(w, "    and %d more\n", more)
		}
	}
}

// moment is when the subject goes, or would have gone: the first to go come first.
func whenChanged(c *preview.Change) time.Time {
	if c.What == preview.NewlyKept {
		return c.Before.Due
	}
	return c.After.Due
}

// outcome is a verdict in two or three words: when it goes, or why not.
func outcome(v policy.Verdict, at time.Time) string {
	if v.Action == policy.Keep {
		return string(v.Reason)
	}
	return "due " + Away(v.Due, at)
}
