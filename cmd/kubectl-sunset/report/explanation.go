package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Explanation writes a page for people, at most 80 columns wide but for names that are longer.
func Explanation(w io.Writer, p *explain.Page) error {
	buffer := bufio.NewWriter(w)
	e := &explanation{w: buffer, at: p.At}
	e.head(p)
	e.references(p.References)
	for i := range p.Rules {
		e.rule(&p.Rules[i])
	}
	e.others(p)
	e.blocks(p.Blocks)
	e.changes(p.Changes)
	e.unread(p.Unread)
	return buffer.Flush()
}

type explanation struct {
	w  io.Writer
	at time.Time
}

// line writes a text, what does not fit on further lines that are indented deeper.
func (e *explanation) line(indent int, format string, args ...any) {
	for _, line := range wrap(fmt.Sprintf(format, args...), indent, indent+4) {
		fmt.Fprintln(e.w, line)
	}
}

func (e *explanation) title(text string) {
	fmt.Fprintln(e.w)
	e.line(0, "%s", text)
}

func (e *explanation) head(p *explain.Page) {
	name := p.Object.Name
	if p.Object.Namespace != "" {
		name = p.Object.Namespace + "/" + name
	}
	age := ""
	if !p.Object.Created.IsZero() {
		age = ", " + duration.HumanDuration(p.At.Sub(p.Object.Created)) + " old"
	}
	e.line(0, "%s %s%s", p.Object.Kind, name, age)
	e.image(&p.Object)
	e.line(0, "%s", Sentence(p.Verdict, p.At))
	if p.Owner != nil {
		e.line(0, "%s", ownerIn(p.Owner))
	}
	if p.Unread != nil {
		e.line(0, "INCOMPLETE: judged without what you may not read; see below")
	}
	for _, name := range p.Rehearsed {
		e.line(0, "note: policy %s says mode: DryRun; judged here as mode: Enforce", name)
	}
}

// ownerIn is the owner that goes instead, in one sentence.
func ownerIn(o *explain.Owner) string {
	if o.State != explain.OwnerReady {
		return o.Message
	}
	return fmt.Sprintf("%s (%s)", o.Message, o.Propagation)
}

// Sentence is a verdict in one sentence.
func Sentence(v policy.Verdict, at time.Time) string {
	text := "stays: " + inWords(v.Reason)
	switch {
	case v.Action == policy.Wait:
		text = "expires at " + moment(v.Due, at)
	case v.Reason == policy.OverCapacity:
		text = "is deleted now: " + words[v.Reason]
	case v.Action == policy.Delete:
		text = "is deleted now: due since " + moment(v.Due, at)
	case v.Reason == policy.IsDryRun:
		text = "stays: DryRun (would expire at " + moment(v.Due, at) + ")"
	}
	if v.Rule == (policy.RuleID{}) || isAboutObject(v.Reason) {
		return text
	}
	return text + ", by rule " + v.Rule.String()
}

// isAboutObject reports whether a reason is the object's, whatever the rules say.
func isAboutObject(r policy.Reason) bool {
	return slices.Contains([]policy.Reason{policy.Terminating, policy.Held, policy.Uncounted, policy.Pinned, policy.InUse}, r)
}

// moment is a time and how far away it is.
func moment(t, at time.Time) string { return FormatTime(t) + ", " + Away(t, at) }

func (e *explanation) rule(r *explain.Rule) {
	e.title(r.ID.String() + ", mode " + string(r.Mode))
	e.line(2, "says %s", e.says(r.Says))
	for _, problem := range r.Problems {
		e.line(2, "problem: %s", problem)
	}
	for _, s := range r.Settings {
		e.line(2, "%s", setting(s))
	}
	for _, text := range places(r.Rank) {
		e.line(2, "%s", text)
	}
	e.trial(r.Trial)
	e.expressions(r.Expressions)
}

// trial is what RetentionPolicies that are dry runs would make of the rule.
func (e *explanation) trial(t *explain.Trial) {
	if t == nil {
		return
	}
	e.line(2, "if RetentionPolicy %s were enforced: says %s", strings.Join(t.From, " and "), e.says(t.Says))
	for _, s := range t.Settings {
		e.line(4, "%s", setting(s))
	}
}

// says is what one rule says: due, keep or nothing.
func (e *explanation) says(v policy.Verdict) string {
	switch said(v) {
	case "due":
		if v.Reason == policy.OverCapacity {
			return "due now: " + inWords(v.Reason)
		}
		return "due at " + moment(v.Due, e.at)
	case "keep":
		return "keep: " + inWords(v.Reason)
	default:
		return "nothing: " + inWords(v.Reason)
	}
}

// said is what a rule says, in a stable word.
func said(v policy.Verdict) string {
	switch v.Reason {
	case policy.Waiting, policy.Expired, policy.OverCapacity:
		return "due"
	case policy.NotEligible, policy.NoStartTime, policy.WithinCapacity, policy.NotSelected:
		return "nothing"
	default:
		return "keep"
	}
}

