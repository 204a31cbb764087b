package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Policy is a policy as it applies: checked, with its defaults. It is not changed once it is in a Snapshot.
type Policy struct {
	Name       string // of a RetentionPolicy NAMESPACE/NAME, so that no two policies share one
	Namespace  string // where it applies; empty for a ClusterRetentionPolicy
	UID        types.UID
	Created    time.Time
	Generation int64
	Mode       v1alpha1.Mode

	Namespaces labels.Selector  // which namespaces, by label; not asked of a RetentionPolicy
	Excluded   sets.Set[string] // which not, by name
	Variables  []v1alpha1.Variable
	Rules      []*Rule
	Overrides  []*Override
	References []*Reference // none of a RetentionPolicy
	Problems   []Problem    // of the policy and all its rules

	// ServiceAccount of the namespace has the rights with which a RetentionPolicy's rules act.
	ServiceAccount string

	// Rehearsed: it is a dry run only because the operator wants all policies to be.
	Rehearsed bool
	// Terminating: it is suspended only because it is being deleted.
	Terminating bool

	off        []Feature
	meant      []Meant  // fields that are not missing, but misspelt or misplaced
	unread     *Problem // for which nothing is known of its references; nil for none
	namespaced bool     // it is a RetentionPolicy, though perhaps one without a namespace

	Approval Approval
	Limits   *Limits       // nil for none
	Ledger   bool          // its deletions are counted in a RetentionLedger
	Hash     string        // of the spec but for mode, approval, limits and the rules' events and outcomes
	Approved string        // what annotation sunset.x-k8s.io/approved approves, such as ApprovalHash
	Accepted bool          // everything that this form deletes has been approved, now or before a later change was; Load leaves it false
	Gate     *ApprovalGate // where its rules wait for approval; nil for nowhere
}

// ObjectName is the name of the object, without its namespace.
func (p *Policy) ObjectName() string {
	if p.Namespace == "" {
		return p.Name
	}
	return strings.TrimPrefix(p.Name, p.Namespace+"/")
}

// Rule is one rule with its settings. What its expressions say is in Facts, under Key.
type Rule struct {
	ID        RuleID
	PolicyUID types.UID
	// PolicyCreated is when its policy was: of namespaces the older decides at which version a kind is read.
	PolicyCreated time.Time

	Namespace   string // of its RetentionPolicy; empty for a rule of a ClusterRetentionPolicy
	Index       int    // in spec.rules
	Kind        schema.GroupVersionKind
	Mode        v1alpha1.Mode
	TTL         time.Duration // NeverTTL without one; unused when HasTTLExpression
	Keep        int           // how many of the newest of each group stay; 0 for none
	Capacity    Capacity
	Bounds      Bounds
	Propagation metav1.DeletionPropagation
	// Owner: the subject's controller goes instead of the subject; AllowUnfinished: even one that has not finished.
	Owner, AllowUnfinished bool
	// AllowManaged permits the deletion of objects that another controller manages.
	AllowManaged bool

	// NodeSelector says on which nodes a rule about images counts, and Images what else it says. They are nil and zero for
	// any other rule.
	NodeSelector labels.Selector
	Images       Images

	Events   v1alpha1.EventMode
	Spec     v1alpha1.Rule // as written
	Problems []Problem     // why the rule is invalid

	HasTTLExpression bool

	Ledger bool // what it deletes is counted in the RetentionLedger of its policy

	// ServiceAccount, of Namespace, has the rights with which the rule acts; empty for a ClusterRetentionPolicy.
	ServiceAccount string

	// MarksSince is since when marks have been kept without a gap: an earlier one does not count. Zero when they have
	// been as long as anybody knows. In the namespaces of MarksSinceIn the time there counts instead.
	MarksSince   time.Time
	MarksSinceIn map[string]time.Time

	// Unpermitted: ServiceAccount lacks rights, or the API server has not told whether it has them. The rule then keeps everything of
	// its kind.
	Unpermitted bool
	// Unwatched: ServiceAccount lacked rights when the API server last told, or it has not told yet. Sunset does not list or watch
	// objects for this rule alone then.
	Unwatched bool

	// Unapproved, Suspended: the rule keeps what it finds eligible, until its policy is approved or because an override
	// says so.
	Unapproved, Suspended bool
	// Gate is that of the policy where Unapproved; nil when it is not known.
	Gate *ApprovalGate
	// Overrides are those that are about the rule in a namespace.
	Overrides []*Override
	// Trial is the rule as it would be if the namespace's RetentionPolicies that are dry runs were enforced; nil where
	// that is the same.
	Trial *Rule

	// Key names the facts the rule needs: two rules with the same Key ask the same questions. Set when the rule's
	// expressions are compiled, as is Mark, which names the rule's entry among an object's marks; empty without any.
	Key  string
	Mark string
	// ReadsReferences: what the rule says depends on what refers to the object. Set when its expressions are compiled.
	ReadsReferences bool
}

