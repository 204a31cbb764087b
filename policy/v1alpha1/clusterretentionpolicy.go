package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterRetentionPolicy says, for the whole cluster, which objects may be deleted and when.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=cret,categories=sunset
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Mode,type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name=Matched,type=integer,JSONPath=`.status.matched`
// +kubebuilder:printcolumn:name=Eligible,type=integer,priority=1,JSONPath=`.status.eligible`
// +kubebuilder:printcolumn:name=Due,type=integer,JSONPath=`.status.due.now`
// +kubebuilder:printcolumn:name=Blocked,type=integer,JSONPath=`.status.blocked`
// +kubebuilder:printcolumn:name=Errors,type=integer,JSONPath=`.status.errors`
// +kubebuilder:printcolumn:name=Deleted,type=integer,JSONPath=`.status.deleted`
// +kubebuilder:printcolumn:name=Next,type=string,format=date-time,JSONPath=`.status.nextDueTime`
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterRetentionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what may go and when.
	// +required
	Spec ClusterRetentionPolicySpec `json:"spec"`
	// status says what Sunset sees and has done. Written by the controller only.
	// +optional
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

// ClusterRetentionPolicySpec is what the administrator writes.
//
// +kubebuilder:validation:XValidation:rule="has(self.rules) && size(self.rules) > 0 || has(self.references) && size(self.references) > 0",message="one of rules and references must be set"
type ClusterRetentionPolicySpec struct {
	// mode says what the policy does with what is due. DryRun, the default, only counts: status shows what Enforce
	// would delete. Enforce deletes. Suspended deletes nothing and keeps what its rules find eligible from every
	// other policy too.
	// +optional
	// +kubebuilder:default=DryRun
	Mode Mode `json:"mode,omitempty"`

	// namespaceSelector limits the policy to namespaces with these labels. Absent and {} mean all namespaces but the
	// protected ones (kube-system, kube-public, kube-node-lease and Sunset's own). Cluster-scoped objects have no
	// namespace and are never left out by it.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// excludeNamespaces names namespaces that the policy leaves alone.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	ExcludeNamespaces []string `json:"excludeNamespaces,omitempty"`

	// variables are CEL expressions shared by the rules as variables.NAME. A variable may use those before it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Variables []Variable `json:"variables,omitempty"`

	// rules say, each for one kind, which objects may go and when. Required unless there are references.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Rules []Rule `json:"rules,omitempty"`

	// references say how objects of further kinds, such as custom resources, refer to ConfigMaps and Secrets: rules read
	// them as references. What Kubernetes itself has is known. Each counts for the rules of every policy, whatever the mode
	// of its own, since what is referred to can only be kept. One that is invalid makes those rules of its own policy
	// invalid that read references.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	References []Reference `json:"references,omitempty"`

	// approval says how large a backlog the policy may delete that no dry run has shown before.
	// +optional
	Approval *Approval `json:"approval,omitempty"`

	// limits bounds how much the policy deletes, across restarts of the controller and changes of leader.
	// +optional
	Limits *Limits `json:"limits,omitempty"`
}

// Approval bounds what a change of configuration may delete without approval: what is deleted now or within 7 days with
// the change and would not be without it. Above this, the policy waits with condition ApprovalRequired.
type Approval struct {
	// backlogPercent is the percentage of the objects that the rules select which a change may delete. It counts from 10 objects.
	// +optional
	// +kubebuilder:default=25
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	BacklogPercent *int32 `json:"backlogPercent,omitempty"`
	// backlogCount is how many objects a change may delete.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=0
	BacklogCount *int32 `json:"backlogCount,omitempty"`
	// required says when a change waits for approval. With WhenLarge, the default, it waits above backlogPercent or backlogCount,
	// and a form that a dry run has counted needs no approval, whether or not somebody has looked at the numbers. With Always,
	// every form of the policy waits until you approve it, and so does every other change that deletes an object.
	// +optional
	Required ApprovalRequired `json:"required,omitempty"`
}

// ApprovalRequired says when a change waits for approval. The zero value means WhenLarge.
//
// +kubebuilder:validation:Enum=WhenLarge;Always
type ApprovalRequired string

const (
	// ApprovalWhenLarge has changes wait that delete more than the thresholds allow.
	ApprovalWhenLarge ApprovalRequired = "WhenLarge"
	// ApprovalAlways has every form of a policy wait, and every other change that deletes an object.
	ApprovalAlways ApprovalRequired = "Always"
)

// Limits bounds how much a policy deletes. What is due beyond it waits.
type Limits struct {
	// maxDeletions is how many objects the policy may delete within any span as long as window. 0 deletes nothing.
	// +required
	// +kubebuilder:validation:Minimum=0
	MaxDeletions int32 `json:"maxDeletions"`
	// window is that span, from one second to a year, in Go units plus d and w: "1h", "1d".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Window string `json:"window"`
}

// Mode says what a policy does with objects that are due. The zero value means DryRun.
//
// +kubebuilder:validation:Enum=DryRun;Enforce;Suspended
type Mode string

const (
	// DryRun counts and shows what would go; it has no say in what happens to any object.
	DryRun Mode = "DryRun"
	// Enforce deletes what is due.
	Enforce Mode = "Enforce"
	// Suspended deletes nothing and keeps what its rules find eligible.
	Suspended Mode = "Suspended"
)
