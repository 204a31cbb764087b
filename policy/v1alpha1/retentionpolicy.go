// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RetentionPolicy overrides rules of ClusterRetentionPolicies in its namespace, and can have rules of its own.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,shortName=ret,categories=sunset
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
type RetentionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec has the overrides and rules of the namespace.
	// +required
	Spec RetentionPolicySpec `json:"spec"`
	// status has the counts and conditions of the policy. Only the controller writes it.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Ready", status: "Unknown", reason: "Pending", message: "waiting for the controller", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
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

// RetentionPolicySpec has the settings of a RetentionPolicy.
//
// +kubebuilder:validation:XValidation:rule="!has(self.rules) || size(self.rules) == 0 || has(self.serviceAccountName)",message="rules need serviceAccountName: they delete with the permissions of this ServiceAccount"
// +kubebuilder:validation:XValidation:rule="has(self.rules) && size(self.rules) > 0 || has(self.overrides) && size(self.overrides) > 0 || has(self.freezes) && size(self.freezes) > 0",message="one of overrides, rules and freezes must be set"
// +kubebuilder:validation:XValidation:rule="has(self.rules) && size(self.rules) > 0 || !has(self.freezes) || self.freezes.all(f, has(f.allPolicies) && f.allPolicies)",message="without rules, freezes need allPolicies: true."
type RetentionPolicySpec struct {
	// mode sets what the policy's own rules do, and whether overrides that keep objects for a shorter time apply. DryRun, the
	// default, only counts. With Enforce, the rules delete objects and these overrides apply. Suspend deletes nothing, and
	// keeps the objects that the policy's own rules find eligible. Overrides that keep objects longer apply in every mode.
	// +optional
	// +kubebuilder:default=DryRun
	Mode Mode `json:"mode,omitempty"`

	// overrides change rules of ClusterRetentionPolicies in this namespace, within the bounds of each rule.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Overrides []RuleOverride `json:"overrides,omitempty"`

	// variables are CEL expressions that rules can read as variables.NAME. A variable can read the variables before it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Variables []Variable `json:"variables,omitempty"`

	// rules of the policy itself. They apply only in its namespace, to namespaced kinds.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Rules []Rule `json:"rules,omitempty"`

	// serviceAccountName is the ServiceAccount of this namespace whose permissions the rules need: list and delete on every
	// kind that they target. Required if there are rules.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the bare name of a ServiceAccount of this namespace, without a namespace and without system:serviceaccount:"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// windows are the times at which the policy's own rules delete objects. Objects that become due at other times wait, and are then deleted in the
	// order of their due times, during the first half of the next window. Absent means at any time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Windows []Window `json:"windows,omitempty"`

	// freezes are times in which the policy's own rules delete no objects, or with allPolicies no rules in the namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Freezes []Freeze `json:"freezes,omitempty"`

	// approval sets how many objects a change of the rules may delete without approval, if no dry run has counted the change.
	// +optional
	Approval *Approval `json:"approval,omitempty"`

	// limits sets the maximum number of deletions of the policy, also across restarts and leader changes of the controller.
	// +optional
	Limits *Limits `json:"limits,omitempty"`
}

// RuleOverride changes one rule, or all rules of a policy, in a namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.ttl) || has(self.suspend) || has(self.keepNewest) || has(self.windows)",message="one of ttl, suspend, keepNewest and windows must be set"
type RuleOverride struct {
	// policy names a ClusterRetentionPolicy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Policy string `json:"policy"`
	// rule names one of its rules. Absent means all rules.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Rule string `json:"rule,omitempty"`
	// ttl is the time to live in this namespace, as in a rule.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$`
	// +kubebuilder:example="4h"
	TTL string `json:"ttl,omitempty"`
	// suspend: true keeps the objects that the rule finds eligible in this namespace. false has no effect.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// keepNewest changes how many of the newest eligible objects the rule keeps in this namespace.
	// +optional
	KeepNewest *KeepNewestCount `json:"keepNewest,omitempty"`
	// windows are the times at which the rule deletes objects in this namespace. They apply in addition to the windows of its
	// policy: both must be open. A rule with overrideBounds.allowSuspend: false ignores them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Windows []Window `json:"windows,omitempty"`
}

// KeepNewestCount is the count of keepNewest in one namespace. The groups are those of the rule.
type KeepNewestCount struct {
	// count is the number of the newest eligible objects that the rule keeps in each group, or in the namespace if the rule has
	// no groups. With 0 it keeps none.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`
}