// Capacity is how many eligible subjects may stay. The zero value has no bound.
type Capacity struct {
	Bounded bool
	Max     int
	Percent int // of the namespace's quota, where ByQuota
	ByQuota bool
	Fair    bool // Max counts all namespaces together
}

// Approval is how much a change may delete without approval if no dry run has counted it.
type Approval struct {
	Percent int64 // of what the rules select, where at least 10 are due
	Count   int64
	Always  bool // every form needs approval, and every change that deletes an object
}

// Limits is how many subjects may go on a policy's word in any span as long as Window.
type Limits struct {
	Max    int64
	Window time.Duration
}

// Invalid reports whether the rule cannot be understood. It then deletes nothing, and keeps what it may be about.
func (r *Rule) Invalid() bool { return len(r.Problems) > 0 }

// dryRun reports whether the rule has no say. The zero value of a mode is DryRun; a mode nobody knows is none.
func (r *Rule) dryRun() bool { return r.Mode == v1alpha1.DryRun || r.Mode == "" }

// suspended reports whether the rule keeps what it finds eligible. A mode nobody knows does.
func (r *Rule) suspended() bool { return r.Suspended || !r.dryRun() && r.Mode != v1alpha1.Enforce }

// WritesDown reports whether what the rule lets go is written down first, in the ledger of its policy. One that has no say
// lets nothing go, nor does one that keeps.
func (r *Rule) WritesDown() bool {
	return r.Ledger && !r.dryRun() && !r.suspended() && !r.Unapproved && !r.Unpermitted && !r.Invalid()
}

// Ranks reports whether what the rule says about one subject depends on the others.
func (r *Rule) Ranks() bool { return r.Keep > 0 || r.Capacity.Bounded }

// RanksAtLeastLike reports whether a rule keeps as many of the newest and has the capacity that it had before.
func (r *Rule) RanksAtLeastLike(was *Rule) bool {
	return r.Key == was.Key && r.Keep >= was.Keep && r.Capacity == was.Capacity
}

// UnreadTTL reports whether the rule's own TTL is missing or cannot be read, so that TTL says nothing.
func (r *Rule) UnreadTTL() bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Path == fmt.Sprintf("spec.rules[%d].ttl", r.Index) })
}

// hasTTL reports whether something but the capacity can make a subject due.
func (r *Rule) hasTTL() bool { return r.HasTTLExpression || r.TTL >= 0 }

// sameSettings reports whether both rules give the same verdict on the same facts, and delete the same way.
func (r *Rule) sameSettings(o *Rule) bool {
	return r == o || r.ID == o.ID && r.PolicyUID == o.PolicyUID && r.Key == o.Key && r.Mark == o.Mark && r.Mode == o.Mode && r.TTL == o.TTL &&
		r.HasTTLExpression == o.HasTTLExpression && r.Invalid() == o.Invalid() && r.Keep == o.Keep && r.Capacity == o.Capacity &&
		r.Propagation == o.Propagation && r.Owner == o.Owner && r.AllowUnfinished == o.AllowUnfinished && r.AllowManaged == o.AllowManaged && r.Events == o.Events &&
		r.Kind == o.Kind && r.ServiceAccount == o.ServiceAccount && r.Ledger == o.Ledger &&
		r.MarksSince.Equal(o.MarksSince) && maps.EqualFunc(r.MarksSinceIn, o.MarksSinceIn, time.Time.Equal) && r.Unpermitted == o.Unpermitted && r.Unwatched == o.Unwatched && r.Unapproved == o.Unapproved &&
		r.Suspended == o.Suspended && r.Bounds.equal(o.Bounds) && r.sameImages(o) && sameOverrides(r.Overrides, o.Overrides)
}

// EditedSince reports whether somebody has edited a rule, or what overrides it, since it was as another. What the controller itself
// settles, such as permissions, approval and what a quota allows, is no edit.
func (r *Rule) EditedSince(was *Rule) bool {
	is := *r
	is.Unpermitted, is.Unwatched, is.Unapproved = was.Unpermitted, was.Unwatched, was.Unapproved
	is.MarksSince, is.MarksSinceIn = was.MarksSince, was.MarksSinceIn
	if is.Capacity.ByQuota || was.Capacity.ByQuota {
		is.Capacity = was.Capacity // one that no quota bounds is like none
	}
	return !is.sameSettings(was)
}
