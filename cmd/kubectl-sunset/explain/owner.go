package explain

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Owner is what goes instead of the object, by a rule that lets owners go, and takes it along.
type Owner struct {
	preview.Owner
	State       OwnerState                 `json:"state"`
	Message     string                     `json:"message"`           // what the state means for the object
	Propagation metav1.DeletionPropagation `json:"propagationPolicy"` // what becomes of what it owns
}

// OwnerState is how an owner stands, as far as itself tells: the rules about its own kind are told of on its own page.
type OwnerState string

// The states.
const (
	OwnerReady   OwnerState = "Ready"   // nothing about it stands in the way
	OwnerStays   OwnerState = "Stays"   // it is held, has not finished or the like
	OwnerLeaves  OwnerState = "Leaves"  // it is gone or going, and so is the object
	OwnerUnknown OwnerState = "Unknown" // it cannot be read
)

// StayingOwner is the Reason of a Block by the owner.
const StayingOwner policy.Reason = "Owner"

// owner is that of the rule that decided, or of the first that lets owners go; nil when none does, or has one to go.
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
		return OwnerUnknown, "its owner " + o.String() + " cannot be read: " + err.Error()
	case isLeaving(object, *o):
		return OwnerLeaves, "its owner " + o.String() + " is deleted or being deleted: the garbage collector deletes the object too"
	}
	meta, _ := object["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	beyond := namespace != in.Subject.Namespace
	allowed := engine.Allowed{}
	if !beyond {
		allowed = engine.Allowed{Unfinished: rule.AllowUnfinished, Managed: rule.AllowManaged}
	}
	switch err := engine.MayGo(object, allowed); {
	case beyond && rule.Namespace != "":
		return OwnerStays, "its owner " + o.String() + " is cluster-scoped, and a RetentionPolicy deletes only in its own namespace"
	case errors.Is(err, engine.ErrUnfinished) && !beyond:
		return OwnerStays, "its owner " + o.String() + " " + err.Error() + "; set allowUnfinishedOwner: true to delete it anyway"
	case errors.Is(err, engine.ErrManaged) && !beyond:
		return OwnerStays, "its owner " + o.String() + " " + err.Error() + "; set allowManaged: true to delete it anyway"
	case err != nil:
		return OwnerStays, "its owner " + o.String() + " " + err.Error()
	}
	return OwnerReady, "its owner " + o.String() + " is deleted instead, with all that it owns"
}

// isLeaving reports whether there is no such owner any more.
func isLeaving(object map[string]any, o policy.Owner) bool {
	meta, _ := object["metadata"].(map[string]any)
	return meta["uid"] != string(o.UID) || meta["deletionTimestamp"] != nil
}

// block is what the owner has against the object's going; none when nothing.
func (o *Owner) block() []Block {
	switch {
	case o == nil, o.State == OwnerReady:
		return nil
	case o.State == OwnerStays:
		return []Block{{StayingOwner, o.Message, "end what keeps its owner " + o.String()}}
	default:
		return []Block{{StayingOwner, o.Message, ""}}
	}
}
