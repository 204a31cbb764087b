// SPDX-License-Identifier: Apache-2.0

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

// Policy is a checked policy with its defaults. It does not change once it is in a Snapshot.
type Policy struct {
	Name       string // unique: NAMESPACE/NAME for a RetentionPolicy
	Namespace  string // where it applies; empty for a ClusterRetentionPolicy
	UID        types.UID
	Created    time.Time
	Generation int64
	Mode       v1alpha1.Mode

	// Windows and Freezes restrict when its rules delete; Windows is nil for any time.
	Windows *Windows
	Freezes []Freeze

	Namespaces labels.Selector  // where it applies, by label; unused for a RetentionPolicy
	Excluded   sets.Set[string] // where it does not apply, by name
	Variables  []v1alpha1.Variable
	Rules      []*Rule
	Overrides  []*Override
	References []*Reference // empty for a RetentionPolicy
	Problems   []Problem    // of the policy and all its rules

	// ServiceAccount of the namespace whose permissions the rules of a RetentionPolicy need.
	ServiceAccount string

	// ForcedDryRun: it is a dry run only because the operator has set all policies to DryRun.
	ForcedDryRun bool
	// Terminating: it is suspended only because it is being deleted.
	Terminating bool

	off        []Feature
	meant      []Meant  // misspelt or misplaced fields, which are not missing
	unread     *Problem // why its references are unknown; nil if they are known
	namespaced bool     // a RetentionPolicy, even if its namespace is missing

	Approval Approval
	Limits   *Limits          // nil for none
	Ledger   bool             // a RetentionLedger counts its deletions
	Hash     string           // of the spec without mode, approval, limits, and the events of rules
	Approved sets.Set[string] // the hashes that its approvals name, such as ApprovalHash; Load leaves it empty
	Gate     *ApprovalGate    // where its rules wait for approval; nil if none waits

	// Approvals are those of the approved hashes by which this version deletes, in order. Load leaves it empty.
	Approvals []string
}

// ObjectName is the name of the object, without its namespace.
func (p *Policy) ObjectName() string {
	if p.Namespace == "" {
		return p.Name
	}
	return strings.TrimPrefix(p.Name, p.Namespace+"/")
}

// DeletesOwners reports whether a valid rule deletes the owners of objects.
func (p *Policy) DeletesOwners() bool {
	return slices.ContainsFunc(p.Rules, func(r *Rule) bool { return r.Owner && !r.Invalid() })
}

// DefaultEligible is the expression of a rule without eligible.
const DefaultEligible = "true"

// Rule is one rule with its settings. Facts has the results of its expressions, under Key.
type Rule struct {
	ID          RuleID
	PolicyUID   types.UID
	Namespace   string // of its RetentionPolicy; empty for a rule of a ClusterRetentionPolicy
	Index       int    // in spec.rules
	Kind        schema.GroupVersionKind
	Preferred   schema.GroupVersionKind // for a rule of a RetentionPolicy: the version that the API server prefers; zero if not known
	Mode        v1alpha1.Mode
	TTL         time.Duration // NeverTTL without one; unused when HasTTLExpression
	Keep        int           // how many of the newest in each group are kept
	Capacity    Capacity
	Bounds      Bounds
	Windows     []*Windows // of its policy and of overrides: one of each must be open
	Freezes     []Freeze   // in which it deletes nothing, ordered by time
	Propagation metav1.DeletionPropagation
	// Owner: the rule deletes the subject's controller instead of the subject; AllowUnfinished: even if it has not finished.
	Owner, AllowUnfinished bool
	// AllowManaged permits the deletion of objects that another controller manages.
	AllowManaged bool

	// Archive says where the rule archives what it deletes; nil if it does not archive.
	Archive *Archive

	// Snapshot says that a VolumeSnapshot of the claim must be ready before the rule deletes it; nil if the rule makes none.
	Snapshot *ClaimSnapshot

	// NodeSelector selects the nodes for a rule about images, and Images has its other settings. They are nil and zero for all
	// other rules.
	NodeSelector labels.Selector
	Images       Images

	Events   v1alpha1.EventMode
	Spec     v1alpha1.Rule // as written
	Problems []Problem     // why the rule is invalid

	HasTTLExpression bool

	Ledger bool // the RetentionLedger of its policy counts its deletions

	// ServiceAccount, of Namespace, has the permissions that the rule needs; empty for a ClusterRetentionPolicy.
	ServiceAccount string

	// MarksSince is the time since which marks have been maintained without a gap. An earlier mark is invalid. Zero means that no
	// gap is known. In the namespaces of MarksSinceIn the time there applies instead.
	MarksSince   time.Time
	MarksSinceIn map[string]time.Time

	// Unpermitted: ServiceAccount lacks permissions, or the API server has not said yet whether it has them. The rule then keeps
	// all objects of its kind.
	Unpermitted bool
	// Unwatched: ServiceAccount lacked permissions at the last answer of the API server, or the API server has not answered yet.
	// Sunset then does not list or watch objects for this rule alone.
	Unwatched bool

	// Unapproved, Suspended: the rule keeps the objects that it finds eligible, until its policy is approved or because of an
	// override.
	Unapproved, Suspended bool
	// Gate is the gate of the policy if Unapproved; nil if it is unknown.
	Gate *ApprovalGate
	// Overrides are the overrides of the rule in a namespace.
	Overrides []*Override
	// IfEnforced is the rule as it would be if dry-run RetentionPolicies of the namespace were enforced; nil if it would be the same.
	IfEnforced *Rule

	// Key identifies the facts that the rule needs: two rules with the same Key have the same expressions. It is set when the
	// expressions are compiled, like Mark. Mark names the rule's entry among the marks of an object; empty if the rule has no
	// marks.
	Key  string
	Mark string
	// Relations is what the rule asks about other objects. It is set when the expressions are compiled.
	Relations Relations
}

