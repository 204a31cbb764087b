// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// OfPreview returns the page of a preview: numbers by policy, kind and namespace, the changes from the rules in force, and every
// object with its reason. The objects that are deleted first come first.
func OfPreview(r *preview.Result) *Page {
	rows := slices.Clone(r.Rows)
	slices.SortStableFunc(rows, func(a, b preview.Row) int { return compareDue(&a, &b) })
	p := &Page{Title: "Preview of deletions", Facts: facts(r)}
	if len(r.Failures) > 0 {
		p.add(fmt.Sprintf("Errors: %d", len(r.Failures)), failures(r.Failures))
	}
	if r.Compared && len(r.Changes) > 0 {
		p.add("Changes from the rules in force", changes(r))
	}
	for _, by := range []struct {
		what string
		of   func(*preview.Row) string
	}{
		{"policy", func(r *preview.Row) string { return r.Verdict.Rule.Policy }},
		{"kind", func(r *preview.Row) string { return r.Kind }},
		{"namespace", func(r *preview.Row) string { return r.Namespace }},
	} {
		p.Sections = append(p.Sections, breakdown(by.what, r, rows, by.of))
	}
	p.add("Objects", objects(r, rows))
	p.add("Reasons", reasons(rows))
	return p
}

func (p *Page) add(title string, t Table) {
	p.Sections = append(p.Sections, Section{Title: title, Table: t})
}

// compareDue orders rows by due time. Objects that are never due are last.
func compareDue(a, b *preview.Row) int {
	if a.Verdict.IsKept() != b.Verdict.IsKept() {
		if b.Verdict.IsKept() {
			return -1
		}
		return 1
	}
	return a.Verdict.Due.Compare(b.Verdict.Due)
}

func facts(r *preview.Result) []Fact {
	var all group
	dryRuns := 0
	for i := range r.Rows {
		all.count(&r.Rows[i], r.At)
		if r.Rows[i].Verdict.Reason == policy.IsDryRun {
			dryRuns++
		}
	}
	facts := []Fact{
		{"Decisions for", preview.FormatTime(r.At)},
		{"Objects", fmt.Sprintf("%d; objects that no rule selects are not shown", len(r.Rows))},
		{"Due now", r.ShownTotal(all.now)},
		{fmt.Sprintf("Due within %d days", ahead), r.ShownTotal(all.soon)},
		{"Due later", r.ShownTotal(all.later)},
		{"Kept", r.ShownTotal(all.kept)},
	}
	if text := r.Estimates(); text != "" {
		facts = append(facts, Fact{"Storage", text})
	}
	if dryRuns > 0 {
		facts = append(facts, Fact{"Dry runs", fmt.Sprintf("%d of the objects with a due time are kept until their policy is enforced", dryRuns)})
	}
	if r.Compared {
		facts = append(facts, Fact{"Compared with the rules in force", preview.Totals(r.Changes)})
	}
	return facts
}

func failures(all []preview.Failure) Table {
	return Table{
		Columns: Columns("Namespace", "Name", "Rule", "Error"),
		Len:     len(all),
		Row: func(i int) []string {
			f := &all[i]
			return []string{cmp.Or(f.Namespace, "-"), cmp.Or(f.Name, "-"), cmp.Or(f.RuleID.String(), "-"), f.Message}
		},
	}
}

func changes(r *preview.Result) Table {
	return Table{
		Columns: Columns("Namespace", "Kind", "Name", "Change", "Before", "After", "Due"),
		Len:     len(r.Changes),
		Row: func(i int) []string {
			c := &r.Changes[i]
			return []string{cmp.Or(c.Namespace, "-"), c.Kind, c.Name, string(c.Type), c.Before.Text(r.At), c.After.Text(r.At), cmp.Or(preview.FormatTime(c.After.Due.Time), "-")}
		},
	}
}

// objects has a row for each object. It has columns for sizes and owners only if there are any.
func objects(r *preview.Result, rows []preview.Row) Table {
	hasSizes := r.HasSizes()
	hasOwners := slices.ContainsFunc(rows, func(r preview.Row) bool { return r.Verdict.Owner != nil })
	columns := Columns("Namespace", "Kind", "Name", "Action", "Reason", "Due", "Rule", "Start", "TTL")
	columns[3].Action = true
	if hasSizes {
		columns = append(columns, Columns(">Size")...)
	}
	if hasOwners {
		columns = append(columns, Columns("Deleted with")...)
	}
	return Table{Columns: columns, Len: len(rows), Row: func(i int) []string {
		row := &rows[i]
		d := preview.DecisionOf(row.Verdict)
		reason := d.Reason
		if row.Message != "" {
			reason += ": " + row.Message
		}
		cells := []string{cmp.Or(row.Namespace, "-"), row.Kind, row.ShownName(), d.Action, reason, cmp.Or(d.DueTime, "-"), cmp.Or(row.Verdict.Rule.String(), "-"),
			cmp.Or(d.StartTime, "-"), cmp.Or(d.TTL, "-")}
		if hasSizes {
			cells = append(cells, r.ShownStorage(row.Storage))
		}
		if hasOwners {
			cells = append(cells, row.ShownOwner())
		}
		return cells
	}}
}

// meanings explains reasons that need no explanation beside a due time.
var meanings = map[policy.Reason]string{
	policy.Waiting:  "its time to live has not ended",
	policy.Expired:  "its time to live has ended",
	policy.IsDryRun: "only a dry run would delete it",
}

func reasons(rows []preview.Row) Table {
	count := map[policy.Reason]int{}
	for i := range rows {
		count[rows[i].Verdict.Reason]++
	}
	known := slices.DeleteFunc(policy.Reasons(), func(r policy.Reason) bool { return count[r] == 0 })
	return Table{Columns: Columns("Reason", "Meaning", ">Objects"), Len: len(known), Row: func(i int) []string {
		return []string{string(known[i]), cmp.Or(explain.Meaning(known[i]), meanings[known[i]], "-"), fmt.Sprint(count[known[i]])}
	}}
}
