package engine

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// ownerReferenceOf is the owner reference with controller true, or nil. The API server allows one at most.
func ownerReferenceOf(object map[string]any) map[string]any {
	list, _ := mapOf(object, "metadata")["ownerReferences"].([]any)
	for _, entry := range list {
		owner, _ := entry.(map[string]any)
		if isController, _ := owner["controller"].(bool); isController {
			return owner
		}
	}
	return nil
}

// ownerOf is the controller of an object. It is nil when there is none, and when in doubt which one it is: of several,
// or of one that is not named whole.
func (e *Evaluator) ownerOf(object map[string]any) *policy.Owner {
	list, _ := mapOf(object, "metadata")["ownerReferences"].([]any)
	var found *policy.Owner
	for _, entry := range list {
		reference, _ := entry.(map[string]any)
		if isController, _ := reference["controller"].(bool); !isController {
			continue
		}
		owner, ok := e.owner(reference)
		if !ok || found != nil {
			return nil
		}
		found = owner
	}
	return found
}

// owner reads a reference. The API server takes any name in one, also one that would lead to another path.
func (e *Evaluator) owner(reference map[string]any) (*policy.Owner, bool) {
	gv, err := schema.ParseGroupVersion(e.intern(textOf(reference, "apiVersion")))
	kind, name, uid := textOf(reference, "kind"), textOf(reference, "name"), textOf(reference, "uid")
	if err != nil || gv.Version == "" || kind == "" || name == "" || uid == "" || len(content.IsPathSegmentName(name)) > 0 {
		return nil, false
	}
	return &policy.Owner{Kind: gv.WithKind(e.intern(kind)), Name: strings.Clone(name), UID: types.UID(strings.Clone(uid))}, true
}

// ErrUnfinished is wrapped by the error of MayGo about an owner that has not finished, as far as anybody can tell.
var ErrUnfinished = errors.New("has not finished")

// Allowed is which owners a rule may delete although they are unfinished or managed by another controller.
type Allowed struct{ Unfinished, Managed bool }

// MayGo returns nil when nothing about an object itself keeps it from going as an owner; Allowed.Unfinished lets it go while it
// runs, too. The error says what the object is or has, to follow its name.
func MayGo(object map[string]any, allowed Allowed) error {
	flags := flagsOf(object, mapOf(object, "metadata"))
	switch {
	case flags.IsHeld():
		return errors.New("is held")
	case flags.Has(policy.IsUncounted):
		return errors.New("has not been counted by its Job yet")
	case IsMirror(object):
		return errors.New("is a mirror Pod")
	case flags.Manager() != "" && !allowed.Managed:
		return fmt.Errorf("%w: %s", ErrManaged, Manager(object))
	case allowed.Unfinished:
		return nil
	}
	switch finished, err := Finished(object); {
	case err != nil:
		return fmt.Errorf("%w, or Sunset cannot tell: %w", ErrUnfinished, err)
	case !finished:
		return ErrUnfinished
	}
	return nil
}
