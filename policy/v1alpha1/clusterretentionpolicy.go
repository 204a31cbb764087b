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
// +kubebuilder:printcolumn:name=Eligible,type=integer,JSONPath=`.status.eligible`
// +kubebuilder:printcolumn:name=Due,type=integer,JSONPath=`.status.due.now`
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

	// rules say, each for one kind, which objects may go and when.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Rules []Rule `json:"rules"`
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

// Variable is a named CEL expression.
type Variable struct {
	// name is how rules refer to it: variables.NAME.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// expression is CEL over object and the variables before it. It may have any type.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	Expression string `json:"expression"`
}

// Rule says which objects of one kind may go and when: start time plus time to live.
//
// +kubebuilder:validation:XValidation:rule="has(self.ttl) != has(self.ttlExpression)",message="exactly one of ttl and ttlExpression must be set"
type Rule struct {
	// name identifies the rule within its policy, in status, events, metrics and logs.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// target is the kind of object the rule is about.
	// +required
	Target Target `json:"target"`

	// eligible is CEL -> bool: may this object go once its time has come? It is asked first; if it is false nothing
	// else of the rule is asked. An error keeps the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	Eligible string `json:"eligible"`

	// startTime is CEL -> timestamp or optional(timestamp): when does the time to live start? None means that the rule
	// says nothing about the object. A start before the object's creationTimestamp counts as the creationTimestamp.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	StartTime string `json:"startTime"`

	// ttl is the time to live after the start, in Go units plus d (24h) and w (7d): "90m", "1d12h", "2w". "0s" means at once.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TTL string `json:"ttl,omitempty"`

	// ttlExpression is CEL -> duration or optional(duration), in place of ttl. None means never, and keeps the object
	// from every other policy too.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	TTLExpression string `json:"ttlExpression,omitempty"`

	// delete says how the object is deleted.
	// +optional
	Delete *Delete `json:"delete,omitempty"`

	// events says how deletions are told: Aggregate, the default, sums them up in Events on the policy; PerObject
	// also writes one Event for each object.
	// +optional
	// +kubebuilder:default=Aggregate
	Events EventMode `json:"events,omitempty"`
}

// Target is a kind of object, with an optional label selector.
type Target struct {
	// apiVersion of the kind, such as batch/v1 or v1.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// kind in CamelCase, such as Job.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// selector limits the rule to objects with these labels. Absent and {} mean all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// Delete says how a rule deletes.
type Delete struct {
	// propagationPolicy says what becomes of dependents: Background (the default) and Foreground delete them, Orphan
	// leaves them.
	// +optional
	// +kubebuilder:default=Background
	// +kubebuilder:validation:Enum=Background;Foreground;Orphan
	PropagationPolicy metav1.DeletionPropagation `json:"propagationPolicy,omitempty"`
}

// EventMode says how deletions are told. The zero value means Aggregate.
//
// +kubebuilder:validation:Enum=Aggregate;PerObject
type EventMode string

const (
	// EventsAggregate sums deletions up in Events on the policy.
	EventsAggregate EventMode = "Aggregate"
	// EventsPerObject also writes one Event for each deleted object.
	EventsPerObject EventMode = "PerObject"
)
