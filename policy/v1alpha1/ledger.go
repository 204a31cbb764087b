package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RetentionLedger counts exactly what one policy has deleted, across crashes and changes of leader. It is named by the
// policy's UID. Sunset writes into it what it is about to delete before it does, and moves each entry into the counters
// once it knows how that ended. Written by the controller only: to edit or delete it is to lose count.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=rledger,categories=sunset
// +kubebuilder:printcolumn:name=Policy,type=string,JSONPath=`.policy.name`
// +kubebuilder:printcolumn:name=Namespace,type=string,priority=1,JSONPath=`.policy.namespace`
// +kubebuilder:printcolumn:name=Deleted,type=integer,JSONPath=`.total.deleted`
// +kubebuilder:printcolumn:name=Gone,type=integer,JSONPath=`.total.gone`
// +kubebuilder:printcolumn:name=Holder,type=string,priority=1,JSONPath=`.holder`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type RetentionLedger struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// policy whose deletions are counted.
	Policy LedgerPolicy `json:"policy"`
	// holder is the controller that writes the ledger. Another one that takes over writes its own name here first, and
	// whoever finds a name that is not its own stops writing.
	// +optional
	Holder string `json:"holder,omitempty"`

	// open are the deletions that were intended and whose end is not known yet.
	// +optional
	// +listType=atomic
	Open []LedgerIntents `json:"open,omitempty"`
	// spent are the deletions that still count against limits, in the order in which they ended.
	// +optional
	// +listType=atomic
	Spent []LedgerSpending `json:"spent,omitempty"`

	// total counts all deletions that have ended.
	// +optional
	Total LedgerCount `json:"total"`
	// rules counts them by rule. Rules that are no more stay.
	// +optional
	// +listType=map
	// +listMapKey=name
	Rules []LedgerRule `json:"rules,omitempty"`
	// namespaces counts them by namespace, for the first 200 namespaces; the others are counted together under the
	// name "*".
	// +optional
	// +listType=map
	// +listMapKey=name
	Namespaces []LedgerNamespace `json:"namespaces,omitempty"`
}

// RetentionLedgerList is a list of RetentionLedgers.
//
// +kubebuilder:object:root=true
type RetentionLedgerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RetentionLedger `json:"items"`
}

// LedgerPolicy names a policy.
type LedgerPolicy struct {
	// kind is ClusterRetentionPolicy or RetentionPolicy.
	Kind string `json:"kind"`
	// namespace of a RetentionPolicy.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the policy.
	Name string `json:"name"`
	// uid of the policy.
	UID types.UID `json:"uid"`
}

// LedgerCount counts deletions.
type LedgerCount struct {
	// deleted is how many objects were deleted, as the API server answered.
	Deleted int64 `json:"deleted"`
	// gone is how many were gone after a DELETE without an answer: deleted by it, or by another client.
	Gone int64 `json:"gone"`
}

// LedgerRule counts the deletions of one rule.
type LedgerRule struct {
	// name of the rule.
	Name        string `json:"name"`
	LedgerCount `json:",inline"`
	// outcomes counts by what the rule's outcome expression gave: the first 32 values; the others together under "*".
	// +optional
	// +listType=map
	// +listMapKey=name
	Outcomes []LedgerOutcome `json:"outcomes,omitempty"`
}

// LedgerOutcome counts the deletions of one rule with one outcome.
type LedgerOutcome struct {
	// name is what the outcome expression gave.
	Name        string `json:"name"`
	LedgerCount `json:",inline"`
}

// LedgerNamespace counts the deletions in one namespace.
type LedgerNamespace struct {
	// name of the namespace.
	Name        string `json:"name"`
	LedgerCount `json:",inline"`
}

// LedgerIntents are intended deletions of one rule in one namespace, of one kind and outcome.
type LedgerIntents struct {
	// rule that decided.
	Rule string `json:"rule"`
	// outcome that the rule's expression gave.
	// +optional
	Outcome string `json:"outcome,omitempty"`
	// apiVersion of the objects.
	APIVersion string `json:"apiVersion"`
	// kind of the objects.
	Kind string `json:"kind"`
	// namespace of the objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// objects are the versions that may be deleted, each as "NAME UID RESOURCEVERSION".
	// +listType=atomic
	Objects []string `json:"objects"`
}

// LedgerSpending is how many deletions ended within a short while.
type LedgerSpending struct {
	// until is the end of that while.
	Until metav1.MicroTime `json:"until"`
	// count of the deletions.
	Count int64 `json:"count"`
}
