// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Images has the settings of a rule about images of nodes.
//
// +kubebuilder:validation:XValidation:rule="has(self.highThresholdPercent) == has(self.lowThresholdPercent)",message="set both highThresholdPercent and lowThresholdPercent, or neither"
// +kubebuilder:validation:XValidation:rule="!has(self.highThresholdPercent) || !has(self.lowThresholdPercent) || self.lowThresholdPercent < self.highThresholdPercent",message="lowThresholdPercent must be below highThresholdPercent"
type Images struct {
	// minAge is the minimum time that the rule keeps an image after the agent first saw it, even if the disk is full. Absent
	// means 2m.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$`
	// +kubebuilder:example="1h"
	MinAge string `json:"minAge,omitempty"`
	// highThresholdPercent is the disk usage of the filesystem of the images from which on the agent removes eligible images
	// before their time to live ends. It removes the images first that have been unused for the longest time. Absent means that
	// disk usage has no effect.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	HighThresholdPercent *int32 `json:"highThresholdPercent,omitempty"`
	// lowThresholdPercent is the disk usage at which the agent stops.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	LowThresholdPercent *int32 `json:"lowThresholdPercent,omitempty"`
	// allowUnpullable lets the rule remove images without a digest, or with digests in localhost/ or import-YYYY-MM-DD only. They
	// were loaded onto the node, and may not exist in any registry.
	// +optional
	AllowUnpullable bool `json:"allowUnpullable,omitempty"`
}

// NodeImageRules has the rules about images for node agents, from every ClusterRetentionPolicy with such rules. There is one
// object, named "rules". Only the controller writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=sunset
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type NodeImageRules struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// policies with rules about images.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4096
	Policies []NodeImagePolicy `json:"policies,omitempty"`

	// known lists all ClusterRetentionPolicies that the controller read for this object, with or without rules about images. A
	// policy that is not in the list, or has changed, may keep images, so an agent compares the list before it removes an
	// image.
	// +optional
	// +listType=atomic
	Known []NodeImageKnownPolicy `json:"known,omitempty"`
}

// NodeImageKnownPolicy names one version of a ClusterRetentionPolicy.
type NodeImageKnownPolicy struct {
	// name of the policy.
	Name string `json:"name"`
	// uid of the policy.
	UID types.UID `json:"uid"`
	// generation of its spec.
	Generation int64 `json:"generation"`
}

// NodeImageRulesName is the name of the one NodeImageRules.
const NodeImageRulesName = "rules"

// NodeImageRulesList is a list of NodeImageRules.
//
// +kubebuilder:object:root=true
type NodeImageRulesList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeImageRules `json:"items"`
}

// NodeImagePolicy has the rules of a ClusterRetentionPolicy about images.
type NodeImagePolicy struct {
	// name of the policy.
	Name string `json:"name"`
	// uid of the policy.
	UID types.UID `json:"uid"`
	// creationTimestamp of the policy.
	CreationTimestamp metav1.Time `json:"creationTimestamp"`
	// generation of its spec.
	Generation int64 `json:"generation"`
	// hash of the whole spec without mode, approval, limits, and the events of rules. "left-out" if the policy does
	// not fit: it then has one invalid rule, which keeps all images if the policy is enforced or suspended.
	Hash string `json:"hash"`
	// unapproved lists the rules that wait for an approval. They keep the images that they find eligible.
	// +optional
	// +listType=set
	Unapproved []string `json:"unapproved,omitempty"`
	// approvals are the hashes of the approvals by which the policy deletes. Agents name them in their audit records.
	// +optional
	// +listType=atomic
	Approvals []string `json:"approvals,omitempty"`
	// spec with only the rules about images, mode and variables. A rule that is invalid for the controller is also invalid for
	// agents here.
	Spec ClusterRetentionPolicySpec `json:"spec"`
}

// NodeImageReport is the status of the agent of one node. It has the name of the node, which owns it. Only the agent of that
// node writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=nireport,categories=sunset
// +kubebuilder:printcolumn:name=Images,type=integer,JSONPath=`.images`
// +kubebuilder:printcolumn:name=Bytes,type=integer,priority=1,JSONPath=`.bytes`
// +kubebuilder:printcolumn:name=Used %,type=integer,JSONPath=`.filesystem.usedPercent`
// +kubebuilder:printcolumn:name=Removed,type=integer,priority=1,JSONPath=`.removed.images`
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=Observed,type=date,JSONPath=`.observedTime`
type NodeImageReport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// observedTime is when the agent counted the numbers. The agent writes a changed report at most once a minute, and an
	// unchanged one every ten minutes. A report that is older than half an hour is stale.
	// +optional
	ObservedTime metav1.Time `json:"observedTime,omitempty"`
	// runtime is the name and version of the container runtime.
	// +optional
	Runtime string `json:"runtime,omitempty"`
	// images is the number of images on the node.
	// +optional
	Images int64 `json:"images"`
	// bytes is the size of the images that the container runtime reports. A layer that several images share counts for each of
	// them.
	// +optional
	Bytes int64 `json:"bytes"`
	// filesystem of the images; absent if the agent cannot read its usage.
	// +optional
	Filesystem *NodeImageFilesystem `json:"filesystem,omitempty"`
	// removed counts the images that the agent has removed since it was installed on the node.
	// +optional
	Removed ImageCount `json:"removed"`
	// pulledAgain is the number of removed images that the node pulled again within a day.
	// +optional
	PulledAgain int64 `json:"pulledAgain,omitempty"`
	// policies has the numbers of each policy on this node, also of a policy without a rule for this node. It lists a policy
	// after the agent has counted all images by that version of the policy.
	// +optional
	// +listType=map
	// +listMapKey=name
	Policies []NodeImagePolicyReport `json:"policies,omitempty"`
	// conditions: Ready, RuntimeReachable, PodsKnown, StateKept, FilesystemSeen, RulesKnown.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeImageReportList is a list of NodeImageReports.
