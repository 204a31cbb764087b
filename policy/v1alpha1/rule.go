// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Variable is a named CEL expression.
type Variable struct {
	// name of the variable. Expressions refer to it as variables.NAME.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:example="app"
	Name string `json:"name"`
	// expression is a CEL expression of any type. It can read object and the variables before it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	Expression string `json:"expression"`
}

// Rule selects the objects of one kind that Sunset deletes, and sets when: at the start time plus the time to live.
//
// +kubebuilder:validation:XValidation:rule="!has(self.snapshot) || self.target.apiVersion == 'v1' && self.target.kind == 'PersistentVolumeClaim'",message="snapshot applies only to PersistentVolumeClaims: target apiVersion v1, kind PersistentVolumeClaim"
// +kubebuilder:validation:XValidation:rule="!(has(self.ttl) && has(self.ttlExpression))",message="only one of ttl and ttlExpression can be set"
// +kubebuilder:validation:XValidation:rule="has(self.ttl) || has(self.ttlExpression) || has(self.capacity) || has(self.images) && has(self.images.highThresholdPercent)",message="one of ttl, ttlExpression, capacity and images.highThresholdPercent must be set"
type Rule struct {
	// name identifies the rule within its policy, in status, events, metrics and logs.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:example="failed"
	Name string `json:"name"`

	// target is the kind of the objects.
	// +required
	Target Target `json:"target"`

	// eligible is CEL -> bool: true if Sunset may delete the object when it is due. Absent means true: Sunset may delete every
	// object that target selects. Sunset evaluates it first. If it is false, Sunset evaluates no other expression of the rule.
	// If it fails, Sunset keeps the object. A rule with null, such as YAML reads from !finished(object) without quotes, is
	// invalid.
	// +optional
	// +nullable
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	// +kubebuilder:example="finished(object)"
	Eligible string `json:"eligible,omitempty"`

	// startTime is CEL -> timestamp or optional(timestamp): the start of the time to live. With optional.none() the rule does
	// not apply to the object. Sunset uses the creationTimestamp of the object if the result is earlier. Without this field,
	// the start is the time when Sunset first saw the object eligible. Sunset writes this time on the object (annotation
	// sunset-k8s.io/eligible-since), and removes it when the object is no longer eligible. An image has no annotations:
	// without this field, its start is the later of its status.firstSeen and status.lastUsed, and no start can be earlier.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	// +kubebuilder:example="finishedAt(object)"
	StartTime string `json:"startTime,omitempty"`

	// ttl is the time to live after the start, in Go units plus d (24h) and w (7d): "90m", "1d12h", "2w". With "0s", an
	// eligible object is due at its start.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$`
	// +kubebuilder:example="7d"
	TTL string `json:"ttl,omitempty"`

	// ttlExpression is CEL -> duration or optional(duration), instead of ttl. With optional.none() the object is never due, and
	// no other policy deletes it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	// +kubebuilder:example="failed(object) ? days(7) : days(1)"
	TTLExpression string `json:"ttlExpression,omitempty"`

	// keepNewest keeps the newest eligible objects, even if they are due.
	// +optional
	KeepNewest *KeepNewest `json:"keepNewest,omitempty"`

	// capacity deletes the oldest eligible objects before their time to live ends, if there are too many.
	// +optional
	Capacity *Capacity `json:"capacity,omitempty"`

	// overrideBounds limits what a RetentionPolicy and the annotations of an object can change. Without it, they can only keep
	// objects longer, keep more of the newest, put a hold on them, or suspend the rule, also by windows and freezes.
	// +optional
	OverrideBounds *OverrideBounds `json:"overrideBounds,omitempty"`

	// images has more settings, if the target is an Image of a node.
	// +optional
	Images *Images `json:"images,omitempty"`

	// nodeSelector limits a rule about images to nodes with these labels. Absent and {} mean all.
	// +optional
	// +nullable
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`

	// outcome is CEL -> string: the outcome of the object, such as "succeeded(object) ? 'Succeeded' : 'Failed'". The
	// RetentionLedger of the policy counts deletions exactly for each outcome; at most 32 values, of at most 63 characters. If
	// it fails, Sunset keeps the object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	// +kubebuilder:example="succeeded(object) ? 'Succeeded' : 'Failed'"
	Outcome string `json:"outcome,omitempty"`

	// bytes is CEL -> int, string or optional: how much storage the object occupies, as a number of bytes or as a quantity such as
	// "10Gi". Status, metrics, digests and previews add it up; it does not change what the rule deletes or when. If it fails, Sunset
	// keeps the object. Without it, the size of a PersistentVolumeClaim or PersistentVolume is its capacity, and that of other objects
	// is unknown. The container runtime reports the sizes of images.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	// +kubebuilder:example="object.?status.restoreSize"
	Bytes string `json:"bytes,omitempty"`

	// delete sets which object the rule deletes, and how.
	// +optional
	Delete *Delete `json:"delete,omitempty"`

	// archive writes a record of each object to an archive before the rule deletes it.
	// +optional
	Archive *ArchiveRule `json:"archive,omitempty"`

	// snapshot makes a VolumeSnapshot of each PersistentVolumeClaim before the rule deletes it. Sunset keeps the claim until the
	// snapshot is ready to use. The rule must target kind PersistentVolumeClaim.
	// +optional
	Snapshot *SnapshotRule `json:"snapshot,omitempty"`

	// events sets which Events Sunset writes. With Aggregate, the default, Events on the policy summarize the deletions. With
	// PerObject, Sunset also writes one Event for each object, at most 50 per second for all rules together.
	// +optional
	Events EventMode `json:"events,omitempty"`
}

// Target is a kind of object, with an optional label selector.
type Target struct {
	// apiVersion of the kind, such as batch/v1 or v1. Sunset reads each kind in one version: the one that rules of
	// ClusterRetentionPolicies name, or otherwise the one that the API server prefers. A rule with another version is invalid.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([^/ ]+/)?[^/ ]+$`
	// +kubebuilder:example="batch/v1"
	APIVersion string `json:"apiVersion"`
	// kind in CamelCase, such as Job.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^\S+$`
	// +kubebuilder:example="Job"
	Kind string `json:"kind"`
	// selector limits the rule to objects with these labels. Absent and {} mean all.
	// +optional
	// +nullable
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// KeepNewest keeps the newest eligible objects of each group.
type KeepNewest struct {
	// count is the number of objects that the rule keeps in each namespace and group: those with the latest start times.
	// Objects with a hold count, terminating objects do not.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// groupBy is CEL -> string: objects of one namespace with the same value are a group. Without it, each namespace is a
	// group. Images of one node with the same value are a group. Sunset evaluates it for each tag of an image. If the tags of
	// an image give several groups, the image counts in each, and the rule keeps it if it is among the newest of one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	// +kubebuilder:example="object.metadata.?labels[?'app'].orValue('')"
	GroupBy string `json:"groupBy,omitempty"`
}

// Capacity is the maximum number of eligible objects. If there are more, those with the earliest start times are due at once.
//
// +kubebuilder:validation:XValidation:rule="has(self.max) != has(self.percentOfQuota)",message="exactly one of max and percentOfQuota must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.percentOfQuota) || !has(self.share) || self.share == 'PerNamespace'",message="percentOfQuota counts in each namespace: set share to PerNamespace, or omit it"
type Capacity struct {
	// max is the maximum number of eligible objects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Max *int32 `json:"max,omitempty"`
	// percentOfQuota is the maximum number of eligible objects, as a percentage of the number that the ResourceQuota of the
	// namespace allows for the kind (count/RESOURCE.GROUP, such as count/jobs.batch). If there are several quotas, Sunset uses
	// the smallest. A namespace without a quota has no maximum.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	PercentOfQuota *int32 `json:"percentOfQuota,omitempty"`
	// share sets what max counts: with PerNamespace, the default, the objects of each namespace. With Fair, the objects of all
	// namespaces together; Sunset deletes objects from the namespaces with the most objects first.
	// +optional
	Share Share `json:"share,omitempty"`
}

// Share says how namespaces share a capacity. The zero value means PerNamespace.
//
// +kubebuilder:validation:Enum=PerNamespace;Fair
type Share string

const (
	// SharePerNamespace gives each namespace the whole capacity.
	SharePerNamespace Share = "PerNamespace"
	// ShareFair divides the capacity: objects above it are deleted from the namespaces with the most objects first.
	ShareFair Share = "Fair"
)

// OverrideBounds limits what a RetentionPolicy and the annotations of an object can change in a rule.
type OverrideBounds struct {
	// minTTL is the shortest time to live that a RetentionPolicy or the annotation of an object can set; Sunset uses it instead
	// of a shorter one. Absent means the time of the rule, so that they can only set a longer one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$`
	// +kubebuilder:example="1h"
	MinTTL string `json:"minTTL,omitempty"`
	// maxTTL is the longest time to live that a RetentionPolicy or the annotation of an object can set; Sunset uses it instead
	// of a longer one, or the time to live of the rule if that is longer than maxTTL. Absent means no maximum.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$`
	// +kubebuilder:example="30d"
	MaxTTL string `json:"maxTTL,omitempty"`
	// ttlAnnotation sets which time to live the annotation sunset-k8s.io/ttl of an object can set. Longer, the default: only a
	// longer one, up to maxTTL. WithinBounds: each that a RetentionPolicy can set. Ignore: none.
	// +optional
	TTLAnnotation TTLAnnotationEffect `json:"ttlAnnotation,omitempty"`
	// allowSuspend sets whether a RetentionPolicy can suspend the rule in its namespace, also by windows and freezes. Absent means
	// true.
	// +optional
	AllowSuspend *bool `json:"allowSuspend,omitempty"`
	// minKeepNewest is the minimum of keepNewest.count that a RetentionPolicy can set. Absent means the count of the rule, so that a
	// RetentionPolicy can only keep more.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinKeepNewest *int32 `json:"minKeepNewest,omitempty"`
}

// TTLAnnotationEffect says which time to live the annotation of an object can set. The zero value means Longer.
//
// +kubebuilder:validation:Enum=Longer;WithinBounds;Ignore
type TTLAnnotationEffect string

const (
	// TTLAnnotationLonger allows only a longer time to live, up to maxTTL.
	TTLAnnotationLonger TTLAnnotationEffect = "Longer"
	// TTLAnnotationWithinBounds allows each time to live that a RetentionPolicy can set.
	TTLAnnotationWithinBounds TTLAnnotationEffect = "WithinBounds"
	// TTLAnnotationIgnore ignores the annotation.
	TTLAnnotationIgnore TTLAnnotationEffect = "Ignore"
)

// Delete sets which object a rule deletes, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.allowUnfinishedOwner) || !self.allowUnfinishedOwner || has(self.target) && self.target == 'Owner'",message="allowUnfinishedOwner applies only to owners: set target: Owner"
// +kubebuilder:validation:XValidation:rule="!has(self.target) || self.target != 'Owner' || !has(self.propagationPolicy) || self.propagationPolicy != 'Orphan'",message="Orphan would keep the object when its owner is deleted: set Background or Foreground"
type Delete struct {
	// target sets which object the rule deletes: with Object, the default, the object itself. With Owner, the controller of the
	// object, such as the Job of a Workload; garbage collection then deletes the object, as all dependents of the owner. The
	// owner must have finished, must not have a hold or be protected, and no rule about its own kind may keep it. Sunset keeps
	// an object without a controller.
	// +optional
	Target DeleteTarget `json:"target,omitempty"`
	// allowUnfinishedOwner lets the rule delete an owner that has not finished, or whose kind does not show whether it has.
	// Needs target: Owner.
	// +optional
	AllowUnfinishedOwner bool `json:"allowUnfinishedOwner,omitempty"`
	// allowManaged lets the rule delete objects that another controller would re-create or still needs: those that MultiKueue
	// created in a worker cluster, that Argo CD or Flux tracks, and Helm hooks. With target: Owner it applies to the owner too.
	// +optional
	AllowManaged bool `json:"allowManaged,omitempty"`
	// propagationPolicy sets what happens to dependents: Background (the default) and Foreground delete them, Orphan keeps
	// them.
	// +optional
	// +kubebuilder:validation:Enum=Background;Foreground;Orphan
	PropagationPolicy metav1.DeletionPropagation `json:"propagationPolicy,omitempty"`
}

// DeleteTarget says which object a rule deletes. The zero value means Object.
//
// +kubebuilder:validation:Enum=Object;Owner
type DeleteTarget string

const (
	// TargetObject deletes the object that the rule selects.
	TargetObject DeleteTarget = "Object"
	// TargetOwner deletes its controller.
	TargetOwner DeleteTarget = "Owner"
)

// EventMode says how Events report deletions. The zero value means Aggregate.
//
// +kubebuilder:validation:Enum=Aggregate;PerObject
type EventMode string

const (
	// EventsAggregate summarizes deletions in Events on the policy.
	EventsAggregate EventMode = "Aggregate"
	// EventsPerObject also writes one Event for each deleted object, at most 50 per second.
	EventsPerObject EventMode = "PerObject"
)
