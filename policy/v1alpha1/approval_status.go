// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxPendingNamespaces is the maximum number of PendingApproval.Namespaces. If more namespaces wait, the whole policy waits, so that
// the status stays small, and an approval, which has the same list, is possible.
const MaxPendingNamespaces = 2000

// PendingApproval is a configuration change that would delete more than approval allows, or any object if approval is always
// required.
type PendingApproval struct {
	// hash identifies the change. An approval of the change has the same hash.
	Hash string `json:"hash"`
	// due is the number of objects that Sunset would delete because of the change, by time. Sunset compares due.week with
	// approval. For new rules, due.week ignores other rules and holds that keep objects now.
	Due ApprovalCounts `json:"due"`
	// matched is the number of objects that the waiting rules select.
	Matched int64 `json:"matched"`
	// rules that Sunset could not count together with the others, and counted later; absent if all rules of the policy wait.
	// +optional
	// +listType=atomic
	Rules []string `json:"rules,omitempty"`
	// namespaces where the policy may delete objects that another rule or a hold kept before, "" for cluster-scoped objects;
	// absent if all namespaces wait: the rules of the policy are new or have changed, or more than 2000 namespaces have changed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2000
	Namespaces []string `json:"namespaces,omitempty"`
	// sinceTime is the time from which the policy applies in the namespaces, or from which the rules wait for approval.
	// +optional
	SinceTime *metav1.MicroTime `json:"sinceTime,omitempty"`
}

// EnforcedCount is the number of due objects of an enforced policy at a time.
type EnforcedCount struct {
	// hash of the counted version of the spec, as in previews.
	Hash string `json:"hash"`
	// observedTime is when Sunset counted.
	ObservedTime metav1.Time `json:"observedTime"`
	// due is the number of objects that were due, by time.
	Due ApprovalCounts `json:"due"`
	// uncounted lists the rules that Sunset could not count. Their objects are not part of due.
	// +optional
	// +listType=atomic
	Uncounted []string `json:"uncounted,omitempty"`
	// waitingNamespaces lists namespaces where a change waits for approval that pendingApproval does not show, "" for cluster-scoped
	// objects. It can be a later change in a namespace of pendingApproval, which shows it later.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2000
	WaitingNamespaces []string `json:"waitingNamespaces,omitempty"`
	// waitingSinceTime is when the last of these changes was made.
	// +optional
	WaitingSinceTime *metav1.MicroTime `json:"waitingSinceTime,omitempty"`
	// approvals are the hashes of the approvals by which the policy deletes. If one of them is deleted or expires, the policy
	// waits for approval again.
	// +optional
	// +listType=atomic
	Approvals []string `json:"approvals,omitempty"`
}

// Preview is a version of the spec whose effect Sunset has counted.
type Preview struct {
	// hash of the spec without mode, approval, limits, and the events of rules.
	Hash string `json:"hash"`
	// observedTime is when Sunset last counted it completely, accurate to an hour. For the next 7 days, this version needs no other count,
	// unless a change allows it to delete more.
	ObservedTime metav1.Time `json:"observedTime"`
	// due is the number of objects that Sunset would have deleted, by time. A new leader compares its first count with it if
	// the policy was not enforced in this version.
	Due ApprovalCounts `json:"due"`
	// uncounted lists the rules that Sunset could not count, because it could not list their kind or did not know the
	// references that they read. Sunset counts them as soon as it can.
	// +optional
	// +listType=atomic
	Uncounted []string `json:"uncounted,omitempty"`
}

// ApprovalCounts counts the objects that Sunset compares with approval. Both numbers are as in DueCounts.
type ApprovalCounts struct {
	// now counts objects that are due at the time of the count.
	Now int64 `json:"now"`
	// week counts objects that are due within seven days of the count, including now.
	Week int64 `json:"week"`
}
