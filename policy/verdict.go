// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
	"time"
)

// Action is what the caller must do. The zero value is Keep, so a forgotten assignment can never delete anything.
type Action int

const (
	Keep   Action = iota // leave the subject alone
	Wait                 // look again at Verdict.Due
	Delete               // delete the subject now
)

// String is the action as in want.yaml and preview.
func (a Action) String() string {
	return [...]string{"Keep", "Wait", "Delete"}[a]
}

// MarshalText gives the same text, for JSON and YAML.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Reason is a stable CamelCase word that says why: metric label, event reason, want.yaml.
type Reason string

// The reasons, in order of priority: the first that applies is reported.
const (
	Terminating       Reason = "Terminating"       // it is already being deleted
	Held              Reason = "Held"              // annotation sunset-k8s.io/hold, or it is needed (IsBuiltIn)
	Uncounted         Reason = "Uncounted"         // a Pod that its Job has not counted yet
	Pinned            Reason = "Pinned"            // an image that the container runtime needs
	InUse             Reason = "InUse"             // an image that a container or a Pod uses
	EvaluationFailed  Reason = "EvaluationFailed"  // an expression failed or took too long
	RuleInvalid       Reason = "RuleInvalid"       // an invalid rule may select it
	IsForbidden       Reason = "Forbidden"         // the ServiceAccount of a RetentionPolicy lacks permissions
	Stale             Reason = "Stale"             // facts for a rule, or about the cluster, are missing or too old
	ReferencesUnknown Reason = "ReferencesUnknown" // the rule reads references, and those to it are unknown
	IsSuspended       Reason = "Suspended"         // a suspended rule finds it eligible
	IsUnapproved      Reason = "ApprovalRequired"  // a change of its policy waits for approval
	KeptRecreated     Reason = "Recreated"         // objects of its name are created again as fast as they are deleted
	KeptNewest        Reason = "KeptNewest"        // among the newest of its group
	Unpullable        Reason = "Unpullable"        // an image that may not exist in any registry, without allowUnpullable
	NoOwner           Reason = "NoOwner"           // the rule deletes owners, and it has none
	NeverDue          Reason = "NeverDue"          // ttlExpression gave optional.none()
	Unmarked          Reason = "Unmarked"          // its time to live starts when the object is marked eligible
	NoCommonWindow    Reason = "NoCommonWindow"    // the windows of the rules that find it due do not open at the same time
	Waiting           Reason = "Waiting"           // due later
	Deferred          Reason = "Deferred"          // its time to live has ended; windows or freezes defer the deletion
	Expired           Reason = "Expired"           // due now
	OverCapacity      Reason = "OverCapacity"      // due now, because there are too many
	WithinCapacity    Reason = "WithinCapacity"    // the rule has no ttl, and there are not too many
	NoStartTime       Reason = "NoStartTime"       // eligible, but startTime gave optional.none()
	NotEligible       Reason = "NotEligible"       // eligible gave false
	NotSelected       Reason = "NotSelected"       // no rule selects it

	// Another controller would re-create the object or still needs it, and the rule does not set allowManaged.
	ManagedByMultiKueue Reason = "ManagedByMultiKueue"
	ManagedByArgoCD     Reason = "ManagedByArgoCD"
	ManagedByFlux       Reason = "ManagedByFlux"
	ManagedByHelm       Reason = "ManagedByHelm"

	// IsLimited is reported if the limits of the policy delay a due subject.
	IsLimited Reason = "LimitReached"
	// IsDryRun is reported if only a dry run finds a subject due.
	IsDryRun Reason = "DryRun"
)

// order has the reasons in order of priority: the first that applies is reported.
var order = []Reason{
	Terminating, Held, Uncounted, Pinned, InUse, EvaluationFailed, RuleInvalid, IsForbidden, Stale, ReferencesUnknown, IsSuspended, IsUnapproved,
	ManagedByMultiKueue, ManagedByArgoCD, ManagedByFlux, ManagedByHelm, KeptRecreated, KeptNewest,
	Unpullable, NoOwner, NeverDue, Unmarked, NoCommonWindow, Waiting, Deferred, Expired, OverCapacity, WithinCapacity, NoStartTime, NotEligible, NotSelected, IsLimited, IsDryRun,
}

// SaysNothing reports whether a rule with this reason neither keeps nor deletes the subject.
func (r Reason) SaysNothing() bool {
	return r == NotSelected || r == NotEligible || r == NoStartTime || r == WithinCapacity
}

// lasting is the result of Lasting.
var lasting = []Reason{ManagedByMultiKueue, ManagedByArgoCD, ManagedByFlux, ManagedByHelm, KeptRecreated, NoOwner, NoCommonWindow}

// Lasting are the unintended reasons for which rules keep eligible objects until a user changes the objects or the rules. Until
// then, the policy has a condition with the name of the reason.
func Lasting() []Reason { return slices.Clone(lasting) }

// Reasons are all reasons, in order of priority: the first that applies is reported.
func Reasons() []Reason { return slices.Clone(order) }

// RuleID names a rule. The zero value names no rule.
type RuleID struct {
	Policy string `json:"policy,omitempty"`
	Rule   string `json:"rule,omitempty"`
}

// String is POLICY/RULE, or empty for the zero value.
func (id RuleID) String() string {
	if id == (RuleID{}) {
		return ""
	}
	return id.Policy + "/" + id.Rule
}

// Compare orders by policy name, then rule name.
func (id RuleID) Compare(other RuleID) int {
	if c := strings.Compare(id.Policy, other.Policy); c != 0 {
		return c
	}
	return strings.Compare(id.Rule, other.Rule)
}

// Verdict is the decision about one subject: what to do, why, and when.
type Verdict struct {
	Action Action
	Reason Reason
	Rule   RuleID        // the rule that decided; zero if no rule selects the subject
	Start  time.Time     // when the TTL started, not before creation; zero if no rule gives it
	TTL    time.Duration // valid only with Due and Reason Waiting, Deferred or Expired

	// Due is when the subject is deleted: at Start + TTL, or Facts.NotBefore if later; now if OverCapacity. If windows or freezes
	// defer the deletion, it is the time to which they do. Zero if no rule gives it.
	Due   time.Time
	Owner *Owner // with Due, deleted instead of the subject; nil if the subject itself is deleted

	// Again is when to decide again, for NoCommonWindow: the windows certainly do not open together before. Zero otherwise.
	Again time.Time
}

// IsKept reports whether nothing would delete the subject, even if every dry run were enforced. A subject that only a dry run keeps
// has a due time, and is not kept.
func (v Verdict) IsKept() bool { return v.Action == Keep && v.Reason != IsDryRun }
