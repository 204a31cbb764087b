// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterRetentionPolicy selects the objects that Sunset deletes in the whole cluster, and sets when.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=cret,categories=sunset
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Mode,type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name=Matched,type=integer,JSONPath=`.status.matched`
// +kubebuilder:printcolumn:name=Eligible,type=integer,priority=1,JSONPath=`.status.eligible`
// +kubebuilder:printcolumn:name=Due,type=integer,JSONPath=`.status.due.now`
// +kubebuilder:printcolumn:name=Blocked,type=integer,JSONPath=`.status.blocked`
// +kubebuilder:printcolumn:name=Errors,type=integer,priority=1,JSONPath=`.status.errors`
// +kubebuilder:printcolumn:name=Deleted,type=integer,JSONPath=`.status.deleted`
// +kubebuilder:printcolumn:name=Next,type=string,format=date-time,priority=1,JSONPath=`.status.nextDueTime`
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterRetentionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec has the rules of the policy.
	// +required
	Spec ClusterRetentionPolicySpec `json:"spec"`
	// status has the counts and conditions of the policy. Only the controller writes it.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Ready", status: "Unknown", reason: "Pending", message: "waiting for the controller", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status RetentionPolicyStatus `json:"status,omitempty"`
}

// ClusterRetentionPolicyList is a list of ClusterRetentionPolicies.
//
// +kubebuilder:object:root=true
type ClusterRetentionPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterRetentionPolicy `json:"items"`
}

// ClusterRetentionPolicySpec has the settings of a ClusterRetentionPolicy.
//
// +kubebuilder:validation:XValidation:rule="has(self.rules) && size(self.rules) > 0 || has(self.references) && size(self.references) > 0 || has(self.freezes) && size(self.freezes) > 0",message="one of rules, references and freezes must be set"
// +kubebuilder:validation:XValidation:rule="has(self.rules) && size(self.rules) > 0 || !has(self.freezes) || self.freezes.all(f, has(f.allPolicies) && f.allPolicies)",message="without rules, freezes need allPolicies: true."
type ClusterRetentionPolicySpec struct {
	// mode sets what the policy does with due objects. DryRun, the default, only counts: status shows what Enforce would
	// delete. Enforce deletes the objects. Suspend deletes nothing, and no other policy deletes the objects that its rules
	// find eligible.
	// +optional
	// +kubebuilder:default=DryRun
	Mode Mode `json:"mode,omitempty"`

	// namespaceSelector limits the policy to namespaces with these labels. Absent and {} mean all namespaces except the
	// protected ones (kube-system, kube-public, kube-node-lease and the namespace of Sunset). It does not limit rules about
	// cluster-scoped objects.
	// +optional
	// +nullable
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// excludeNamespaces names namespaces in which the policy does not apply.
	// +optional
	// +nullable
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	ExcludeNamespaces []string `json:"excludeNamespaces,omitempty"`

	// variables are CEL expressions that rules can read as variables.NAME. A variable can read the variables before it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Variables []Variable `json:"variables,omitempty"`

	// rules select the objects that Sunset deletes, and set when; each rule applies to one kind. Required unless there are
	// references or freezes.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Rules []Rule `json:"rules,omitempty"`

	// references declare how objects of some kinds, such as custom resources, refer to others, for rules that read the variables
	// references, targets or selected. Sunset knows the references of built-in kinds. Each declaration applies to the rules of
	// every policy in every mode. If a declaration is invalid, the rules of the same policy that read these variables are invalid
	// too.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	References []Reference `json:"references,omitempty"`

	// windows are the times at which the rules delete objects. Objects that become due at other times wait, and are then deleted in the
	// order of their due times, during the first half of the next window. Absent means at any time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Windows []Window `json:"windows,omitempty"`

	// freezes are times in which the rules delete no objects.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Freezes []Freeze `json:"freezes,omitempty"`

	// approval sets how many objects a change may delete without approval, if no dry run has counted the change.
	// +optional
	Approval *Approval `json:"approval,omitempty"`

	// limits sets the maximum number of deletions of the policy, also across restarts and leader changes of the controller.
	// +optional
	Limits *Limits `json:"limits,omitempty"`
}

// Approval sets how many objects a configuration change may delete without approval. Sunset counts the objects that it would
// delete now or within 7 days with the change, and not without it. If there are more, the policy waits, and has the condition
// ApprovalRequired.
type Approval struct {
	// maxPercent is the maximum number of objects that a change may delete, as a percentage of the objects that the rules
	// select. It applies from 10 objects.
	// +optional
	// +kubebuilder:default=25
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxPercent *int32 `json:"maxPercent,omitempty"`
	// maxObjects is the maximum number of objects that a change may delete.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=0
	MaxObjects *int32 `json:"maxObjects,omitempty"`
	// requiredFor sets which changes wait for approval. With LargeChanges, the default, a change waits above maxPercent or
	// maxObjects; a version of the spec that a dry run has counted needs no approval, even if you have not seen the numbers.
	// With AllChanges, every version of the spec waits until you approve it, and so does every other change that deletes an object.
	// +optional
	RequiredFor ApprovalRequiredFor `json:"requiredFor,omitempty"`
}

// ApprovalRequiredFor says which changes wait for approval. The zero value means LargeChanges.
//
// +kubebuilder:validation:Enum=LargeChanges;AllChanges
type ApprovalRequiredFor string

const (
	// ApprovalForLargeChanges makes a change wait if it deletes more objects than the thresholds allow.
	ApprovalForLargeChanges ApprovalRequiredFor = "LargeChanges"
	// ApprovalForAllChanges makes every version of a policy wait, and every other change that deletes an object.
	ApprovalForAllChanges ApprovalRequiredFor = "AllChanges"
)

// Limits sets the maximum number of deletions of a policy. Other due objects wait.
type Limits struct {
	// maxDeletions is the maximum number of objects that the policy deletes within any period as long as window. With 0 it
	// deletes nothing.
	// +required
	// +kubebuilder:validation:Minimum=0
	MaxDeletions int32 `json:"maxDeletions"`
	// window is the length of this period, from one second to a year, in Go units plus d and w: "1h", "1d".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$`
	// +kubebuilder:example="1h"
	Window string `json:"window"`
}

// Mode says what a policy does with objects that are due. The zero value means DryRun.
//
// +kubebuilder:validation:Enum=DryRun;Enforce;Suspend
type Mode string

const (
	// DryRun counts and shows what Enforce would delete. It deletes nothing.
	DryRun Mode = "DryRun"
	// Enforce deletes due objects.
	Enforce Mode = "Enforce"
	// Suspend deletes nothing, and keeps the objects that its rules find eligible.
	Suspend Mode = "Suspend"
)
