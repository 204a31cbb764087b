package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RetentionPolicy changes, in its own namespace, the rules of ClusterRetentionPolicies, and may have rules of its own.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=ret,categories=sunset
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
type RetentionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what differs in the namespace.
	// +required
	Spec RetentionPolicySpec `json:"spec"`
	// status says what Sunset sees and has done in the namespace. Written by the controller only.
	// +optional
	Status RetentionPolicyStatus `json:"status,omitempty"`
}

// RetentionPolicyList is a list of RetentionPolicies.
//
// +kubebuilder:object:root=true
type RetentionPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RetentionPolicy `json:"items"`
}

// RetentionPolicySpec is what a team writes for its namespace.
//
// +kubebuilder:validation:XValidation:rule="!has(self.rules) || size(self.rules) == 0 || has(self.serviceAccountName)",message="rules of its own need serviceAccountName: they act with its rights"
// +kubebuilder:validation:XValidation:rule="has(self.rules) && size(self.rules) > 0 || has(self.overrides) && size(self.overrides) > 0",message="one of overrides and rules must be set"
type RetentionPolicySpec struct {
	// mode says what the policy's own rules do, and whether overrides that make objects go sooner count. DryRun, the
	// default, only counts what would be. Enforce does it. Suspended deletes nothing and keeps what the policy's own
	// rules find eligible. An override that keeps longer counts whatever the mode.
	// +optional
	// +kubebuilder:default=DryRun
	Mode Mode `json:"mode,omitempty"`

	// overrides change rules of ClusterRetentionPolicies in this namespace, within what each rule allows.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Overrides []RuleOverride `json:"overrides,omitempty"`

	// variables are CEL expressions shared by the rules as variables.NAME. A variable may use those before it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Variables []Variable `json:"variables,omitempty"`

	// rules are the namespace's own, about kinds that live in namespaces.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Rules []Rule `json:"rules,omitempty"`

	// serviceAccountName is the ServiceAccount of this namespace with whose rights rules act: it needs list and delete
	// on every kind they target. Required beside rules.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// approval says how large a backlog rules may delete that no dry run has shown before.
	// +optional
	Approval *Approval `json:"approval,omitempty"`

	// limits bounds how much the policy deletes, across restarts of the controller and changes of leader.
	// +optional
	Limits *Limits `json:"limits,omitempty"`
}

// RuleOverride changes one rule, or all of a policy, in a namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.ttl) || has(self.suspend) || has(self.keepNewest)",message="one of ttl, suspend and keepNewest must be set"
type RuleOverride struct {
	// policy names a ClusterRetentionPolicy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Policy string `json:"policy"`
	// rule names one of its rules; absent means all of them.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Rule string `json:"rule,omitempty"`
	// ttl is the time to live in this namespace, as in a rule.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TTL string `json:"ttl,omitempty"`
	// suspend: true keeps what the rule finds eligible in this namespace. false says nothing.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// keepNewest is how many of the newest eligible objects stay of each group of the rule, or of the namespace where
	// the rule has no groups.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepNewest *int32 `json:"keepNewest,omitempty"`
}
