package report

import (
	"encoding/json"
	"io"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// page is an explanation in JSON and YAML. The format is stable.
type page struct {
	At         string          `json:"at"`
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Namespace  string          `json:"namespace,omitempty"`
	Name       string          `json:"name"`
	Created    string          `json:"creationTimestamp,omitempty"`
	Image      *pageImage      `json:"image,omitempty"`
	Verdict    verdict         `json:"verdict"`
	Owner      *pageOwner      `json:"owner,omitempty"` // what goes instead
	References *pageReferences `json:"references,omitempty"`
	Rules      []pageRule      `json:"rules"`
	Others     []pageOther     `json:"otherRules"`
	Blocks     []pageBlock     `json:"blocks"`
	Changes    []pageChange    `json:"changes"`
	Unread     *pageUnread     `json:"incomplete,omitempty"`
	Rehearsed  []string        `json:"judgedAsEnforced,omitempty"` // policies whose files say DryRun
}

// verdict has what Verdict says of more than one object, without the object.
type verdict struct {
	Action    string `json:"action"`
	Reason    string `json:"reason"`
	Policy    string `json:"policy,omitempty"`
	Rule      string `json:"rule,omitempty"`
	StartTime string `json:"startTime,omitempty"` // with dueTime only
	TTL       string `json:"ttl,omitempty"`       // with dueTime only
	DueTime   string `json:"dueTime,omitempty"`
	Message   string `json:"message"`
}

type pageOwner struct {
	Owner
	State       string `json:"state"` // Ready, Stays, Leaves or Unknown
	Message     string `json:"message"`
	Propagation string `json:"propagationPolicy"`
}

type pageRule struct {
	Policy      string           `json:"policy"`
	Rule        string           `json:"rule"`
	Mode        string           `json:"mode"`
	Says        string           `json:"says"` // due, keep or nothing
	Reason      string           `json:"reason"`
	StartTime   string           `json:"startTime,omitempty"`
	DueTime     string           `json:"dueTime,omitempty"`
	Problems    []string         `json:"problems,omitempty"`
	Settings    []pageSetting    `json:"settings"`
	Rank        *pageRank        `json:"rank,omitempty"`
	Trial       *pageTrial       `json:"trial,omitempty"`
	Expressions []pageExpression `json:"expressions"`
}

type pageSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from,omitempty"`
	Note  string `json:"note,omitempty"`
}

// pageTrial is the rule as it would be if RetentionPolicies that are dry runs were enforced.
type pageTrial struct {
	RetentionPolicies []string      `json:"retentionPolicies"`
	Says              string        `json:"says"`
	Reason            string        `json:"reason"`
	StartTime         string        `json:"startTime,omitempty"`
	DueTime           string        `json:"dueTime,omitempty"`
	Settings          []pageSetting `json:"settings"`
}

type pageRank struct {
	Group    string        `json:"group,omitempty"`
	Place    int           `json:"place,omitempty"`
	Of       int           `json:"of,omitempty"`
	Keep     int           `json:"keep,omitempty"`
	Unknown  int           `json:"unknown,omitempty"`
	Capacity *pageCapacity `json:"capacity,omitempty"`
}

type pageCapacity struct {
	Count         int  `json:"count"`
	Max           int  `json:"max"`
	AllNamespaces bool `json:"allNamespaces,omitempty"`
}

type pageExpression struct {
	Field   string     `json:"field"`
	Text    string     `json:"text"`
	Tag     string     `json:"tag,omitempty"` // of an image with several, the one that is asked about
	Value   string     `json:"value,omitempty"`
	Error   string     `json:"error,omitempty"`
	Skipped bool       `json:"skipped,omitempty"`
	Parts   []pagePart `json:"parts,omitempty"`
}

