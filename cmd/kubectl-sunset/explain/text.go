// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy"
)

// WriteText writes the page as text. Lines are at most as wide as the terminal, unless a name is longer.
func (p *Page) WriteText(w io.Writer) error {
	buffer := bufio.NewWriter(w)
	e := &textWriter{w: buffer, style: text.StyleOf(w), at: p.At.Time}
	e.head(p)
	e.references(p.References)
	e.targets(p.Targets)
	e.selected(p.Selected)
	for i := range p.Rules {
		e.rule(&p.Rules[i])
	}
	e.others(p)
	e.blocks(p.Blocks)
	e.changes(p.Changes)
	e.unread(p.Unread)
	return buffer.Flush()
}

// textWriter writes the sections of a page.
type textWriter struct {
	w     io.Writer
	style text.Style
	at    time.Time
}

// line writes a line of text. It wraps long text and indents the following lines deeper.
func (e *textWriter) line(indent int, format string, args ...any) {
	for _, line := range e.style.Wrap(fmt.Sprintf(format, args...), indent, indent+4) {
		fmt.Fprintln(e.w, line)
	}
}

func (e *textWriter) title(text string) {
	fmt.Fprintln(e.w)
	e.line(0, "%s", text)
}

func (e *textWriter) head(p *Page) {
	object := &p.Object
	name := object.Name
	if object.Namespace != "" {
		name = object.Namespace + "/" + name
	}
	age := ""
	switch created := object.Created.Time; {
	case created.IsZero():
	case created.After(p.At.Time):
		age = ", created later, at " + preview.FormatTime(created)
	default:
		age = ", " + duration.HumanDuration(p.At.Sub(created)) + " old"
	}
	size := ""
	if object.Bytes > 0 {
		size = ", " + preview.FormatBytes(object.Bytes)
	}
	e.line(0, "%s %s%s%s", object.Kind, name, age, size)
	e.image(object)
	e.line(0, "%s", p.Verdict.Message)
	if p.Owner != nil {
		e.line(0, "%s", ownerIn(p.Owner))
	}
	if p.Unread != nil {
		e.line(0, "INCOMPLETE: you have no permission to read some resources; see below")
	}
	for _, name := range p.AsEnforced {
		e.line(0, "note: policy %s has mode: DryRun; evaluated here as mode: Enforce", name)
	}
}

// ownerIn describes the owner that is deleted, in one sentence.
func ownerIn(o *Owner) string {
	if o.State != OwnerReady {
		return o.Message
	}
	return fmt.Sprintf("%s (%s)", o.Message, o.Propagation)
}

func (e *textWriter) rule(r *Rule) {
	e.title(r.RuleID.String() + ", mode " + string(r.Mode))
	e.line(2, "says %s", e.vote(r.Vote))
	for _, problem := range r.Problems {
		e.line(2, "problem: %s", problem)
	}
	for _, s := range r.Settings {
		e.line(2, "%s", setting(s))
	}
	for _, text := range places(r.Rank) {
		e.line(2, "%s", text)
	}
	e.ifEnforced(r.IfEnforced)
	e.expressions(r.Expressions)
}

// ifEnforced writes what the rule would say if dry-run RetentionPolicies were enforced.
func (e *textWriter) ifEnforced(t *IfEnforced) {
	if t == nil {
		return
	}
	e.line(2, "if RetentionPolicy %s were enforced: says %s", strings.Join(t.From, " and "), e.vote(t.Vote))
	for _, s := range t.Settings {
		e.line(4, "%s", setting(s))
	}
}

// vote says what one rule says: due, keep or nothing.
func (e *textWriter) vote(v Vote) string {
	switch v.Says {
	case "due":
		if v.Reason == policy.OverCapacity {
			return "due now: " + inWords(v.Reason)
		}
		return "due at " + moment(v.Due.Time, e.at)
	case "keep":
		return "keep: " + inWords(v.Reason)
	default:
		return "nothing: " + inWords(v.Reason)
	}
}

func setting(s Setting) string {
	text := s.Name + " " + s.Value
	if s.From != "" {
		text += " from " + s.From
	}
	if s.Note != "" {
		text += "; " + s.Note
	}
	return text
}

// places describes the object's position among others.
func places(r *Rank) []string {
	if r == nil {
		return nil
	}
	var texts []string
	place := "the namespace"
	if r.OnNode {
		place = "the node"
	}
	if r.Keep > 0 && r.Place > 0 {
		group := place
		if r.Group != "" {
			group = fmt.Sprintf("group %q", r.Group)
		}
		texts = append(texts, fmt.Sprintf("rank %d of %d in %s; the newest %s", r.Place, r.Of, group, stay(r.Keep)))
	}
	if r.Keep > 0 && r.Unknown > 0 {
		texts = append(texts, fmt.Sprintf("%s in %s cannot be evaluated; such objects stay, and are not counted", preview.Count(r.Unknown, "object"), place))
	}
	if c := r.Capacity; c != nil {
		where := "in " + place
		if c.AllNamespaces {
			where = "in all namespaces"
		}
		texts = append(texts, fmt.Sprintf("%d eligible %s; at most %s", c.Count, where, stay(c.Max)))
	}
	return texts
}

func stay(n int) string {
	if n == 1 {
		return "1 stays"
	}
	return fmt.Sprintf("%d stay", n)
}

func (e *textWriter) others(p *Page) {
	switch {
	case len(p.Rules) == 0 && len(p.Others) == 0 && p.Unread != nil:
		e.title("No rule that you can read targets its kind.")
		return
	case len(p.Rules) == 0 && len(p.Others) == 0:
		e.title("No rule selects it, because no rule targets its kind.")
		return
	case len(p.Rules) == 0 && p.Unread != nil:
		e.title("No rule that you can read selects it, because:")
	case len(p.Rules) == 0:
		e.title("No rule selects it, because:")
	case len(p.Others) > 0:
		e.title("Other rules for its kind:")
	}
	for _, o := range p.Others {
		e.line(2, "%s: %s (%s)", o.RuleID, o.Message, o.Why)
	}
}

// unread writes the commands without line breaks, so that they can be copied.
func (e *textWriter) unread(u *Unread) {
	if u == nil {
		return
	}
	e.title("Permissions that you need:")
	for _, err := range u.Errors {
		e.line(2, "%s", err)
	}
	e.title("To grant them, an administrator replaces USER with your user name and runs:")
	for _, command := range u.Grant {
		fmt.Fprintf(e.w, "  %s\n", command)
	}
}

func (e *textWriter) blocks(blocks []Block) {
	if len(blocks) == 0 {
		return
	}
	e.title("Blocked by:")
	for i, b := range blocks {
		if !slices.ContainsFunc(blocks[:i], func(before Block) bool { return before.Reason == b.Reason && before.Message == b.Message }) {
			e.line(2, "%s: %s", b.Reason, b.Message) // once for all rules
		}
	}
}

func (e *textWriter) changes(changes []Change) {
	if len(changes) == 0 {
		return
	}
	e.title("Possible changes:")
	for _, c := range changes {
		what := c.What
		switch {
		case c.Self:
			what += " at " + moment(c.At.Time, e.at)
		case c.Stays:
			what += ": it would stay"
		case !c.At.IsZero() && !c.At.After(e.at):
			what += ": it would be deleted now"
		case !c.At.IsZero():
			what += ": it would expire at " + moment(c.At.Time, e.at)
		}
		e.line(2, "- %s", what)
	}
}
