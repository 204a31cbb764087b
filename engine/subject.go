// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// jobTrackingFinalizer is on a Pod that its Job has not counted yet (KEP-2307).
const jobTrackingFinalizer = "batch.kubernetes.io/job-tracking"

// SubjectOf reads the identity and flags of an object from its metadata. Objects in files, which no server has stored,
// may lack a uid, a resourceVersion and a creationTimestamp; these are then zero. A live object must have them, and the
// caller must check that. The Subject shares strings with the object, but does not keep the object in memory, because
// decoders allocate each string separately. For an image of a node it returns Image.Subject.
func SubjectOf(object map[string]any) (policy.Subject, error) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return policy.Subject{}, errors.New("the object has no metadata")
	}
	s := policy.Subject{
		Namespace:       textOf(metadata, "namespace"),
		Name:            textOf(metadata, "name"),
		UID:             types.UID(textOf(metadata, "uid")),
		ResourceVersion: textOf(metadata, "resourceVersion"),
		Flags:           flagsOf(object, metadata),
	}
	if s.Name == "" {
		return policy.Subject{}, errors.New("the object has no metadata.name")
	}
	if isImage(object) {
		image, err := ImageOf(object)
		if err != nil {
			return policy.Subject{}, err
		}
		return image.Subject(), nil
	}
	created, err := timeOf(metadata, "creationTimestamp")
	if err != nil {
		return policy.Subject{}, fmt.Errorf("metadata.creationTimestamp: %w", err)
	}
	s.Created = created
	if ttl, err := ownTTL(object); err == nil && ttl >= 0 {
		s.OwnTTL = ttl
		s.Flags |= policy.HasTTL
	}
	return s, nil
}

// ownTTL returns the value of annotation sunset-k8s.io/ttl; NeverTTL if it is absent. An invalid value is an error of
// every rule for which the object is eligible, because its author wanted another TTL.
func ownTTL(object map[string]any) (time.Duration, error) {
	written, ok := mapOf(mapOf(object, "metadata"), "annotations")[v1alpha1.TTLAnnotation]
	if !ok {
		return policy.NeverTTL, nil
	}
	text, _ := written.(string)
	ttl, err := policy.ParseTTL(text)
	if err != nil {
		return policy.NeverTTL, shorten("annotation " + v1alpha1.TTLAnnotation + ": " + err.Error())
	}
	return ttl, nil
}

// markOf returns since when the object is marked eligible by a rule; zero without a mark.
func markOf(object map[string]any, mark string) time.Time {
	text, _ := mapOf(mapOf(object, "metadata"), "annotations")[v1alpha1.EligibleSinceAnnotation].(string)
	if text == "" {
		return time.Time{}
	}
	return policy.ParseMarks(text)[mark]
}

func flagsOf(object, metadata map[string]any) policy.Flags {
	var flags policy.Flags
	if metadata["deletionTimestamp"] != nil {
		flags |= policy.IsTerminating
	}
	if value, held := mapOf(metadata, "annotations")[v1alpha1.HoldAnnotation]; held && v1alpha1.IsHold(value) {
		flags |= policy.IsHeld
	}
	flags |= managedFlags(object, metadata)
	if isConfigMapOrSecret(object) {
		flags |= heldFlags(object, metadata)
	}
	if isPod(object) && hasFinalizer(metadata, jobTrackingFinalizer) {
		flags |= policy.IsUncounted
	}
	return flags
}

func isPod(object map[string]any) bool {
	return textOf(object, "kind") == "Pod" && textOf(object, "apiVersion") == "v1"
}

func hasFinalizer(metadata map[string]any, name string) bool {
	list, _ := metadata["finalizers"].([]any)
	return slices.Contains(list, any(name))
}

// IsMirror reports whether an object is a mirror Pod, which represents a static Pod that a kubelet runs from a file. A
// mirror Pod is not a subject, because its deletion has no effect.
func IsMirror(object map[string]any) bool {
	_, mirror := mapOf(mapOf(object, "metadata"), "annotations")[v1alpha1.MirrorPodAnnotation]
	return mirror && isPod(object)
}

// aboutImages reports whether a target is images of nodes, at any version.
func aboutImages(target v1alpha1.Target) bool {
	return target.Kind == v1alpha1.ImageKind.Kind && groupOf(target.APIVersion) == v1alpha1.ImageKind.Group
}