// Capacity is the maximum number of eligible subjects. The zero value means no maximum.
type Capacity struct {
	Bounded bool
	Max     int
	Percent int // of the namespace's quota, if ByQuota
	ByQuota bool
	Fair    bool // Max counts all namespaces together
}

// Approval is how many objects a change may delete without approval, if no dry run has counted the change.
type Approval struct {
	MaxPercent int64 // of the objects that the rules select; applies if at least 10 are due
	MaxObjects int64
	AllChanges bool // every version needs approval, and every change that deletes an object
}

// Limits is how many subjects a policy may delete within any period as long as Window.
type Limits struct {
	Max    int64
	Window time.Duration
}

// Invalid reports whether the rule has problems. It then deletes nothing, and keeps all subjects that it may select.
func (r *Rule) Invalid() bool { return len(r.Problems) > 0 }

// dryRun reports whether the rule takes no part in decisions. The zero value of a mode is DryRun; an unknown mode is not.
func (r *Rule) dryRun() bool { return r.Mode == v1alpha1.DryRun || r.Mode == "" }

// suspended reports whether the rule keeps the subjects that it finds eligible. A rule with an unknown mode does.
func (r *Rule) suspended() bool { return r.Suspended || !r.dryRun() && r.Mode != v1alpha1.Enforce }

// NeedsLedgerEntry reports whether the ledger of the policy must record each deletion by this rule first. It is false for a rule that
// deletes nothing: a dry run, or a rule that only keeps.
func (r *Rule) NeedsLedgerEntry() bool {
	return r.Ledger && !r.dryRun() && !r.suspended() && !r.Unapproved && !r.Unpermitted && !r.Invalid()
}

// Ranks reports whether the decision of the rule about one subject depends on other subjects.
func (r *Rule) Ranks() bool { return r.Keep > 0 || r.Capacity.Bounded }

// RanksAtLeastLike reports whether a rule keeps at least as many of the newest as an earlier version, and has the same capacity.
func (r *Rule) RanksAtLeastLike(was *Rule) bool {
	return r.Key == was.Key && r.Keep >= was.Keep && r.Capacity == was.Capacity
}

// ReadsReferences reports whether the facts depend on other objects, by references or selectors.
func (r *Rule) ReadsReferences() bool { return r.Relations != 0 }

// UnreadTTL reports whether the rule's own TTL is missing or cannot be read, so that TTL has no meaning.
func (r *Rule) UnreadTTL() bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Path == fmt.Sprintf("spec.rules[%d].ttl", r.Index) })
}

// hasTTL reports whether a subject can become due without the capacity.
func (r *Rule) hasTTL() bool { return r.HasTTLExpression || r.TTL >= 0 }

// sameSettings reports whether both rules give the same verdict on the same facts, and delete in the same way.
func (r *Rule) sameSettings(o *Rule) bool {
	return r == o || r.ID == o.ID && r.PolicyUID == o.PolicyUID && r.Key == o.Key && r.Mark == o.Mark && r.Mode == o.Mode && r.TTL == o.TTL &&
		r.HasTTLExpression == o.HasTTLExpression && r.Invalid() == o.Invalid() && r.Keep == o.Keep && r.Capacity == o.Capacity &&
		r.Propagation == o.Propagation && r.Owner == o.Owner && r.AllowUnfinished == o.AllowUnfinished && r.AllowManaged == o.AllowManaged && r.Archive.Equal(o.Archive) && r.Snapshot.Equal(o.Snapshot) && r.Events == o.Events &&
		r.Kind == o.Kind && r.ServiceAccount == o.ServiceAccount && r.Ledger == o.Ledger &&
		r.MarksSince.Equal(o.MarksSince) && maps.EqualFunc(r.MarksSinceIn, o.MarksSinceIn, time.Time.Equal) && r.Unpermitted == o.Unpermitted && r.Unwatched == o.Unwatched && r.Unapproved == o.Unapproved &&
		r.Suspended == o.Suspended && r.Bounds.equal(o.Bounds) && r.sameImages(o) && sameOverrides(r.Overrides, o.Overrides) &&
		sameWindows(r.Windows, o.Windows) && slices.Equal(r.Freezes, o.Freezes)
}

// KeepsAtLeastLike reports whether a rule keeps every subject, with the same facts, at least as long as an earlier version, and marks
// no others: nothing has changed, or it waits for approval now.
func (r *Rule) KeepsAtLeastLike(was *Rule) bool {
	return r.sameSettings(was) || r.Unapproved && !r.dryRun() && r.ID == was.ID && r.Key == was.Key &&
		r.Invalid() == was.Invalid() && r.Unpermitted == was.Unpermitted
}

// EditedSince reports whether a user has edited a rule or its overrides since an earlier version. Changes by the controller
// itself, such as permissions, approval and the maximum from a quota, are not edits.
func (r *Rule) EditedSince(was *Rule) bool {
	is := *r
	is.Unpermitted, is.Unwatched, is.Unapproved = was.Unpermitted, was.Unwatched, was.Unapproved
	is.MarksSince, is.MarksSinceIn = was.MarksSince, was.MarksSinceIn
	is.Freezes = was.Freezes // some are of other policies
	if is.Capacity.ByQuota || was.Capacity.ByQuota {
		is.Capacity = was.Capacity // a capacity without a quota looks like no capacity
	}
	return !is.sameSettings(was)
}
