// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Subject is one version of an object or image that a rule may delete. It is identified by kind and UID, never by name alone.
type Subject struct {
	Namespace       string // empty for cluster-scoped kinds
	Name            string
	UID             types.UID
	ResourceVersion string    // the version that was evaluated
	Created         time.Time // no start time is earlier
	Flags           Flags
	OwnTTL          time.Duration // from annotation sunset-k8s.io/ttl; valid only with HasTTL
}

// Flags are properties of a subject. HasTTL alone keeps nothing. Each rule decides about the flags of other controllers (Manager)
// and about IsRecreated. All other flags keep the subject despite every rule.
type Flags uint16

const (
	// IsTerminating: deletionTimestamp is set, so the object is already being deleted.
	IsTerminating Flags = 1 << iota
	// IsHeld: annotation sunset-k8s.io/hold is present with a value other than "false".
	IsHeld
	// IsUncounted: a Pod with finalizer batch.kubernetes.io/job-tracking, because its Job has not counted it yet.
	IsUncounted
	// HasTTL: annotation sunset-k8s.io/ttl sets a time to live of its own, OwnTTL.
	HasTTL
	// IsPinned: an image that the container runtime needs, such as the sandbox image.
	IsPinned
	// IsInUse: an image that a container or a Pod on its node uses.
	IsInUse
	// IsBuiltIn: a ConfigMap or Secret that Kubernetes or Helm needs. Sunset keeps it, as if it had a hold.
	IsBuiltIn
	// IsControlled: a ConfigMap or Secret that a controller owns. Sunset keeps it, as if it had a hold, except for rules that delete
	// its owner.
	IsControlled
	// OfMultiKueue: a MultiKueue manager cluster created the object in this worker cluster.
	OfMultiKueue
	// OfArgoCD: Argo CD tracks the object, or it is a hook of Argo CD.
	OfArgoCD
	// OfFlux: a Kustomization or HelmRelease of Flux applied the object.
	OfFlux
	// OfHelm: a Helm hook.
	OfHelm
	// IsRecreated: an object of this name was created again at once after each deletion by Sunset.
	IsRecreated
)

// Has reports whether all of the given flags are set.
func (f Flags) Has(flags Flags) bool { return f&flags == flags }

// HasHold reports whether the subject has a hold, from its annotation, or is kept as if it had one, because it is needed.
func (f Flags) HasHold() bool { return f&(IsHeld|IsBuiltIn|IsControlled) != 0 }

// Manager is the reason to keep an object that another controller would re-create or still needs; empty if there is no such
// controller. If there are several, the first counts.
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

// under are the flags that apply to a rule.
func (f Flags) under(r *Rule) Flags {
	if r.Owner {
		return f &^ IsControlled
	}
	return f
}

// Facts are the results of one rule's CEL for one version of one subject. They change only when the subject changes. The zero
// value means that the rule does not select the subject.
type Facts struct {
	Selected bool          // the rule's label selector matches
	Eligible bool          // result of eligible
	Start    time.Time     // result of startTime; zero for optional.none()
	TTL      time.Duration // result of ttlExpression, rounded up, never down; NeverTTL for optional.none(); 0 without the field
	Group    string        // result of keepNewest.groupBy; empty without the field
	Also     []string      // other groups, if the tags of an image give several: sorted, each once, without Group
	Outcome  string        // result of outcome; empty without the field
	Size     Size          // result of bytes, the capacity of a volume, or the size of an image; zero if it is unknown, or if not eligible
	Err      error         // failed expression, passed deadline, or ErrReferencesUnknown; then only Selected is set too

	// NotBefore is the earliest time of deletion, despite start, TTL and capacity. It is set if the rule reads references. Zero
	// means any time.
	NotBefore time.Time

	// Marked: the rule has no startTime. Start is then the time of the mark on the object, also if the object is no longer
	// eligible; zero without a mark.
	Marked bool
	// EarlierMark is the time of the mark on the object, if Start is later because the condition Unused of a claim has changed since.
	// Otherwise it is zero.
	EarlierMark time.Time
	// Owner is the object's controller; nil if it has none, or if its ownerReferences cannot be read. It is set only for a rule
	// that deletes owners.
	Owner *Owner

	// FirstSeen is when an image was first seen on its node, from which minAge counts; zero for all other subjects.
	FirstSeen time.Time
	// Unpullable: an image without a digest of a registry. It was loaded onto the node, and may not exist in any registry.
	Unpullable bool

	// Estimated: Start is when Sunset first saw the object eligible, and the object has no mark yet.
	Estimated bool
	// Outdated: the object carries an invalid mark: it was in use after that time, or may have been. A controller that did not
	// observe this must not trust the mark.
	Outdated bool
}

// QuietPeriod is how long Sunset must have known all references to a subject, without the removal of one, before a rule that
// reads references deletes the subject.
const QuietPeriod = 30 * time.Second

// ErrReferencesUnknown is wrapped by Facts.Err if a rule reads references, and the references to the subject are unknown. It says
// nothing about the subject: no expression was evaluated.
var ErrReferencesUnknown = errors.New("references are unknown")

// InDoubt reports whether the rule reads references, and the references to the subject are unknown.
func (f *Facts) InDoubt() bool { return f.Err != nil && errors.Is(f.Err, ErrReferencesUnknown) }

// failed reports whether an expression failed.
func (f *Facts) failed() bool { return f.Err != nil && !f.InDoubt() }

// NeverTTL is the TTL of a subject if ttlExpression gives optional.none(), so that the rule keeps it, and of a rule without a
// TTL.
const NeverTTL time.Duration = -1
