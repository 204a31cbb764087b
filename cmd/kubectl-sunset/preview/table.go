// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// WriteTable writes a result as text: all subjects, the counts of each rule, changes, and failures. A wide table has more columns.
func WriteTable(w io.Writer, r *Result, wide bool) error {
	style := text.StyleOf(w)
	if len(r.Rows) == 0 {
		fmt.Fprintln(w, "No rule selects any object.")
	} else if err := writeVerdicts(w, r, wide); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nDue at %s, and within an hour, a day and a week after it:\n", FormatTime(r.At))
	if err := writeSummary(w, r); err != nil {
		return err
	}
	writeEstimates(w, r)
	writeDiff(w, style, r)
	return writeFailures(w, style, r.Failures)
}

func writeVerdicts(w io.Writer, r *Result, wide bool) error {
	header := []string{"NAMESPACE", "KIND", "NAME", "ACTION", "REASON", "DUE", "RULE"}
	sizes := r.HasSizes()
	if sizes {
		header = slices.Insert(header, 3, ">SIZE")
	}
	owners := slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Verdict.Owner != nil })
	if owners {
		header = append(header, "DELETED WITH")
	}
	if wide {
		header = append(header, "START", "TTL", "MESSAGE")
	}
	return text.NewTable(header...).Write(w, len(r.Rows), func(i int) []string {
		row := &r.Rows[i]
		v := &row.Verdict
		cells := []string{cmp.Or(row.Namespace, "-"), row.Kind, row.ShownName(), v.Action.String(), string(v.Reason), due(v.Due, r.At), v.Rule.String()}
		if sizes {
			cells = slices.Insert(cells, 3, r.ShownStorage(row.Storage))
		}
		if owners {
			cells = append(cells, row.ShownOwner())
		}
		if wide {
			d := DecisionOf(*v)
			cells = append(cells, cmp.Or(d.StartTime, "-"), cmp.Or(d.TTL, "-"), cmp.Or(row.Blocked, row.Message, "-"))
		}
		return cells
	})
}

// ShownOwner names the owner that is deleted, and its dependents.
func (r *Row) ShownOwner() string {
	switch o := r.Verdict.Owner; {
	case o == nil:
		return "-"
	case r.Blocked != "":
		return r.Blocked
	case r.Dependents > 0:
		return fmt.Sprintf("%s and its %s", o, Count(r.Dependents, "dependent"))
	default:
		return o.String() + " and all its dependents"
	}
}

// due formats a time and its distance.
func due(t, at time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%s (%s)", Away(t, at), FormatTime(t))
}

// Away formats the distance to a time as kubectl formats ages: "in 3h", "2d ago", "now".
func Away(t, at time.Time) string {
	switch left := t.Sub(at); {
	case left > 0:
		return "in " + duration.HumanDuration(left)
	case left < 0:
		return duration.HumanDuration(-left) + " ago"
	default:
		return "now"
	}
}

func writeSummary(w io.Writer, r *Result) error {
	header := []string{"RULE", ">SELECTED", ">NOW", ">+1H", ">+24H", ">+7D", ">LATER", ">KEPT"}
	return text.NewTable(header...).Write(w, len(r.Counts), func(i int) []string {
		t := &r.Counts[i]
		cells := []string{t.Rule.String(), strconv.Itoa(t.Matched)}
		for _, n := range []Total{t.Now, t.Hour, t.Day, t.Week, t.Later, t.Kept} {
			cells = append(cells, r.ShownTotal(n))
		}
		return cells
	})
}

func writeEstimates(w io.Writer, r *Result) {
	if text := r.Estimates(); text != "" {
		fmt.Fprintf(w, "\n%s\n", text)
	}
}

// failuresShown limits the failures in a table. JSON and YAML have all.
const failuresShown = 20

func writeFailures(w io.Writer, style text.Style, all []Failure) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s:\n", style.Bad(Count(len(all), "error")))
	for _, f := range all[:min(len(all), failuresShown)] {
		fmt.Fprintf(w, "  %s\n", text.Escape(f.inFull()))
	}
	if more := len(all) - failuresShown; more > 0 {
		fmt.Fprintf(w, "  and %d more; use -o json to see all\n", more)
	}
	return nil
}

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
