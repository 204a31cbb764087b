// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Input holds everything that a page depends on.
type Input struct {
	At        time.Time
	Object    map[string]any
	Namespace policy.Namespace // of the object; zero if it is cluster-scoped
	Subject   policy.Subject   // the object with the facts of its namespace, such as a hold
	Verdict   policy.Verdict   // with reason DryRun and the due time if only a dry run finds it due
	// Evaluations are those of all rules for the kind in the namespace, with the settings of that namespace.
	Evaluations []policy.Evaluation
	// Explanations and Ranks are for the rules that select the object. A rule without ranking has no Rank.
	Explanations map[policy.RuleID][]engine.Explanation
	Ranks        map[policy.RuleID]Rank
	// Others do not apply in the namespace: see OthersOf.
	Others []Other
	// Status is the status of the cluster's policies by name. Policies in files have none.
	Status map[string]v1alpha1.RetentionPolicyStatus
	// Unread is nil if all policies are known.
	Unread *Unread
	// Facts returns the facts of a rule about a hypothetical object. If it is nil, only rules that select the object are
	// considered.
	Facts func(*policy.Rule, map[string]any) policy.Facts
	// FindOwner gets the object's owner; it returns nil if the owner does not exist. If FindOwner is nil, owners are not
	// considered.
	FindOwner func(policy.Owner) (map[string]any, error)
	// FindVolume gets the PersistentVolume of a claim; it returns nil if the volume does not exist. If FindVolume is nil, the reclaim
	// policy is unknown.
	FindVolume func(name string) (map[string]any, error)
	// References holds what rules for its kind ask about other objects, which Asked says; nil if they ask nothing.
	References *engine.References
	Asked      policy.Relations
	// UsedBy names what uses an image, if that is known.
	UsedBy string
	// Filesystem is the filesystem of the node's images, if that is known.
	Filesystem *v1alpha1.NodeImageFilesystem
}

// Page explains one object. It is also the format in JSON and YAML, of kind Explanation, which is stable.
type Page struct {
	metav1.TypeMeta `json:",inline"`
	At              preview.Time `json:"at"`
	Object          Object       `json:"object"`
	Verdict         Verdict      `json:"verdict"`
	Owner           *Owner       `json:"owner,omitempty"`               // the owner that is deleted instead; nil if there is none
	References      *References  `json:"references,omitempty"`          // nil if no rule for its kind reads references
	Targets         *Targets     `json:"targets,omitempty"`             // nil if no rule for its kind reads targets
	Selected        *Selected    `json:"selected,omitempty"`            // nil if no rule for its kind reads selected
	Rules           []Rule       `json:"rules"`                         // rules that select it, in the order of the evaluations
	Others          []Other      `json:"otherRules"`                    // rules for its kind that do not select it
	Blocks          []Block      `json:"blocks"`                        // what keeps it although a rule may find it due
	Changes         []Change     `json:"changes"`                       // what would change the decision
	Unread          *Unread      `json:"incomplete,omitempty"`          // nil if all policies are known
	AsEnforced      []string     `json:"evaluatedAsEnforced,omitempty"` // policies that are dry runs in the file, but are evaluated as if enforced
}

// Unread lists resources that the decision depends on but that the user has no permission to read. Without them the page may be
// wrong.
type Unread struct {
	Errors []string `json:"errors"`
	Grant  []string `json:"grant"` // commands by which an administrator grants the permission
}

// Object identifies the object.
type Object struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Namespace  string       `json:"namespace,omitempty"`
	Name       string       `json:"name"`
	Created    preview.Time `json:"creationTimestamp,omitzero"` // zero if unknown; for an image, the start of its age
	Bytes      int64        `json:"bytes,omitempty"`            // the largest size that a rule gives which finds it eligible; the size of an image is in image
	Image      *Image       `json:"image,omitempty"`            // nil for other kinds
}

// Verdict is the decision about the object, with a sentence.
type Verdict struct {
	preview.Decision
	Message string `json:"message"`
}

// Rule is a rule that selects the object.
type Rule struct {
	policy.RuleID
	Mode v1alpha1.Mode `json:"mode"`
	Vote
	Problems    []string     `json:"problems,omitempty"`
	Settings    []Setting    `json:"settings"`
	Rank        *Rank        `json:"rank,omitempty"`       // nil if the rule has no ranking
	IfEnforced  *IfEnforced  `json:"ifEnforced,omitempty"` // nil if no dry-run RetentionPolicy changes the rule
	Expressions []Expression `json:"expressions"`

	fullFilesystem string // when the rule deletes images because the filesystem is full
	steps          []step // that would change the rule's evaluation
}

// Vote is what a rule says about the object: the decision if it were the only rule, were enforced, and nothing held the object.
type Vote struct {
	Says   string        `json:"says"` // due, keep or nothing
	Reason policy.Reason `json:"reason"`
	Start  preview.Time  `json:"startTime,omitzero"`
	Due    preview.Time  `json:"dueTime,omitzero"`
}

