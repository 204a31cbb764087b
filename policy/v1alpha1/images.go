package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Images is what else counts where a rule is about images of nodes.
//
// +kubebuilder:validation:XValidation:rule="has(self.highThresholdPercent) == has(self.lowThresholdPercent)",message="highThresholdPercent and lowThresholdPercent go together"
// +kubebuilder:validation:XValidation:rule="!has(self.highThresholdPercent) || !has(self.lowThresholdPercent) || self.lowThresholdPercent < self.highThresholdPercent",message="lowThresholdPercent must be below highThresholdPercent"
type Images struct {
	// minAge is how long an image stays at least after it was first seen, whatever the disk looks like. Absent means 2m.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	MinAge string `json:"minAge,omitempty"`
	// highThresholdPercent is how full the filesystem of the images may become. Beyond it the eligible images that have been
	// unused for longest go before their time to live ends. Absent means that space does not count.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	HighThresholdPercent *int32 `json:"highThresholdPercent,omitempty"`
	// lowThresholdPercent is where that ends.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	LowThresholdPercent *int32 `json:"lowThresholdPercent,omitempty"`
	// allowUnpullable lets images go that have no digest: they were loaded onto the node, and no registry may have them.
	// +optional
	AllowUnpullable bool `json:"allowUnpullable,omitempty"`
}

// NodeImageRules is what the agents on nodes obey: every ClusterRetentionPolicy with rules about images, as far as it is
// about them. There is one, named "rules". Written by the controller only.
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

	// known are all ClusterRetentionPolicies as they were read for this, about images or not. One that is not among them, or
	// has changed since, may keep what the rules here let go: an agent compares before it removes anything.
	// +optional
	// +listType=atomic
	Known []NodeImageKnownPolicy `json:"known,omitempty"`
}

// NodeImageKnownPolicy names one form of a ClusterRetentionPolicy.
type NodeImageKnownPolicy struct {
	// name of the policy.
	Name string `json:"name"`
	// uid of the policy.
	UID types.UID `json:"uid"`
	// generation of its spec.
	Generation int64 `json:"generation"`
	// approved is its annotation sunset.x-k8s.io/approved.
	// +optional
	Approved string `json:"approved,omitempty"`
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

// NodeImagePolicy is a ClusterRetentionPolicy as far as it is about images.
type NodeImagePolicy struct {
	// name of the policy.
	Name string `json:"name"`
	// uid of the policy.
	UID types.UID `json:"uid"`
	// created is when it was.
	Created metav1.Time `json:"created"`
	// generation of its spec.
	Generation int64 `json:"generation"`
	// hash of the whole spec but for mode, approval, limits and the rules' events and outcomes. "left-out" where the policy
	// does not fit: it has then one invalid rule, which keeps everything if the policy is enforced or suspended.
	Hash string `json:"hash"`
	// unapproved are the rules that wait: enforced, they would delete more than approval allows. They
	// keep what they find eligible.
	// +optional
	// +listType=set
	Unapproved []string `json:"unapproved,omitempty"`
	// spec with its rules about images only, and of the rest what matters to them: mode and variables. A rule that the
	// controller does not understand is here as one that agents do not understand either.
	Spec ClusterRetentionPolicySpec `json:"spec"`
}

// NodeImageReport is what the agent of one node sees and has done. It is named by the node, which owns it. Written by that
// node's agent only.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=nimages,categories=sunset
// +kubebuilder:printcolumn:name=Images,type=integer,JSONPath=`.images`
// +kubebuilder:printcolumn:name=Bytes,type=integer,JSONPath=`.bytes`
// +kubebuilder:printcolumn:name=Used %,type=integer,JSONPath=`.filesystem.usedPercent`
// +kubebuilder:printcolumn:name=Removed,type=integer,JSONPath=`.removed.images`
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=Observed,type=date,JSONPath=`.observedTime`
type NodeImageReport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// observedTime is when the numbers were counted. A report is written when something in it has changed, at most once a
	// minute, and otherwise every ten minutes: one that is older than half an hour is stale.
	// +optional
	ObservedTime metav1.Time `json:"observedTime,omitempty"`
	// runtime is the name and version of the container runtime.
	// +optional
	Runtime string `json:"runtime,omitempty"`
	// images there are on the node.
	// +optional
	Images int64 `json:"images"`
	// bytes of them, as the runtime says: layers that images share count for each.
	// +optional
	Bytes int64 `json:"bytes"`
	// filesystem of the images; absent where the agent cannot see it.
	// +optional
	Filesystem *NodeImageFilesystem `json:"filesystem,omitempty"`
	// removed are the images that the agent has removed since it first came to the node.
	// +optional
	Removed ImageCount `json:"removed"`
	// pulledAgain are those of them that came back within a day.
	// +optional
	PulledAgain int64 `json:"pulledAgain,omitempty"`
	// policies has what each policy of the rules sees there, also one without a rule for this node: it sees nothing. An
	// entry is here once all images have been counted by that form of the policy.
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
	// ConditionPodsKnown is False while the agent is not told which Pods are bound to its node.
	ConditionPodsKnown = "PodsKnown"
	// ConditionStateKept is False while the ages of the images cannot be written to disk, and for a day after they were lost.
	ConditionStateKept = "StateKept"
	// ConditionFilesystemSeen is False while a rule has thresholds and the agent cannot see how full the disk is.
	ConditionFilesystemSeen = "FilesystemSeen"
	// ConditionRulesKnown is False while the agent cannot read the rules, or not those in force.
	ConditionRulesKnown = "RulesKnown"
)