//
// +kubebuilder:object:root=true
type NodeImageReportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeImageReport `json:"items"`
}

// Condition types of a NodeImageReport, beside Ready.
const (
	// ConditionRuntimeReachable is False while the container runtime does not answer, or not completely.
	ConditionRuntimeReachable = "RuntimeReachable"
	// ConditionPodsKnown is False while the agent does not receive the Pods that are bound to its node.
	ConditionPodsKnown = "PodsKnown"
	// ConditionStateKept is False while the agent cannot write the ages of the images to disk, and for a day after they were
	// lost.
	ConditionStateKept = "StateKept"
	// ConditionFilesystemSeen is False while a rule has thresholds and the agent cannot read the disk usage.
	ConditionFilesystemSeen = "FilesystemSeen"
	// ConditionRulesKnown is False while the agent cannot read the rules, its rules are outdated, or its clock differs from that
	// of the API server.
	ConditionRulesKnown = "RulesKnown"
)

// NodeImageFilesystem is the filesystem of the images.
type NodeImageFilesystem struct {
	// capacityBytes is the size of the filesystem.
	CapacityBytes int64 `json:"capacityBytes"`
	// usedBytes is the number of bytes in use, by images and all other data.
	UsedBytes int64 `json:"usedBytes"`
	// usedPercent is the part that is not available, rounded up, as the kubelet counts it.
	UsedPercent int32 `json:"usedPercent"`
}

// ImageCount is a number of images and their size.
type ImageCount struct {
	// images is the number of images.
	Images int64 `json:"images"`
	// bytes is the size of the images.
	Bytes int64 `json:"bytes"`
}

// ImageDueCounts counts the images that agents remove, or would remove in a dry run, by time. Each count includes the ones
// before it.
type ImageDueCounts struct {
	// now counts images that are due now.
	Now ImageCount `json:"now"`
	// hour counts images that become due within one hour.
	Hour ImageCount `json:"hour"`
	// day counts images that become due within 24 hours.
	Day ImageCount `json:"day"`
	// week counts images that become due within seven days.
	Week ImageCount `json:"week"`
}

// NodeImagePolicyReport has the numbers of one policy on one node.
type NodeImagePolicyReport struct {
	// name of the policy.
	Name string `json:"name"`
	// uid of the policy.
	UID types.UID `json:"uid"`
	// generation of the policy that the numbers are about.
	Generation int64 `json:"generation"`
	// hash of the version of the spec that the numbers are about, as in status.previews of the policy.
	Hash string `json:"hash"`
	// matched is the number of images that its rules select. Each image counts once.
	Matched int64 `json:"matched"`
	// eligible is the number of these images that at least one rule finds eligible.
	Eligible int64 `json:"eligible"`
	// errors is the number of images on which an expression fails.
	// +optional
	Errors int64 `json:"errors,omitempty"`
	// due is the number of images that the agent removes, or would remove in a dry run, by time.
	Due ImageDueCounts `json:"due"`
	// removed counts the images that agents have removed by this policy.
	Removed ImageCount `json:"removed"`
	// rules has one entry for each rule for the node.
	// +optional
	// +listType=map
	// +listMapKey=name
	Rules []NodeImageRuleReport `json:"rules,omitempty"`
}

// NodeImageRuleReport has the numbers of one rule on one node.
type NodeImageRuleReport struct {
	// name of the rule.
	Name string `json:"name"`
	// matched is the number of images that the rule selects.
	Matched int64 `json:"matched"`
	// eligible is the number of these images that the rule finds eligible.
	Eligible int64 `json:"eligible"`
	// errors is the number of images on which the expressions of the rule fail. The agent keeps them.
	// +optional
	Errors int64 `json:"errors,omitempty"`
	// errorSample is one such error.
	// +optional
	ErrorSample string `json:"errorSample,omitempty"`
	// due is the number of images that are due by this rule and that no other rule keeps, by time.
	Due ImageDueCounts `json:"due"`
	// nextDueTime is the next due time of these images.
	// +optional
	NextDueTime *metav1.Time `json:"nextDueTime,omitempty"`
	// soonest lists at most three of these images. The image with the earliest due time comes first.
	// +optional
	// +listType=atomic
	Soonest []ImageSample `json:"soonest,omitempty"`
	// removed counts the images that the agent has removed by this rule.
	Removed ImageCount `json:"removed"`
}

// ImageSample is one image and its due time.
type ImageSample struct {
	// name is its first tag, or else its first digest.
	// +optional
	Name string `json:"name,omitempty"`
	// id of the image.
	ID string `json:"id"`
	// bytes of the image.
	Bytes int64 `json:"bytes"`
	// dueTime is when Sunset deletes the image, or would delete it in a dry run: the latest due time of all rules, moved by windows
	// and freezes.
	DueTime metav1.Time `json:"dueTime"`
}

// NodeImagesStatus summarizes the reports of the agents about a policy.
type NodeImagesStatus struct {
	// nodes is the number of nodes that report about the current spec of the policy.
	Nodes int64 `json:"nodes"`
	// staleNodes is the number of nodes that have not reported for half an hour, or report about another spec. The other
	// numbers do not include them.
	// +optional
	StaleNodes int64 `json:"staleNodes,omitempty"`
	// images is the number of images that the policy selects on all nodes.
	Images int64 `json:"images"`
	// due is the number of images that agents remove, or would remove in a dry run, with their size, by time.
	Due ImageDueCounts `json:"due"`
	// removed counts the images that agents have removed by this policy.
	Removed ImageCount `json:"removed"`
}