type pagePart struct {
	Text     string `json:"text"`
	Variable string `json:"variable,omitempty"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Depth    int    `json:"depth"`
	Value    string `json:"value,omitempty"`
	Error    string `json:"error,omitempty"`
	Skipped  bool   `json:"skipped,omitempty"`
}

// pageUnread is what the page leaves out.
type pageUnread struct {
	Errors []string `json:"errors"`
	Grant  []string `json:"grant"` // the commands by which an administrator permits it
}

type pageOther struct {
	Policy  string `json:"policy"`
	Rule    string `json:"rule"`
	Mode    string `json:"mode"`
	Why     string `json:"why"`
	Message string `json:"message"`
}

type pageBlock struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

type pageChange struct {
	What  string `json:"what"`
	At    string `json:"at,omitempty"`    // when the object would be deleted
	Stays bool   `json:"stays,omitempty"` // it would not be deleted
}

// ExplanationJSON writes a page for programs.
func ExplanationJSON(w io.Writer, p *explain.Page) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(newPage(p))
}

// ExplanationYAML writes the same as YAML.
func ExplanationYAML(w io.Writer, p *explain.Page) error {
	data, err := yaml.Marshal(newPage(p))
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

func newPage(p *explain.Page) page {
	return page{
		At:         FormatTime(p.At),
		APIVersion: p.Object.APIVersion,
		Kind:       p.Object.Kind,
		Namespace:  p.Object.Namespace,
		Name:       p.Object.Name,
		Created:    known(p.Object.Created),
		Image:      newImage(&p.Object),
		Verdict:    newVerdict(p.Verdict, p.At),
		Owner:      newOwner(p.Owner),
		References: newReferences(p.References),
		Rules:      each(p.Rules, newRule),
		Others: each(p.Others, func(o explain.Other) pageOther {
			return pageOther{o.ID.Policy, o.ID.Rule, string(o.Mode), string(o.Why), o.Message}
		}),
		Blocks:    each(p.Blocks, func(b explain.Block) pageBlock { return pageBlock{string(b.Reason), b.Message, b.Remedy} }),
		Changes:   each(p.Changes, func(c explain.Change) pageChange { return pageChange{c.What, known(c.At), c.Stays} }),
		Unread:    newUnread(p.Unread),
		Rehearsed: p.Rehearsed,
	}
}

func newUnread(u *explain.Unread) *pageUnread {
	if u == nil {
		return nil
	}
	return &pageUnread{each(u.Errors, error.Error), u.Grant}
}

func newOwner(o *explain.Owner) *pageOwner {
	if o == nil {
		return nil
	}
	return &pageOwner{*NewOwner(&o.Owner), string(o.State), o.Message, string(o.Propagation)}
}

func newVerdict(v policy.Verdict, at time.Time) verdict {
	out := verdict{
		Action: v.Action.String(), Reason: string(v.Reason), Policy: v.Rule.Policy, Rule: v.Rule.Rule, Message: Sentence(v, at),
	}
	if !v.Due.IsZero() {
		out.StartTime, out.DueTime = known(v.Start), known(v.Due)
		if v.TTL >= 0 {
			out.TTL = policy.FormatTTL(v.TTL)
		}
	}
	return out
}

func newRule(r explain.Rule) pageRule {
	out := pageRule{
		Policy: r.ID.Policy, Rule: r.ID.Rule, Mode: string(r.Mode), Says: said(r.Says), Reason: string(r.Says.Reason),
		StartTime: known(r.Says.Start), DueTime: known(r.Says.Due),
		Settings:    each(r.Settings, newSetting),
		Expressions: each(r.Expressions, newExpression),
	}
	for _, problem := range r.Problems {
		out.Problems = append(out.Problems, problem.String())
	}
	if r.Rank != nil {
		out.Rank = newRank(*r.Rank)
	}
	if t := r.Trial; t != nil {
		out.Trial = &pageTrial{t.From, said(t.Says), string(t.Says.Reason), known(t.Says.Start), known(t.Says.Due), each(t.Settings, newSetting)}
	}
	return out
}

func newSetting(s explain.Setting) pageSetting { return pageSetting(s) }

func newRank(r explain.Rank) *pageRank {
	out := &pageRank{Group: r.Group, Place: r.Place, Of: r.Of, Keep: r.Keep, Unknown: r.Unknown}
	if r.Room != nil {
		out.Capacity = &pageCapacity{r.Room.Count, r.Room.Max, r.Room.Everywhere}
	}
	return out
}

func newExpression(e engine.Explanation) pageExpression {
	out := pageExpression{Field: e.Field, Text: e.Text, Tag: e.Tag, Value: e.Value, Skipped: e.Skipped}
	if e.Err != nil {
		out.Error = e.Err.Error()
	}
	out.Parts = each(e.Parts, func(p engine.Part) pagePart {
		return pagePart{p.Text, p.Variable, p.Line, p.Column, p.Depth, p.Value, p.Err, p.Skipped}
	})
	return out
}

// each is never nil, so that a list without elements is written as one.
func each[From, To any](all []From, convert func(From) To) []To {
	converted := make([]To, 0, len(all))
	for _, from := range all {
		converted = append(converted, convert(from))
	}
	return converted
}

// known is a time as it is written, and empty when it is not known.
func known(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return FormatTime(t)
}
