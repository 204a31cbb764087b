package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// Table writes a result for people: every subject, what each rule does, what changes, and what failed.
func Table(w io.Writer, r *preview.Result) error {
	if len(r.Rows) == 0 {
		fmt.Fprintln(w, "No rule selects any object.")
	} else if err := verdicts(w, r); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nDue at %s, and within an hour, a day and a week after it:\n", FormatTime(r.At))
	if err := summary(w, r.Tallies); err != nil {
		return err
	}
	diff(w, r)
	return failures(w, r.Failures)
}

func verdicts(w io.Writer, r *preview.Result) error {
	header := []string{"NAMESPACE", "KIND", "NAME", "ACTION", "REASON", "DUE", "RULE"}
	images := slices.ContainsFunc(r.Rows, func(row preview.Row) bool { return row.Image != nil })
	if images {
		header = slices.Insert(header, 3, ">SIZE")
	}
	owners := slices.ContainsFunc(r.Rows, func(row preview.Row) bool { return row.Verdict.Owner != nil })
	if owners {
		header = append(header, "GOES WITH")
	}
	return columns(w, header, len(r.Rows), func(i int) []string {
		row := &r.Rows[i]
		v := &row.Verdict
		cells := []string{orDash(row.Namespace), row.Kind, nameOf(row), v.Action.String(), string(v.Reason), due(v.Due, r.At), v.Rule.String()}
		if images {
			cells = slices.Insert(cells, 3, sizeOf(row))
		}
		if owners {
			cells = append(cells, owner(row))
		}
		return cells
	})
}

// owner is with which owner an object goes, and what goes with that.
func owner(row *preview.Row) string {
	switch o := row.Verdict.Owner; {
	case o == nil:
		return "-"
	case row.Message != "":
		return row.Message
	case row.Dependents > 0:
		return fmt.Sprintf("%s and its %s", o, count(row.Dependents, "dependent"))
	default:
		return o.String() + " and all it owns"
	}
}

// due is a time, and how far away it is.
func due(t, at time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%s (%s)", Away(t, at), FormatTime(t))
}

// Away says how far away a time is, the way kubectl tells ages: "in 3h", "2d ago", "now".
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

func summary(w io.Writer, tallies []preview.Tally) error {
	header := []string{"RULE", ">SELECTED", ">NOW", ">+1H", ">+24H", ">+7D", ">LATER", ">KEPT"}
	return columns(w, header, len(tallies), func(i int) []string {
		t := &tallies[i]
		cells := []string{t.Rule.String()}
		b := &t.Bytes
		bytes := []int64{0, b.Now, b.Hour, b.Day, b.Week, b.Later, b.Kept}
		for i, n := range []int{t.Matched, t.Now, t.Hour, t.Day, t.Week, t.Later, t.Kept} {
			cells = append(cells, strconv.Itoa(n)+inBytes(bytes[i]))
		}
		return cells
	})
}

// failuresShown is how many failures a table shows; JSON and YAML have all.
const failuresShown = 20

func failures(w io.Writer, all []preview.Failure) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s:\n", count(len(all), "error"))
	for _, f := range all[:min(len(all), failuresShown)] {
		fmt.Fprintf(w, "  %s%s%s\n", subject(f), rule(f), f.Message)
	}
	if more := len(all) - failuresShown; more > 0 {
		fmt.Fprintf(w, "  and %d more; -o json has them all\n", more)
	}
	return nil
}

func subject(f preview.Failure) string {
	switch {
	case f.Name == "":
		return ""
	case f.Namespace == "":
		return f.Name + ": "
	default:
		return f.Namespace + "/" + f.Name + ": "
	}
}

// rule is the rule that a failure is about, if it is about one.
func rule(f preview.Failure) string {
	if f.Rule == (policy.RuleID{}) {
		return ""
	}
	return f.Rule.String() + ": "
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
