package policy

import (
	"errors"
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
	OwnTTL          time.Duration // what annotation sunset.x-k8s.io/ttl says; meaningful with HasTTL
}

// Flags are properties of a subject. HasTTL says nothing by itself; the flags of other controllers (Manager) and IsRecreated
// are for each rule to weigh; all others keep the subject whatever the rules say.
type Flags uint16

const (
	// Terminating: deletionTimestamp is set; somebody deleted it already.
	IsTerminating Flags = 1 << iota
	// IsHeld: annotation sunset.x-k8s.io/hold is present with a value other than "false".
	IsHeld
	// IsUncounted: a Pod with finalizer batch.kubernetes.io/job-tracking, which its Job has not counted yet.
	IsUncounted
	// HasTTL: annotation sunset.x-k8s.io/ttl sets a time to live of its own, OwnTTL.
	HasTTL
	// IsPinned: an image that the container runtime must have, such as that of the sandboxes.
	IsPinned
	// IsInUse: an image of a container or a Pod of its node.
	IsInUse
	// IsBuiltIn: a ConfigMap or Secret that Kubernetes or Helm needs. It is held.
	IsBuiltIn
	// IsControlled: a ConfigMap or Secret that a controller owns. It is held, but from rules that let its owner go.
	IsControlled
	// OfMultiKueue: a manager cluster of MultiKueue created the object in this worker cluster.
	OfMultiKueue
	// OfArgoCD: Argo CD tracks the object, or it is one of its hooks.
	OfArgoCD
	// OfFlux: a Kustomization or HelmRelease of Flux applied the object.
	OfFlux
	// OfHelm: a Helm hook.
	OfHelm
	// IsRecreated: objects of this name have come back at once each time that Sunset has deleted them.
	IsRecreated
)

// Has reports whether all of the given flags are set.
func (f Flags) Has(flags Flags) bool { return f&flags == flags }

// IsHeld reports whether the subject is held, by somebody or because it is needed.
func (f Flags) IsHeld() bool { return f&(IsHeld|IsBuiltIn|IsControlled) != 0 }

// Manager is the reason to keep what another controller would re-create, or still needs; empty where there is none. Of several
// controllers the first counts.
func (f Flags) Manager() Reason {
	switch {
	case f.Has(OfMultiKueue):
		return ManagedByMultiKueue
	case f.Has(OfArgoCD):
		return ManagedByArgoCD
	case f.Has(OfFlux):
		return ManagedByFlux
	case f.Has(OfHelm):
		return ManagedByHelm
	default:
		return ""
	}
}

// under are the flags that matter to a rule.
func (f Flags) under(r *Rule) Flags {
	if r.Owner {
		return f &^ IsControlled
	}
	return f
}

// Facts is what the CEL of one rule says about one version of one subject. It changes only when the subject does.
// The zero value says that the rule does not select the subject.
type Facts struct {
	Selected bool          // the rule's label selector matches
	Eligible bool          // what eligible gave
	Start    time.Time     // what startTime gave; zero when it gave none
	TTL      time.Duration // what ttlExpression gave, rounded up never down; NeverTTL when it gave none; 0 without one
	Group    string        // what keepNewest.groupBy gave; empty without one
	Also     []string      // further groups, of an image whose tags give several: sorted, each once, without Group
	Outcome  string        // what outcome gave; empty without one
	Err      error         // the expression that failed, the deadline that passed, or ErrReferencesUnknown; nothing else is set then but Selected

	// NotBefore is when the subject may go at the soonest, whatever start, TTL and capacity say: it is set where what refers
	// to the subject counts. Zero means any time.
	NotBefore time.Time

	// Marked: the rule has no startTime. Start is then since when the object is marked eligible on the object itself,
	// also when it no longer is; zero without a mark.
	Marked bool
	// Owner is the object's controller; nil when it has none, or when what the object says of it cannot be understood. Only
	// a rule that lets owners go asks.
	Owner *Owner

	// FirstSeen is since when an image is on its node, which minAge counts from; zero for anything else.
	FirstSeen time.Time
	// Unpullable: an image without a digest. It was loaded onto the node, and no registry may have it.
	Unpullable bool

	// Estimated: Start is when Sunset first saw the object eligible, and no mark says so yet.
	Estimated bool
	// Outdated: the object carries a mark that does not count: it was in use since, or may have been. Who has not seen that
	// must not believe the mark.
	Outdated bool
}

// QuietPeriod is for how long what refers to a subject must have been known completely, and nothing that did may have gone
// away, before anything goes by a rule that reads references.
const QuietPeriod = 30 * time.Second

// ErrReferencesUnknown is wrapped by Facts.Err where a rule reads references and nobody knows what refers to the subject. It
// says nothing about the subject: no expression was asked.
var ErrReferencesUnknown = errors.New("references are unknown")

// InDoubt reports whether nobody knows what refers to the subject, and the rule wants to know.
func (f *Facts) InDoubt() bool { return f.Err != nil && errors.Is(f.Err, ErrReferencesUnknown) }

// failed reports whether an expression failed.
func (f *Facts) failed() bool { return f.Err != nil && !f.InDoubt() }

// NeverTTL is the TTL of a subject whose ttlExpression gave none, which the rule keeps, and of a rule that has no TTL.
const NeverTTL time.Duration = -1