// Expression is an expression of a rule, and the values of it and of its parts for the object.
type Expression struct {
	Field   string        `json:"field"`
	Text    string        `json:"text"`
	Tag     string        `json:"tag,omitempty"` // the tag it was evaluated for, if the image has several
	Value   string        `json:"value,omitempty"`
	Error   string        `json:"error,omitempty"`
	Skipped bool          `json:"skipped,omitempty"`
	Parts   []engine.Part `json:"parts,omitempty"`
}

// New returns the page.
func New(in Input) *Page {
	p := &Page{
		TypeMeta: preview.TypeMeta("Explanation"),
		At:       preview.Time{Time: in.At}, Object: objectOf(in), Verdict: Verdict{preview.DecisionOf(in.Verdict), Sentence(in.Verdict, in.At)},
		Unread: in.Unread, Rules: []Rule{}, Others: []Other{}, Blocks: []Block{}, Changes: []Change{},
	}
	for _, r := range in.Evaluations {
		if r.Known && !r.Facts.Selected {
			p.Others = append(p.Others, unselected(r.Rule))
		} else {
			p.Rules = append(p.Rules, in.rule(r))
		}
	}
	p.Others = append(p.Others, in.Others...)
	p.Owner = in.owner()
	in.relate(p)
	p.findChanges(&in)
	return p
}

func objectOf(in Input) Object {
	apiVersion, _ := in.Object["apiVersion"].(string)
	kind, _ := in.Object["kind"].(string)
	o := Object{APIVersion: apiVersion, Kind: kind, Namespace: in.Subject.Namespace, Name: in.Subject.Name, Created: preview.Time{Time: in.Subject.Created}}
	if policy.StoredAs(schema.FromAPIVersionAndKind(apiVersion, kind)) == v1alpha1.ImageKind.GroupKind() {
		image, _ := engine.ImageOf(in.Object) // an image that cannot be read has no decision
		o.Image = imageOf(image, in.Subject.Created)
	} else {
		o.Bytes = (*policy.Prices)(nil).OfLargest(in.Evaluations).Bytes
	}
	return o
}

func (in *Input) rule(r policy.Evaluation) Rule {
	rule := Rule{
		RuleID:         r.Rule.ID,
		Mode:           cmp.Or(r.Rule.Mode, v1alpha1.DryRun),
		Vote:           voteOf(verdictAlone(in.Subject, r, in.At)),
		Settings:       append([]Setting{}, slices.Concat(settingsOf(in.Subject, r, in.At), in.claimSettings(r), in.imageSettings(r.Rule), in.accountSetting(r.Rule))...),
		Expressions:    []Expression{},
		Problems:       policy.Lines(r.Rule.Problems),
		fullFilesystem: fullFilesystem(r.Rule),
	}
	if !r.Rule.Invalid() {
		rule.Expressions = expressionsOf(in.Explanations[r.Rule.ID])
	}
	if rank, ok := in.Ranks[r.Rule.ID]; ok {
		rank.OnNode = r.Rule.OnNodes()
		rule.Rank = &rank
	}
	rule.IfEnforced = in.ifEnforced(r, &rule)
	rule.steps = in.stepsOf(r, &rule)
	return rule
}

// weighed are the flags of a subject that each rule handles itself. The other flags keep the subject independently of the
// rules.
const weighed = policy.HasTTL | policy.OfMultiKueue | policy.OfArgoCD | policy.OfFlux | policy.OfHelm

// verdictAlone returns the decision of one rule alone: a forecast of its policy without any other rule.
func verdictAlone(s policy.Subject, r policy.Evaluation, at time.Time) policy.Verdict {
	s.Flags &= weighed
	return policy.Forecast(s, []policy.Evaluation{r}, r.Rule.ID.Policy, at)
}

func voteOf(v policy.Verdict) Vote {
	vote := Vote{Says: "keep", Reason: v.Reason, Start: preview.Time{Time: v.Start}, Due: preview.Time{Time: v.Due}}
	switch v.Reason {
	case policy.Waiting, policy.Deferred, policy.Expired, policy.OverCapacity:
		vote.Says = "due"
	case policy.NotEligible, policy.NoStartTime, policy.WithinCapacity, policy.NotSelected:
		vote.Says = "nothing"
	}
	return vote
}

func expressionsOf(explained []engine.Explanation) []Expression {
	all := make([]Expression, len(explained))
	for i, e := range explained {
		all[i] = Expression{Field: e.Field, Text: e.Text, Tag: e.Tag, Value: e.Value, Skipped: e.Skipped, Parts: e.Parts}
		if e.Err != nil {
			all[i].Error = e.Err.Error()
		}
	}
	return all
}

func unselected(r *policy.Rule) Other {
	return Other{RuleID: r.ID, Mode: r.Mode, Why: LabelsDiffer, Message: "its selector is " + metav1.FormatLabelSelector(r.Spec.Target.Selector), rule: r}
}
