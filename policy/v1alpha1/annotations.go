package v1alpha1

const (
	// HoldAnnotation keeps the object that carries it, or everything in the Namespace that does, whatever any rule says.
	// Any value but "false" holds, the empty one included: who writes a hold badly still means to keep.
	HoldAnnotation = "sunset.x-k8s.io/hold"

	// TTLAnnotation sets an object's own time to live, written as in a rule, where the rule allows it. One that cannot be
	// read keeps the object.
	TTLAnnotation = "sunset.x-k8s.io/ttl"

	// EligibleSinceAnnotation is where Sunset notes since when an object has been eligible under rules without startTime.
	EligibleSinceAnnotation = "sunset.x-k8s.io/eligible-since"

	// ApprovedAnnotation on a policy approves its backlog: the value is the hash that condition ApprovalRequired names.
	ApprovedAnnotation = "sunset.x-k8s.io/approved"

	// MirrorPodAnnotation marks a Pod that only mirrors one which a kubelet runs from a file. It is no subject: deleting
	// it deletes nothing. Set by the kubelet.
	MirrorPodAnnotation = "kubernetes.io/config.mirror"
)

// IsHold reports whether a value of HoldAnnotation holds.
func IsHold(value any) bool { return value != "false" }
