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

// String is the action as want.yaml and preview spell it.
func (a Action) String() string {
	return [...]string{"Keep", "Wait", "Delete"}[a]
}

// MarshalText is the same, for JSON and YAML.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Reason is a stable CamelCase word that says why: metric label, event reason, want.yaml.
type Reason string

// The reasons, in the order in which the first that applies is reported.
const (
	Terminating       Reason = "Terminating"       // somebody deleted it already
	Held              Reason = "Held"              // annotation sunset.x-k8s.io/hold, or something needs it (IsBuiltIn)
	Uncounted         Reason = "Uncounted"         // a Pod its Job has not counted yet
	Pinned            Reason = "Pinned"            // an image that the container runtime must have
	InUse             Reason = "InUse"             // an image that a container or a Pod uses
	EvaluationFailed  Reason = "EvaluationFailed"  // an expression failed or took too long
	RuleInvalid       Reason = "RuleInvalid"       // a rule that cannot be understood may have meant to keep it
	IsForbidden       Reason = "Forbidden"         // a namespace's own rule whose account lacks rights may not look at it
	Stale             Reason = "Stale"             // facts for a rule, or about the cluster, are missing or too old
	ReferencesUnknown Reason = "ReferencesUnknown" // nobody knows what refers to it, and the rule wants to know
	IsSuspended       Reason = "Suspended"         // a suspended rule finds it eligible
	IsUnapproved      Reason = "ApprovalRequired"  // a change of its policy waits for approval
	KeptRecreated     Reason = "Recreated"         // objects of its name come back as fast as they are deleted
	KeptNewest        Reason = "KeptNewest"        // among the newest of its group
	Unpullable        Reason = "Unpullable"        // an image that no registry may have, and the rule does not allow for it
	NoOwner           Reason = "NoOwner"           // its owner is to go, and it has none
	NeverDue          Reason = "NeverDue"          // ttlExpression gave none
	Unmarked          Reason = "Unmarked"          // its time to live starts once the object is marked eligible
	Waiting           Reason = "Waiting"           // due later
	Expired           Reason = "Expired"           // due now
	OverCapacity      Reason = "OverCapacity"      // due now, because there are too many
	WithinCapacity    Reason = "WithinCapacity"    // the rule has no ttl, and there are not too many
	NoStartTime       Reason = "NoStartTime"       // eligible, but startTime gave none
	NotEligible       Reason = "NotEligible"       // eligible gave false
	NotSelected       Reason = "NotSelected"       // no rule selects it

	// Another controller would re-create the object or still needs it, and the rule does not allow for that.
	ManagedByMultiKueue Reason = "ManagedByMultiKueue"
	ManagedByArgoCD     Reason = "ManagedByArgoCD"
	ManagedByFlux       Reason = "ManagedByFlux"
	ManagedByHelm       Reason = "ManagedByHelm"

	// IsLimited is reported where the limits of its policy make a subject that is due wait.
	IsLimited Reason = "LimitReached"
	// IsDryRun is reported where only a dry run finds a subject due.
	IsDryRun Reason = "DryRun"
)

// order is in which order the first reason that applies is reported.
var order = []Reason{
	Terminating, Held, Uncounted, Pinned, InUse, EvaluationFailed, RuleInvalid, IsForbidden, Stale, ReferencesUnknown, IsSuspended, IsUnapproved,
	ManagedByMultiKueue, ManagedByArgoCD, ManagedByFlux, ManagedByHelm, KeptRecreated, KeptNewest,
	Unpullable, NoOwner, NeverDue, Unmarked, Waiting, Expired, OverCapacity, WithinCapacity, NoStartTime, NotEligible, NotSelected, IsLimited, IsDryRun,
}

// SaysNothing reports whether a rule that gives the reason neither keeps a subject nor lets it go.
func (r Reason) SaysNothing() bool {
	return r == NotSelected || r == NotEligible || r == NoStartTime || r == WithinCapacity
}

// lasting are the reasons why rules keep eligible objects until somebody changes the objects or the rules, and that nobody has chosen.
var lasting = []Reason{ManagedByMultiKueue, ManagedByArgoCD, ManagedByFlux, ManagedByHelm, KeptRecreated, NoOwner}

// Lasting are the reasons why rules keep eligible objects until somebody changes the objects or the rules, and that nobody has chosen: the
// policy has a condition of that name meanwhile.
func Lasting() []Reason { return slices.Clone(lasting) }

// Reasons are all reasons, in the order in which the first that applies is reported.
func Reasons() []Reason { return slices.Clone(order) }

// RuleID names a rule. The zero value names none.
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

// Verdict is the whole answer for one subject: what to do, why, and when.
type Verdict struct {
	Action Action
	Reason Reason
	Rule   RuleID        // the rule that decided; zero when none selects the subject
	Start  time.Time     // when the TTL started, floored at creation; zero when no rule gives one
	TTL    time.Duration // meaningful only with a Due and Reason Waiting or Expired
	Due    time.Time     // Start + TTL, or Facts.NotBefore if later; now when OverCapacity; zero when no rule gives one
	Owner  *Owner        // with a Due, what goes instead of the subject; nil when the subject itself does
}
