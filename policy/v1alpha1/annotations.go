package v1alpha1

const (
	// HoldAnnotation keeps the object that carries it, or everything in the Namespace that does, whatever any rule says.
	// Any value but "false" holds, the empty one included: who writes a hold badly still means to keep.
	HoldAnnotation = "sunset.x-k8s.io/hold"

	// MirrorPodAnnotation marks a Pod that only mirrors one which a kubelet runs from a file. It is no subject: deleting
	// it deletes nothing. Set by the kubelet.
	MirrorPodAnnotation = "kubernetes.io/config.mirror"
)

// IsHold reports whether a value of HoldAnnotation holds.
func IsHold(value any) bool { return value != "false" }
