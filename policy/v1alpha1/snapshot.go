// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// The label and annotations of the VolumeSnapshots that Sunset creates.
const (
	// ClaimUIDLabel is the UID of the PersistentVolumeClaim of a VolumeSnapshot. A VolumeSnapshot with this label is not a reference
	// to the claim.
	ClaimUIDLabel = "sunset-k8s.io/claim-uid"
	// SnapshotClaimAnnotation is the claim in JSON: what a restore needs of it.
	SnapshotClaimAnnotation = "sunset-k8s.io/claim"
	// SnapshotPolicyAnnotation and SnapshotRuleAnnotation name the rule. The name of a RetentionPolicy is NAMESPACE/NAME.
	SnapshotPolicyAnnotation = "sunset-k8s.io/policy"
	SnapshotRuleAnnotation   = "sunset-k8s.io/rule"
	// DeleteAfterAnnotation is the time after which a rule may delete the VolumeSnapshot: its creation plus snapshot.retain.
	DeleteAfterAnnotation = "sunset-k8s.io/delete-after"
)

// SnapshotRule makes a VolumeSnapshot of each PersistentVolumeClaim before the rule deletes it.
type SnapshotRule struct {
	// className is the name of the VolumeSnapshotClass. Without it, the default class of the CSI driver applies.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:example="csi-snapshots"
	ClassName string `json:"className,omitempty"`
	// retain is how long the VolumeSnapshot is needed after its creation, in Go units plus d (24h) and w (7d). Sunset writes the end
	// as annotation sunset-k8s.io/delete-after; a rule about VolumeSnapshots, such as that of sample claim-snapshots, deletes it then.
	// At least 1h: when half of it has passed, a claim that still waits gets another VolumeSnapshot. Absent and "0s" mean no end.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$`
	// +kubebuilder:example="90d"
	Retain string `json:"retain,omitempty"`
}
