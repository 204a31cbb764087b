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

// Input is what a page is made of.
type Input struct {
	At        time.Time
	Object    map[string]any
	Namespace policy.Namespace // the object's; zero for a cluster-scoped one
	Subject   policy.Subject   // the object as it is in its namespace, held if that is
	Verdict   policy.Verdict   // for the reason DryRun, with its due time, where only a dry run finds it due
	// Evaluations are of all rules that apply to the kind in the namespace, with their settings there.
	Evaluations []policy.Evaluation
	// Explanations and Ranks are of those that select the object; a rule that ranks nothing has no rank.
	Explanations map[policy.RuleID][]engine.Explanation
	Ranks        map[policy.RuleID]Rank
	// Others do not apply in the namespace: OthersIn finds them.
	Others []Other
	// Status is what the cluster says of its policies, by name; those of files have none.
	Status map[string]v1alpha1.RetentionPolicyStatus
	// Unread is nil where all policies are known.
	Unread *Unread
	// Facts are what a rule says about an object as it is not, but could be. Without it only rules that select the object are looked at.
	Facts func(*policy.Rule, map[string]any) policy.Facts
	// FindOwner reads the object's owner; it gives nil for one that is not there. Without it no owner is looked at.
	FindOwner func(policy.Owner) (map[string]any, error)
	// References is what refers to a ConfigMap or Secret; nil where no rule about its kind asks.
	References *engine.References
	// UsedBy is what uses an image, where that is known.
	UsedBy string
	// Filesystem has the images of the node, where that is known.
	Filesystem *v1alpha1.NodeImageFilesystem
}

// Page is everything there is to say about one object. This is also its format in JSON and YAML, which is stable.
type Page struct {
	At preview.Time `json:"at"`
	Object
	Verdict    Verdict     `json:"verdict"`
	Owner      *Owner      `json:"owner,omitempty"`            // what is deleted instead; nil when it is the object itself, or nothing
	References *References `json:"references,omitempty"`       // nil where no rule about its kind asks
	Rules      []Rule      `json:"rules"`                      // that select it, in the order of the evaluations
	Others     []Other     `json:"otherRules"`                 // about its kind, that do not select it
	Blocks     []Block     `json:"blocks"`                     // what keeps it though a rule may find it due
	Changes    []Change    `json:"changes"`                    // what would change the verdict
	Unread     *Unread     `json:"incomplete,omitempty"`       // nil where all policies are known
	AsEnforced []string    `json:"judgedAsEnforced,omitempty"` // policies that are dry runs as written, and are evaluated here as if enforced
}

// Unread is what the user may not read of what decides about the object. The page leaves it out, and may be wrong for that.
type Unread struct {
	Errors []string `json:"errors"`
	Grant  []string `json:"grant"` // the commands by which an administrator permits it
}

// Object says which object it is.
type Object struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Namespace  string       `json:"namespace,omitempty"`
	Name       string       `json:"name"`
	Created    preview.Time `json:"creationTimestamp,omitzero"` // zero for an object that no server has seen; of an image when its age began
	Image      *Image       `json:"image,omitempty"`            // nil for anything else
}

// Verdict is the verdict on the object, in words too.
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
	Rank        *Rank        `json:"rank,omitempty"`  // nil when the rule ranks nothing
	Trial       *Trial       `json:"trial,omitempty"` // nil when no RetentionPolicy only tries to change the rule
	Expressions []Expression `json:"expressions"`

	fullFilesystem string // what has images go by it for want of space
	steps          []step // that would change what it says
}

// Vote is what a rule says about the object: what it would be if the rule were the only one and in force, and nothing held the object.
type Vote struct {
	Says   string        `json:"says"` // due, keep or nothing
	Reason policy.Reason `json:"reason"`
	Start  preview.Time  `json:"startTime,omitzero"`
	Due    preview.Time  `json:"dueTime,omitzero"`
}

// Expression is an expression of a rule, and what it and its parts give for the object.
type Expression struct {
	Field   string        `json:"field"`
	Text    string        `json:"text"`
	Tag     string        `json:"tag,omitempty"` // of an image with several, the one that is asked about
	Value   string        `json:"value,omitempty"`
	Error   string        `json:"error,omitempty"`
	Skipped bool          `json:"skipped,omitempty"`
	Parts   []engine.Part `json:"parts,omitempty"`
}

// New writes the page.
func New(in Input) *Page {
	p := &Page{
		At: preview.Time{Time: in.At}, Object: objectOf(in), Verdict: Verdict{preview.DecisionOf(in.Verdict), Sentence(in.Verdict, in.At)},
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
	p.Owner, p.References = in.owner(), in.references()
	p.findChanges(&in)
	return p
}

func objectOf(in Input) Object {
	apiVersion, _ := in.Object["apiVersion"].(string)
	kind, _ := in.Object["kind"].(string)
	o := Object{APIVersion: apiVersion, Kind: kind, Namespace: in.Subject.Namespace, Name: in.Subject.Name, Created: preview.Time{Time: in.Subject.Created}}
	if policy.StoredAs(schema.FromAPIVersionAndKind(apiVersion, kind)) == v1alpha1.ImageKind.GroupKind() {
		image, _ := engine.ImageOf(in.Object) // one that cannot be read was not judged
		o.Image = imageOf(image, in.Subject.Created)
	}
	return o
}

func (in *Input) rule(r policy.Evaluation) Rule {
	rule := Rule{
		RuleID:         r.Rule.ID,
		Mode:           cmp.Or(r.Rule.Mode, v1alpha1.DryRun),
		Vote:           voteOf(verdictAlone(in.Subject, r, in.At)),
		Settings:       append([]Setting{}, slices.Concat(settingsOf(in.Subject, r), in.imageSettings(r.Rule), in.accountSetting(r.Rule))...),
		Expressions:    []Expression{},
		fullFilesystem: fullFilesystem(r.Rule),
	}
	for _, problem := range r.Rule.Problems {
		rule.Problems = append(rule.Problems, problem.String())
	}
	if !r.Rule.Invalid() {
		rule.Expressions = expressionsOf(in.Explanations[r.Rule.ID])
	}
	if rank, ok := in.Ranks[r.Rule.ID]; ok {
		rank.OnNode = r.Rule.OnNodes()
		rule.Rank = &rank
	}
	rule.Trial = in.trial(r, &rule)
	rule.steps = in.stepsOf(r, &rule)
	return rule
}

// weighed are the flags of a subject that each rule weighs for itself. The others keep the subject whatever the rules say.
const weighed = policy.HasTTL | policy.OfMultiKueue | policy.OfArgoCD | policy.OfFlux | policy.OfHelm

// verdictAlone is what a rule says by itself: a forecast of its policy, of which no other rule has a part.
func verdictAlone(s policy.Subject, r policy.Evaluation, at time.Time) policy.Verdict {
	s.Flags &= weighed
	return policy.Forecast(s, []policy.Evaluation{r}, r.Rule.ID.Policy, at)
}

func voteOf(v policy.Verdict) Vote {
	vote := Vote{Says: "keep", Reason: v.Reason, Start: preview.Time{Time: v.Start}, Due: preview.Time{Time: v.Due}}
	switch v.Reason {
	case policy.Waiting, policy.Expired, policy.OverCapacity:
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
	return Other{RuleID: r.ID, Mode: r.Mode, Why: LabelsDiffer, Message: "its selector wants " + metav1.FormatLabelSelector(r.Spec.Target.Selector), rule: r}
}
