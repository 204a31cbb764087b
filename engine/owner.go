// SPDX-License-Identifier: Apache-2.0

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

// ownerReferenceOf returns the owner reference with controller true, or nil. The API server allows at most one.
func ownerReferenceOf(object map[string]any) map[string]any {
	if all := controllersOf(mapOf(object, "metadata")); len(all) > 0 {
		return all[0]
	}
	return nil
}

// controllersOf returns the owner references with controller true.
func controllersOf(metadata map[string]any) (all []map[string]any) {
	list, _ := metadata["ownerReferences"].([]any)
	for _, entry := range list {
		owner, _ := entry.(map[string]any)
		if isController, _ := owner["controller"].(bool); isController {
			all = append(all, owner)
		}
	}
	return all
}

// ownerOf returns the controller of an object. It is nil if there is none, if there are several, or if its reference is
// incomplete.
func (e *Evaluator) ownerOf(object map[string]any) *policy.Owner {
	all := controllersOf(mapOf(object, "metadata"))
	if len(all) != 1 {
		return nil
	}
	reference := all[0]
	gv, err := schema.ParseGroupVersion(e.intern(textOf(reference, "apiVersion")))
	kind, name, uid := textOf(reference, "kind"), textOf(reference, "name"), textOf(reference, "uid")
	// The API server accepts any name in a reference, even one that would change the path of a request.
	if err != nil || gv.Version == "" || kind == "" || name == "" || uid == "" || len(content.IsPathSegmentName(name)) > 0 {
		return nil
	}
	return &policy.Owner{Kind: gv.WithKind(e.intern(kind)), Name: strings.Clone(name), UID: types.UID(strings.Clone(uid))}
}

// ErrUnfinished is wrapped by the error of CheckOwnerDeletion for an owner that has not finished, or for which that is unknown.
var ErrUnfinished = errors.New("has not finished")

// Allowed says which owners a rule may delete even though they are unfinished or managed by another controller.
type Allowed struct{ Unfinished, Managed bool }

// CheckOwnerDeletion returns nil if nothing about an object itself prevents its deletion as an owner. Allowed.Unfinished permits the
// deletion of an owner that still runs. The error is a predicate that follows the name of the object.
func CheckOwnerDeletion(object map[string]any, allowed Allowed) error {
	flags := flagsOf(object, mapOf(object, "metadata"))
	switch {
	case flags.HasHold():
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
		return fmt.Errorf("%w, or Sunset cannot determine it: %w", ErrUnfinished, err)
	case !finished:
		return ErrUnfinished
	}
	return nil
}
