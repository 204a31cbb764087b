package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of a policy.
const (
	// ConditionReady is True when every rule is valid, its kind is fully listed and nothing stands in the way of the
	// policy's mode. Its reason names the first thing that does.
	ConditionReady = "Ready"
	// ConditionValid is False when a rule is invalid; the message says where and what to do.
	ConditionValid = "Valid"
	// ConditionWatching is False while a target kind cannot be listed and watched; the message names the verb and resource.
	ConditionWatching = "Watching"
	// ConditionEnforcing is True while the policy deletes what is due. Its reason says why not.
	ConditionEnforcing = "Enforcing"
)

// RetentionPolicyStatus is what Sunset sees and has done. Its size does not depend on the number of objects.
type RetentionPolicyStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// observedTime is when the numbers were counted.
	// +optional
	ObservedTime *metav1.Time `json:"observedTime,omitempty"`

	// matched is how many objects the rules select, each counted once.
	// +optional
	Matched int64 `json:"matched"`
	// eligible is how many of them at least one rule finds eligible.
	// +optional
	Eligible int64 `json:"eligible"`
	// held is how many of the eligible are kept by a hold.
	// +optional
	Held int64 `json:"held"`
	// errors is how many objects an expression failed on. They are kept, unless the policy is a dry run, which keeps nothing.
	// +optional
	Errors int64 `json:"errors"`
	// due is how many objects would go, and by when.
	// +optional
	Due DueCounts `json:"due,omitempty"`
	// nextDueTime is when the next object goes or would go; absent when none will.
	// +optional
	NextDueTime *metav1.Time `json:"nextDueTime,omitempty"`
	// deleted is how many objects this policy has deleted.
	// +optional
	Deleted int64 `json:"deleted"`

	// rules has one entry for each rule.
	// +optional
	// +listType=map
	// +listMapKey=name
	Rules []RuleStatus `json:"rules,omitempty"`

	// conditions: Ready, Valid, Watching, Enforcing.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DueCounts says how many objects go, or in a dry run would go, and by when. Each count includes the ones before it.
type DueCounts struct {
	// now counts what is due already.
	Now int64 `json:"now"`
	// hour counts what is due within one hour.
	Hour int64 `json:"hour"`
	// day counts what is due within 24 hours.
	Day int64 `json:"day"`
	// week counts what is due within seven days.
	Week int64 `json:"week"`
}

// RuleStatus is what one rule sees and has done.
type RuleStatus struct {
	// name of the rule.
	Name string `json:"name"`
	// matched is how many objects the rule selects.
	// +optional
	Matched int64 `json:"matched"`
	// eligible is how many of them the rule finds eligible.
	// +optional
	Eligible int64 `json:"eligible"`
	// held is how many of the eligible are kept by a hold.
	// +optional
	Held int64 `json:"held"`
	// errors is how many objects the rule's expressions fail on. They are kept.
	// +optional
	Errors int64 `json:"errors"`
	// errorSamples are at most three of them, with the error.
	// +optional
	// +listType=atomic
	ErrorSamples []ErrorSample `json:"errorSamples,omitempty"`
	// due is how many objects the rule says may go and nothing else keeps, and by when.
	// +optional
	Due DueCounts `json:"due,omitempty"`
	// nextDueTime is when the next of them goes or would go.
	// +optional
	NextDueTime *metav1.Time `json:"nextDueTime,omitempty"`
	// soonest are at most five of them, the soonest first.
	// +optional
	// +listType=atomic
	Soonest []DueSample `json:"soonest,omitempty"`
	// deleted is how many objects have been deleted on this rule's word.
	// +optional
	Deleted int64 `json:"deleted"`
	// problems say why the rule is invalid; while it is, it deletes nothing and keeps what it may be about.
	// +optional
	// +listType=atomic
	Problems []string `json:"problems,omitempty"`
	// warnings are type-check findings against the cluster's schema. They never change what the rule does.
	// +optional
	// +listType=atomic
	Warnings []string `json:"warnings,omitempty"`
	// reads are the object fields the rule's expressions read. When all are below metadata only metadata is watched.
	// +optional
	// +listType=atomic
	Reads []string `json:"reads,omitempty"`
}

// DueSample is one object and when it goes.
type DueSample struct {
	// namespace of the object; empty for cluster-scoped objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	Name string `json:"name"`
	// dueTime is start time plus time to live.
	DueTime metav1.Time `json:"dueTime"`
}

// ErrorSample is one object on which an expression failed.
type ErrorSample struct {
	// namespace of the object; empty for cluster-scoped objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	Name string `json:"name"`
	// message is the error, cut at 256 characters.
	Message string `json:"message"`
}
