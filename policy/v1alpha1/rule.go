package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
// +kubebuilder:validation:XValidation:rule="!(has(self.ttl) && has(self.ttlExpression))",message="only one of ttl and ttlExpression can be set"
// +kubebuilder:validation:XValidation:rule="has(self.ttl) || has(self.ttlExpression) || has(self.capacity) || has(self.images) && has(self.images.highThresholdPercent)",message="one of ttl, ttlExpression, capacity and images.highThresholdPercent must be set"
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
	// Without this field the start is when Sunset first saw the object eligible, which it writes on the object
	// (annotation sunset.x-k8s.io/eligible-since) and removes when the object stops being eligible. An image has no
	// annotations: without this field its start is the later of its status.firstSeen and status.lastUsed, and no start
	// is before that.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	StartTime string `json:"startTime,omitempty"`

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

	// keepNewest keeps the newest eligible objects, whatever their age.
	// +optional
	KeepNewest *KeepNewest `json:"keepNewest,omitempty"`

	// capacity lets the oldest eligible objects go before their time to live ends, where there are too many.
	// +optional
	Capacity *Capacity `json:"capacity,omitempty"`

	// override says what a RetentionPolicy and an object's annotations may change of the rule. Without it they can
	// only keep longer, hold or suspend.
	// +optional
	Override *Override `json:"override,omitempty"`

	// images is what else counts where target is an Image of a node.
	// +optional
	Images *Images `json:"images,omitempty"`

	// nodeSelector limits a rule about images to nodes with these labels. Absent and {} mean all.
	// +optional
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`

	// outcome is CEL -> string: how the object ended, such as "succeeded(object) ? 'Succeeded' : 'Failed'". What is deleted
	// is counted by it, exactly, in the policy's RetentionLedger; at most 32 values, of at most 63 characters. An error
	// keeps the object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	Outcome string `json:"outcome,omitempty"`

	// delete says what is deleted, and how.
	// +optional
	Delete *Delete `json:"delete,omitempty"`

	// events says how deletions are told: Aggregate, the default, sums them up in Events on the policy; PerObject
	// also writes one Event for each object, as far as there are no more than 50 a second, of all rules together.
	// +optional
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

// KeepNewest keeps the newest eligible objects of each group.
type KeepNewest struct {
	// count is how many objects of each namespace and group stay: those whose time to live started last. What is held
	// takes a place, what is being deleted does not.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// groupBy is CEL -> string: objects of one namespace that give the same are a group. Without it each namespace is
	// one. Images are in no namespace: those of one node that give the same are a group. It is asked once for each tag of
	// an image; one whose tags give several groups takes a place in each, and stays if it is among the newest of any.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	GroupBy string `json:"groupBy,omitempty"`
}

// Capacity is how many eligible objects may stay. Beyond it those go at once whose time to live started first.
//
// +kubebuilder:validation:XValidation:rule="has(self.max) != has(self.percentOfQuota)",message="exactly one of max and percentOfQuota must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.percentOfQuota) || !has(self.share) || self.share == 'PerNamespace'",message="percentOfQuota counts in each namespace: share can only be PerNamespace"
type Capacity struct {
	// max is how many may stay.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Max *int32 `json:"max,omitempty"`
	// percentOfQuota is how many may stay, as a part of what the namespace's ResourceQuota allows of the kind
	// (count/RESOURCE.GROUP, such as count/jobs.batch); the least counts where there are several. A namespace without
	// one has no bound.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	PercentOfQuota *int32 `json:"percentOfQuota,omitempty"`
	// share says what max counts: PerNamespace, the default, is so many in each namespace. Fair is so many in all
	// namespaces together; those with most give first.
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
	// ShareFair divides the capacity: what is too much is taken from the namespaces that have most.
	ShareFair Share = "Fair"
)

// Override says what may be changed of a rule by those it applies to.
type Override struct {
	// ttl bounds the time to live that a RetentionPolicy or an object's annotation may set. A value outside of the
	// bounds counts as the nearest bound.
	// +optional
	TTL *TTLBounds `json:"ttl,omitempty"`
	// annotation says whether objects may set their own time to live with annotation sunset.x-k8s.io/ttl. true: any
	// within the bounds. false: none, the annotation is ignored. Absent: only a longer one.
	// +optional
	Annotation *bool `json:"annotation,omitempty"`
	// suspend says whether a RetentionPolicy may suspend the rule in its namespace; absent means that it may.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// keepNewest is the least count that a RetentionPolicy may set. Absent means the rule's own: it can only keep more.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepNewest *int32 `json:"keepNewest,omitempty"`
}

// TTLBounds bounds a time to live.
type TTLBounds struct {
	// min is the shortest time to live that may be set. Absent means the rule's own: it can only be made longer.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Min string `json:"min,omitempty"`
	// max is the longest. Absent means that there is none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Max string `json:"max,omitempty"`
}

// Delete says what a rule deletes, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.allowUnfinishedOwner) || !self.allowUnfinishedOwner || has(self.what) && self.what == 'Owner'",message="allowUnfinishedOwner is about owners: set what: Owner"
// +kubebuilder:validation:XValidation:rule="!has(self.what) || self.what != 'Owner' || !has(self.propagationPolicy) || self.propagationPolicy != 'Orphan'",message="Orphan would leave the object behind when its owner goes: set Background or Foreground"
type Delete struct {
	// what goes: Subject, the default, is the object itself. Owner is the object's controller instead, such as the Job of
	// a Workload; the object then goes with it, as every dependent does. The owner must have finished, must not be held
	// or protected, and no rule about its own kind may keep it. An object without a controller is kept.
	// +optional
	What DeleteWhat `json:"what,omitempty"`
	// allowUnfinishedOwner lets an owner go that has not finished, or whose kind does not tell. Needs what: Owner.
	// +optional
	AllowUnfinishedOwner bool `json:"allowUnfinishedOwner,omitempty"`
	// allowManaged lets the rule delete objects that another controller would re-create or still needs: those that MultiKueue
	// created in a worker cluster, that Argo CD or Flux tracks, and Helm hooks. With what: Owner it applies to the owner too.
	// +optional
	AllowManaged bool `json:"allowManaged,omitempty"`
	// propagationPolicy says what becomes of dependents: Background (the default) and Foreground delete them, Orphan
	// leaves them.
	// +optional
	// +kubebuilder:validation:Enum=Background;Foreground;Orphan
	PropagationPolicy metav1.DeletionPropagation `json:"propagationPolicy,omitempty"`
}

// DeleteWhat says what goes. The zero value means Subject.
//
// +kubebuilder:validation:Enum=Subject;Owner
type DeleteWhat string

const (
	// DeleteSubject deletes the object that the rule is about.
	DeleteSubject DeleteWhat = "Subject"
	// DeleteOwner deletes its controller.
	DeleteOwner DeleteWhat = "Owner"
)

// EventMode says how deletions are told. The zero value means Aggregate.
//
// +kubebuilder:validation:Enum=Aggregate;PerObject
type EventMode string

const (
	// EventsAggregate sums deletions up in Events on the policy.
	EventsAggregate EventMode = "Aggregate"
	// EventsPerObject also writes one Event for each deleted object, at most 50 a second.
	EventsPerObject EventMode = "PerObject"
)