func setting(s explain.Setting) string {
	text := s.Name + " " + s.Value
	if s.From != "" {
		text += " from " + s.From
	}
	if s.Note != "" {
		text += "; " + s.Note
	}
	return text
}

// places are where an object stands among others.
func places(r *explain.Rank) []string {
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
		texts = append(texts, fmt.Sprintf("%d of %s cannot be judged: they stay, and are not counted", r.Unknown, place))
	}
	if c := r.Room; c != nil {
		where := "in " + place
		if c.Everywhere {
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

func (e *explanation) others(p *explain.Page) {
	switch {
	case len(p.Rules) == 0 && len(p.Others) == 0 && p.Unread != nil:
		e.title("No rule that you may read is about its kind.")
		return
	case len(p.Rules) == 0 && len(p.Others) == 0:
		e.title("Nothing selects it, because no rule is about its kind.")
		return
	case len(p.Rules) == 0 && p.Unread != nil:
		e.title("No rule that you may read selects it, because:")
	case len(p.Rules) == 0:
		e.title("Nothing selects it, because:")
	case len(p.Others) > 0:
		e.title("Rules about its kind that do not select it:")
	}
	for _, o := range p.Others {
		e.line(2, "%s: %s (%s)", o.ID, o.Message, o.Why)
	}
}

// unread writes the commands unbroken, to be copied.
func (e *explanation) unread(u *explain.Unread) {
	if u == nil {
		return
	}
	e.title("What you may not read:")
	for _, err := range u.Errors {
		e.line(2, "%s", err)
	}
	e.title("To permit it, an administrator runs, with your user name for USER:")
	for _, command := range u.Grant {
		fmt.Fprintf(e.w, "  %s\n", command)
	}
}

func (e *explanation) blocks(blocks []explain.Block) {
	if len(blocks) == 0 {
		return
	}
	e.title("What keeps it:")
	for i, b := range blocks {
		if !slices.ContainsFunc(blocks[:i], func(before explain.Block) bool { return before.Reason == b.Reason && before.Message == b.Message }) {
			e.line(2, "%s: %s", b.Reason, b.Message) // once for all rules
		}
	}
}

func (e *explanation) changes(changes []explain.Change) {
	if len(changes) == 0 {
		return
	}
	e.title("What would change it:")
	for _, c := range changes {
		what := c.What
		switch {
		case c.Self:
			what += " at " + moment(c.At, e.at)
		case c.Stays:
			what += ": it would stay"
		case !c.At.IsZero() && !c.At.After(e.at):
			what += ": it would be deleted now"
		case !c.At.IsZero():
			what += ": it would expire at " + moment(c.At, e.at)
		}
		e.line(2, "- %s", what)
	}
}

// inWords is a reason and what it means.
func inWords(r policy.Reason) string {
	text := words[r]
	if text == "" {
		return string(r)
	}
	return string(r) + " (" + text + ")"
}

// words are what the reasons mean.
var words = map[policy.Reason]string{
	policy.Terminating:         "it is being deleted",
	policy.Held:                "annotation " + v1alpha1.HoldAnnotation + ", or something needs it",
	policy.Uncounted:           "its Job has not counted it yet",
	policy.Pinned:              "the container runtime pins it",
	policy.InUse:               "a container or a Pod uses it",
	policy.EvaluationFailed:    "an expression failed",
	policy.RuleInvalid:         "the rule is invalid",
	policy.Stale:               "what the rule says is not known yet",
	policy.ReferencesUnknown:   "what refers to it is not known",
	policy.IsSuspended:         "the rule is suspended and finds it eligible",
	policy.IsUnapproved:        "the policy waits for approval",
	policy.ManagedByMultiKueue: "MultiKueue created it in this worker cluster, and its manager cluster would dispatch it again",
	policy.ManagedByArgoCD:     "Argo CD manages it, and would re-create it",
	policy.ManagedByFlux:       "Flux manages it, and would re-create it",
	policy.ManagedByHelm:       "it is a Helm hook",
	policy.KeptRecreated:       "it, or the owner to delete, was re-created under its name three times, each time within a minute after Sunset deleted it",
	policy.KeptNewest:          "among the newest of its group",
	policy.Unpullable:          "it has no digest: no registry may have it",
	policy.NoOwner:             "the rule deletes the owner of the object, and it has none",
	policy.NeverDue:            "ttlExpression gives none",
	policy.Unmarked:            "not marked eligible yet",
	policy.OverCapacity:        "the capacity of the rule is exceeded",
	policy.WithinCapacity:      "no capacity or threshold of the rule is exceeded",
	policy.NoStartTime:         "eligible, but startTime gives none",
	policy.NotEligible:         "eligible gives false",
	policy.NotSelected:         "no rule in force selects it",
}
