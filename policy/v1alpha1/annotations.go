// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// HoldAnnotation keeps the object that carries it, or all objects of the Namespace that carries it, despite every rule. Every
	// value except "false" is a hold, also the empty one: a hold with a typing error still keeps the object.
	HoldAnnotation = "sunset-k8s.io/hold"

	// TTLAnnotation sets an object's own time to live, written as in a rule, if the rule allows it. A value that cannot be read
	// keeps the object.
	TTLAnnotation = "sunset-k8s.io/ttl"

	// EligibleSinceAnnotation is the time since which an object has been eligible under rules without startTime. Sunset writes
	// it.
	EligibleSinceAnnotation = "sunset-k8s.io/eligible-since"

	// ResumeModeAnnotation is the mode that kubectl sunset resume sets on a suspended policy. kubectl sunset suspend writes it.
	ResumeModeAnnotation = "sunset-k8s.io/resume-mode"

	// RestoredFromAnnotation says which record an object was restored from: ARCHIVE/SEGMENT#LINE, or VolumeSnapshot/NAME. kubectl
	// sunset archive restore and kubectl sunset restore write it.
	RestoredFromAnnotation = "sunset-k8s.io/restored-from"

	// RestoredUIDAnnotation is the UID that a restored object had before it was deleted. kubectl sunset archive restore writes it.
	RestoredUIDAnnotation = "sunset-k8s.io/restored-uid"

	// MirrorPodAnnotation marks a mirror Pod: a static Pod that the kubelet runs from a file. The kubelet sets it. Sunset never
	// deletes a mirror Pod, because that would not stop the static Pod.
	MirrorPodAnnotation = "kubernetes.io/config.mirror"

	// LastAppliedAnnotation has kubectl's copy of an object. kubectl apply writes it.
	LastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
)

// IsHold reports whether this value of HoldAnnotation is a hold.
func IsHold(value any) bool { return value != "false" }