// NodeImageFilesystem is the filesystem that has the images.
type NodeImageFilesystem struct {
	// capacityBytes it has.
	CapacityBytes int64 `json:"capacityBytes"`
	// usedBytes are in use, by whomever.
	UsedBytes int64 `json:"usedBytes"`
	// usedPercent is the part that is not available, rounded down, as the kubelet counts it.
	UsedPercent int32 `json:"usedPercent"`
}

// ImageCount is a number of images and of what they take.
type ImageCount struct {
	// images counted.
	Images int64 `json:"images"`
	// bytes of them.
	Bytes int64 `json:"bytes"`
}

// ImageDueCounts says how many images go, or in a dry run would go, and by when. Each count includes the ones before it.
type ImageDueCounts struct {
	// now counts what is due already.
	Now ImageCount `json:"now"`
	// hour counts what is due within one hour.
	Hour ImageCount `json:"hour"`
	// day counts what is due within 24 hours.
	Day ImageCount `json:"day"`
	// week counts what is due within seven days.
	Week ImageCount `json:"week"`
}

// NodeImagePolicyReport is what one policy sees on one node.
type NodeImagePolicyReport struct {
	// name of the policy.
	Name string `json:"name"`
	// uid of the policy.
	UID types.UID `json:"uid"`
	// generation and hash of the spec that the numbers are about.
	Generation int64  `json:"generation"`
	Hash       string `json:"hash"`
	// matched is how many images its rules are about, each counted once.
	Matched int64 `json:"matched"`
	// eligible is how many of them at least one rule finds eligible.
	Eligible int64 `json:"eligible"`
	// errors is how many images an expression failed on.
	// +optional
	Errors int64 `json:"errors,omitempty"`
	// due is how many images would go, and by when.
	Due ImageDueCounts `json:"due"`
	// removed are the images that went on the policy's word.
	Removed ImageCount `json:"removed"`
	// rules has one entry for each rule for the node.
	// +optional
	// +listType=map
	// +listMapKey=name
	Rules []NodeImageRuleReport `json:"rules,omitempty"`
}

// NodeImageRuleReport is what one rule sees on one node.
type NodeImageRuleReport struct {
	// name of the rule.
	Name string `json:"name"`
	// matched is how many images the rule is about.
	Matched int64 `json:"matched"`
	// eligible is how many of them the rule finds eligible.
	Eligible int64 `json:"eligible"`
	// errors is how many images the rule's expressions fail on. They are kept.
	// +optional
	Errors int64 `json:"errors,omitempty"`
	// errorSample is one such error.
	// +optional
	ErrorSample string `json:"errorSample,omitempty"`
	// due is how many images the rule says may go and nothing else keeps, and by when.
	Due ImageDueCounts `json:"due"`
	// nextDueTime is when the next of them goes or would go.
	// +optional
	NextDueTime *metav1.Time `json:"nextDueTime,omitempty"`
	// soonest are at most three of them, the soonest first.
	// +optional
	// +listType=atomic
	Soonest []ImageSample `json:"soonest,omitempty"`
	// removed are the images that went on the rule's word.
	Removed ImageCount `json:"removed"`
}

// ImageSample is one image and when it goes.
type ImageSample struct {
	// name is its first tag, or else its first digest.
	// +optional
	Name string `json:"name,omitempty"`
	// id of the image.
	ID string `json:"id"`
	// bytes of the image.
	Bytes int64 `json:"bytes"`
	// dueTime is start time plus time to live.
	DueTime metav1.Time `json:"dueTime"`
}

// NodeImagesStatus sums up what the agents report about a policy.
type NodeImagesStatus struct {
	// nodes that report about the policy's present spec.
	Nodes int64 `json:"nodes"`
	// staleNodes have not reported for half an hour, or about another spec, and are not counted.
	// +optional
	StaleNodes int64 `json:"staleNodes,omitempty"`
	// images the policy is about, on all nodes.
	Images int64 `json:"images"`
	// due is how many images would go, with their bytes, and by when.
	Due ImageDueCounts `json:"due"`
	// removed are the images that went on the policy's word.
	Removed ImageCount `json:"removed"`
}
