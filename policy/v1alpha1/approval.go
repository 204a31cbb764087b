// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClusterRetentionApproval approves a change that a ClusterRetentionPolicy shows in status.pendingApproval. To create it, run
// kubectl sunset approve. Keep it while the policy has this version: if you delete it, the policy waits for approval again.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=creta,categories=sunset
// +kubebuilder:printcolumn:name=Policy,type=string,JSONPath=`.spec.policy.name`
// +kubebuilder:printcolumn:name=Objects,type=integer,JSONPath=`.spec.objects`
// +kubebuilder:printcolumn:name=Approved-By,type=string,priority=1,JSONPath=`.spec.approvedBy`
// +kubebuilder:printcolumn:name=Expires,type=string,priority=1,JSONPath=`.spec.expirationTime`
// +kubebuilder:printcolumn:name=Hash,type=string,priority=1,JSONPath=`.spec.hash`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterRetentionApproval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is approved.
	// +required
	Spec ApprovalSpec `json:"spec"`
}

// ClusterRetentionApprovalList is a list of ClusterRetentionApprovals.
//
// +kubebuilder:object:root=true
type ClusterRetentionApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterRetentionApproval `json:"items"`
}

// RetentionApproval approves a change that a RetentionPolicy of its namespace shows in status.pendingApproval. To create it, run
// kubectl sunset approve. Keep it while the policy has this version: if you delete it, the policy waits for approval again.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=reta,categories=sunset
// +kubebuilder:printcolumn:name=Policy,type=string,JSONPath=`.spec.policy.name`
// +kubebuilder:printcolumn:name=Objects,type=integer,JSONPath=`.spec.objects`
// +kubebuilder:printcolumn:name=Approved-By,type=string,priority=1,JSONPath=`.spec.approvedBy`
// +kubebuilder:printcolumn:name=Expires,type=string,priority=1,JSONPath=`.spec.expirationTime`
// +kubebuilder:printcolumn:name=Hash,type=string,priority=1,JSONPath=`.spec.hash`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type RetentionApproval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is approved.
	// +required
	Spec ApprovalSpec `json:"spec"`
}

// RetentionApprovalList is a list of RetentionApprovals.
//
// +kubebuilder:object:root=true
type RetentionApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RetentionApproval `json:"items"`
}

// ApprovalSpec is what an approval covers: one version of one policy object, or one change elsewhere that affects it. It never
// changes.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="an approval cannot be changed: delete it and create another one"
type ApprovalSpec struct {
	// policy that waits. A policy of the same name in another cluster, or created again later, has another UID, so that the
	// approval does not apply to it.
	// +required
	Policy ApprovedPolicy `json:"policy"`
	// hash is status.pendingApproval.hash of the policy.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{32}$`
	// +kubebuilder:example="9f2c1d40b7a3e8155d0c6e2f8a914b37"
	Hash string `json:"hash"`
	// objects is status.pendingApproval.due.week of the policy: how many objects the change may delete within 7 days. When an approval
	// is created, the admission policies refuse it if the policy shows a higher number, other namespaces or other rules. Sunset
	// itself compares only the policy and the hash.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:example=355
	Objects int64 `json:"objects"`
	// namespaces is status.pendingApproval.namespaces of the policy, "" for cluster-scoped objects. The approval is for these
	// namespaces; absent if it is for all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2000
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:example={"team-a"}
	Namespaces []string `json:"namespaces,omitempty"`
	// rules is status.pendingApproval.rules of the policy. The approval is for these rules; absent if it is for all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:example={"failed"}
	Rules []string `json:"rules,omitempty"`
	// approvedBy is the name of the user who approves. The admission policies refuse another user's name. Absent if another
	// program creates the approval, such as a GitOps controller.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:example="alice@example.com"
	ApprovedBy string `json:"approvedBy,omitempty"`
	// expirationTime is the time from which the approval no longer counts, as if it were deleted: Sunset then counts the policy
	// again, and waits if it would delete too much. Absent for never.
	// +optional
	// +kubebuilder:example="2026-12-01T08:00:00Z"
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
}

// ApprovedPolicy is the policy that an approval is for: a ClusterRetentionPolicy, or a RetentionPolicy of the same namespace.
type ApprovedPolicy struct {
	// name of the policy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:example="batch"
	Name string `json:"name"`
	// uid of the policy.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:example="0b5b0b5e-2f4e-4a0a-9d55-3b8a1c6f8f31"
	UID types.UID `json:"uid"`
}
