// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RetentionLedger counts the deletions of one policy exactly, also across crashes and leader changes. Its name is the UID of
// the policy. Sunset records each deletion here before it sends the DELETE request, and counts the deletion when it knows the
// result. Only the controller writes it. If you edit or delete it, the counts are lost.
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

	// policy whose deletions the ledger counts.
	Policy LedgerPolicy `json:"policy"`
	// holder is the controller that writes the ledger. A new leader writes its name here first. A controller that finds another
	// name stops writing.
	// +optional
	Holder string `json:"holder,omitempty"`

	// open lists the deletions that Sunset has recorded and whose result it does not know yet.
	// +optional
	// +listType=atomic
	Open []LedgerIntents `json:"open,omitempty"`
	// spent lists the deletions that still count against limits, in the order in which they ended.
	// +optional
	// +listType=atomic
	Spent []LedgerSpending `json:"spent,omitempty"`

	// total counts all deletions that have ended.
	// +optional
	Total LedgerCount `json:"total"`
	// rules counts them by rule. It also lists rules that no longer exist.
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
	// deleted is the number of objects that Sunset deleted, as the API server confirmed.
	Deleted int64 `json:"deleted"`
	// gone is the number of objects that did not exist after a DELETE request without an answer: Sunset or another client
	// deleted them.
	Gone int64 `json:"gone"`
}

// LedgerRule counts the deletions of one rule.
type LedgerRule struct {
	// name of the rule.
	Name        string `json:"name"`
	LedgerCount `json:",inline"`
	// outcomes counts by the value of the outcome expression. It lists the first 32 values, and counts the others together
	// under "*".
	// +optional
	// +listType=map
	// +listMapKey=name
	Outcomes []LedgerOutcome `json:"outcomes,omitempty"`
}

// LedgerOutcome counts the deletions of one rule with one outcome.
type LedgerOutcome struct {
	// name is the value of the outcome expression.
	Name        string `json:"name"`
	LedgerCount `json:",inline"`
}

// LedgerNamespace counts the deletions in one namespace.
type LedgerNamespace struct {
	// name of the namespace.
	Name        string `json:"name"`
	LedgerCount `json:",inline"`
}

// LedgerIntents lists recorded deletions of one rule in one namespace, of one kind and outcome.
type LedgerIntents struct {
	// rule that deletes the objects.
	Rule string `json:"rule"`
	// outcome is the value of the outcome expression.
	// +optional
	Outcome string `json:"outcome,omitempty"`
	// apiVersion of the objects.
	APIVersion string `json:"apiVersion"`
	// kind of the objects.
	Kind string `json:"kind"`
	// namespace of the objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// objects lists the versions that Sunset may delete, each as "NAME UID RESOURCEVERSION".
	// +listType=atomic
	Objects []string `json:"objects"`
}

// LedgerSpending counts the deletions that ended within a short period.
type LedgerSpending struct {
	// endTime is the end of this period.
	EndTime metav1.MicroTime `json:"endTime"`
	// count is the number of deletions.
	Count int64 `json:"count"`
}
