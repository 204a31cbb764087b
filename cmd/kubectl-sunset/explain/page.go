package explain

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	Rulings []policy.Evaluation
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

// Page is everything there is to say about one object.
type Page struct {
	At         time.Time
	Object     Object
	Verdict    policy.Verdict
	Owner      *Owner      // what goes instead of it; nil when it goes itself, or nothing does
	References *References // nil where no rule about its kind asks
	Rules      []Rule      // that select it, in the order of the evaluations
	Others     []Other     // about its kind, that do not select it
	Blocks     []Block     // what keeps it though a rule may find it due
	Changes    []Change    // what would change the verdict
	Unread     *Unread     // nil where all policies are known
	Rehearsed  []string    // policies that are dry runs as written, and are judged here as if they were enforced
}

// Unread is what the user may not read of what decides about the object. The page leaves it out, and may be wrong for that.
type Unread struct {
	Errors []error
	Grant  []string // the commands by which an administrator permits it
}

// Object says which object it is.
type Object struct {
	APIVersion, Kind string
	Namespace, Name  string
	Created          time.Time     // zero for an object that no server has seen; of an image when its age began
	Image            *engine.Image // nil for anything else
}

// Rule is a rule that selects the object.
type Rule struct {
	ID          policy.RuleID
	Mode        v1alpha1.Mode
	Says        policy.Verdict // what it would be if the rule were the only one and in force, and nothing held the object
	Problems    []policy.Problem
	Expressions []engine.Explanation
	Settings    []Setting
	Rank        *Rank  // nil when the rule ranks nothing
	Trial       *Trial // nil when no RetentionPolicy only tries to change the rule

	full  string // what has images go by it for want of space
	steps []step // that would change what it says
}

// New writes the page.
func New(in Input) *Page {
	p := &Page{At: in.At, Object: objectOf(in), Verdict: in.Verdict, Unread: in.Unread}
	for _, r := range in.Rulings {
		if r.Known && !r.Facts.Selected {
			p.Others = append(p.Others, unselected(r.Rule))
		} else {
			p.Rules = append(p.Rules, in.rule(r))
		}
	}
	p.Others = append(p.Others, in.Others...)
	p.Owner, p.References = in.owner(), in.references()
	p.settle(&in)
	return p
}

func objectOf(in Input) Object {
	apiVersion, _ := in.Object["apiVersion"].(string)
	kind, _ := in.Object["kind"].(string)
	o := Object{APIVersion: apiVersion, Kind: kind, Namespace: in.Subject.Namespace, Name: in.Subject.Name, Created: in.Subject.Created}
	if policy.StoredAs(schema.FromAPIVersionAndKind(apiVersion, kind)) == v1alpha1.ImageKind.GroupKind() {
		o.Image, _ = engine.ImageOf(in.Object) // one that cannot be read was not judged
	}
	return o
}

func (in *Input) rule(r policy.Evaluation) Rule {
	rule := Rule{
		ID:       r.Rule.ID,
		Mode:     cmp.Or(r.Rule.Mode, v1alpha1.DryRun),
		Says:     says(in.Subject, r, in.At),
		Problems: r.Rule.Problems,
		Settings: slices.Concat(settingsOf(in.Subject, r), in.imagesOf(r.Rule), in.rightsOf(r.Rule)),
		full:     full(r.Rule),
	}
	if !r.Rule.Invalid() {
		rule.Expressions = in.Explanations[r.Rule.ID]
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

// says is what a rule says by itself: a forecast of its policy, of which no other rule has a part.
func says(s policy.Subject, r policy.Evaluation, at time.Time) policy.Verdict {
	s.Flags &= weighed
	return policy.Forecast(s, []policy.Evaluation{r}, r.Rule.ID.Policy, at)
}

func unselected(r *policy.Rule) Other {
	return Other{ID: r.ID, Mode: r.Mode, Why: LabelsDiffer, Message: "its selector wants " + metav1.FormatLabelSelector(r.Spec.Target.Selector), rule: r}
}
