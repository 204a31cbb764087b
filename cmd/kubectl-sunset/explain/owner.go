// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Owner is the owner that a rule deletes instead of the object. The garbage collector then deletes the object.
type Owner struct {
	preview.Owner
	State       OwnerState                 `json:"state"`
	Message     string                     `json:"message"`           // the effect of the state on the object
	Propagation metav1.DeletionPropagation `json:"propagationPolicy"` // the propagation to the owner's dependents
}

// OwnerState says whether the owner can be deleted, without the rules for its own kind. Those are on the owner's own page.
type OwnerState string

// The states.
const (
	OwnerReady   OwnerState = "Ready"   // nothing about it prevents its deletion
	OwnerStays   OwnerState = "Stays"   // it is held, has not finished, or cannot be deleted for a similar reason
	OwnerDeleted OwnerState = "Leaves"  // it is deleted or being deleted, and so is the object
	OwnerUnknown OwnerState = "Unknown" // it cannot be read
)

// OwnerKept is the Reason of a Block by the owner.
const OwnerKept policy.Reason = "Owner"

// owner returns the owner for the rule that decided, or otherwise for the first rule that deletes owners. It returns nil if no
// rule deletes an owner of the object.
func (in *Input) owner() *Owner {
	var rule *policy.Rule
	var owner *policy.Owner
	for _, r := range in.Evaluations {
		if r.Rule.Owner && r.Facts.Owner != nil && (rule == nil || r.Rule.ID == in.Verdict.Rule) {
			rule, owner = r.Rule, r.Facts.Owner
		}
	}
	if rule == nil || in.FindOwner == nil {
		return nil
	}
	o := &Owner{Owner: *preview.OwnerOf(owner), Propagation: rule.Propagation}
	o.State, o.Message = in.ownerState(owner, rule)
	return o
}

func (in *Input) ownerState(o *policy.Owner, rule *policy.Rule) (OwnerState, string) {
	object, err := in.FindOwner(*o)
	switch {
	case err != nil:
		return OwnerUnknown, "cannot get its owner " + o.String() + ": " + err.Error()
	case isBeingDeleted(object, *o):
		return OwnerDeleted, "its owner " + o.String() + " is deleted or being deleted: the garbage collector deletes the object too"
	}
	beyond := preview.NamespaceOf(object) != in.Subject.Namespace
	allowed := engine.Allowed{}
	if !beyond {
		allowed = engine.Allowed{Unfinished: rule.AllowUnfinished, Managed: rule.AllowManaged}
	}
	switch err := engine.CheckOwnerDeletion(object, allowed); {
	case beyond && rule.Namespace != "":
		return OwnerStays, "its owner " + o.String() + " is cluster-scoped, and a RetentionPolicy deletes only in its own namespace"
	case errors.Is(err, engine.ErrUnfinished) && !beyond:
		return OwnerStays, "its owner " + o.String() + " " + err.Error() + "; set allowUnfinishedOwner: true to delete it anyway"
	case errors.Is(err, engine.ErrManaged) && !beyond:
		return OwnerStays, "its owner " + o.String() + " " + err.Error() + "; set allowManaged: true to delete it anyway"
	case err != nil:
		return OwnerStays, "its owner " + o.String() + " " + err.Error()
	}
	return OwnerReady, "its owner " + o.String() + " is deleted instead, with all its dependents"
}

// isBeingDeleted reports whether the owner is deleted or being deleted.
func isBeingDeleted(object map[string]any, o policy.Owner) bool {
	meta := preview.MetadataOf(object)
	return meta["uid"] != string(o.UID) || meta["deletionTimestamp"] != nil
}

// block returns why the owner prevents the deletion of the object, if it does.
func (o *Owner) block() []Block {
	switch {
	case o == nil, o.State == OwnerReady:
		return nil
	case o.State == OwnerStays:
		return []Block{{OwnerKept, o.Message, "make its owner " + o.String() + " deletable"}}
	default:
		return []Block{{OwnerKept, o.Message, ""}}
	}
}
