package policy

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Subject is one version of one thing a rule may delete. Its identity is its kind and UID, never the name alone.
type Subject struct {
	Namespace       string // empty for cluster-scoped kinds
	Name            string
	UID             types.UID
	ResourceVersion string    // the version that was judged
	Created         time.Time // start times are floored here
	Flags           Flags
}

// Flags are properties of a subject that keep it whatever the rules say.
type Flags uint8

const (
	// Terminating: deletionTimestamp is set; somebody deleted it already.
	IsTerminating Flags = 1 << iota
	// IsHeld: annotation sunset.x-k8s.io/hold is present with a value other than "false".
	IsHeld
	// IsUncounted: a Pod with finalizer batch.kubernetes.io/job-tracking, which its Job has not counted yet.
	IsUncounted
)

// Has reports whether all of the given flags are set.
func (f Flags) Has(flags Flags) bool { return f&flags == flags }

// Facts is what the CEL of one rule says about one version of one subject. It changes only when the subject does.
// The zero value says that the rule does not select the subject.
type Facts struct {
	Selected bool          // the rule's label selector matches
	Eligible bool          // what eligible gave
	Start    time.Time     // what startTime gave; zero when it gave none
	TTL      time.Duration // what ttlExpression gave, rounded up never down; NeverTTL when it gave none; 0 without one
	Err      error         // the expression that failed, or the deadline that passed; nothing else is set then but Selected
}

// NeverTTL is the TTL of a subject whose ttlExpression gave none: the rule keeps it.
const NeverTTL time.Duration = -1
