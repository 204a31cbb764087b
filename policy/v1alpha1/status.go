// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of a policy.
const (
	// ConditionReady is True when every rule is valid, its kind is fully listed, and the policy does what its mode says.
	// Otherwise it is Unknown or False, and its reason names the obstacle. It has the meaning that kstatus expects.
	ConditionReady = "Ready"
	// ConditionValid is False when a rule is invalid; the message says where and what to do.
	ConditionValid = "Valid"
	// ConditionWatching is Unknown until every target kind has been listed, and False while one cannot be listed and watched; the
	// message names the verb and resource.
	ConditionWatching = "Watching"
	// ConditionEnforcing is True while the policy deletes due objects, and Unknown while Sunset still counts the effect of a
	// change. Otherwise its reason says why not. A policy whose mode is DryRun does not have it.
	ConditionEnforcing = "Enforcing"
	// ConditionApprovalRequired is True while a change would delete more than approval allows. The message has the count, and the
	// hash to approve.
	ConditionApprovalRequired = "ApprovalRequired"
	// ConditionPermitted is False while the ServiceAccount of a RetentionPolicy lacks a permission that its rules need, and Unknown
	// while the API server has not answered that.
	ConditionPermitted = "Permitted"
	// ConditionReferencesKnown is False while Sunset does not know everything that rules ask about references. The message names
	// the unknown kind or object, and the cause. Until it is known, these rules keep all objects of their kinds.
	ConditionReferencesKnown = "ReferencesKnown"
	// ConditionArchiving is False while rules that archive cannot use their RetentionArchive. The message has the cause. Until it ends,
	// these rules delete nothing. A policy without such rules does not have it.
	ConditionArchiving = "Archiving"
	// ConditionBlocked is True while rules of other policies keep objects that are due by the policy's own rules. The message
	// names the rule that keeps the most of them, and why. Otherwise the condition is absent.
	ConditionBlocked = "Blocked"
	// ConditionDelayed is True while due objects cannot be deleted. The message names the first of them, and why. Otherwise the
	// condition is absent.
	ConditionDelayed = "Delayed"
)

// ReasonPending is the reason of condition Ready, which is Unknown, until the controller has written the first status.
const ReasonPending = "Pending"

// RetentionPolicyStatus is the observed state of a policy. Its size does not depend on the number of objects.
type RetentionPolicyStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// observedTime is when Sunset counted the numbers.
	// +optional
	ObservedTime *metav1.Time `json:"observedTime,omitempty"`

	// matched is the number of objects that the rules select. Each object counts once.
	// +optional
	Matched int64 `json:"matched"`
	// eligible is the number of these objects that at least one rule finds eligible.
	// +optional
	Eligible int64 `json:"eligible"`
	// held is the number of eligible objects that a hold keeps.
	// +optional
	Held int64 `json:"held"`
	// errors is the number of objects on which an expression fails. Sunset keeps them, unless the policy is a dry run, which
	// keeps no objects.
	// +optional
	Errors int64 `json:"errors"`
	// due is the number of objects that Sunset deletes, or would delete in a dry run, by time.
	// +optional
	Due DueCounts `json:"due,omitempty"`
	// nextDueTime is the next due time of an object; absent if no object has a due time.
	// +optional
	NextDueTime *metav1.Time `json:"nextDueTime,omitempty"`
	// blocked is the number of objects that are due by the rules of this policy, and that rules of other policies keep.
	// +optional
	Blocked int64 `json:"blocked"`
	// blockedBy lists at most five of these rules. Rules that fail or are stopped come first, then rules that work as intended,
	// such as KeptNewest; in both groups, the rule that keeps the most objects comes first.
	// +optional
	// +listType=atomic
	BlockedBy []BlockingRule `json:"blockedBy,omitempty"`
	// blocks lists at most five policies with due objects that rules of this policy keep. The policy with the most such objects
	// comes first.
	// +optional
	// +listType=atomic
	Blocks []BlockedPolicy `json:"blocks,omitempty"`
	// deleted is the number of objects that this policy has deleted.
	// +optional
	Deleted int64 `json:"deleted"`
	// storage adds up the sizes of objects; absent if no rule gives sizes.
	// +optional
	Storage *StorageStatus `json:"storage,omitempty"`
	// ledger names the RetentionLedger that counts the deletions exactly; policies with limits, an outcome or an archive have one. After
	// Sunset has recorded a ledger here, the policy deletes nothing while the ledger is missing.
	// +optional
	Ledger *LedgerStatus `json:"ledger,omitempty"`

	// nodeImages summarizes the reports of node agents, for a policy with rules about images. The numbers above include it. After the
	// last such rule is removed, only removed keeps its numbers; the others are 0.
	// +optional
	NodeImages *NodeImagesStatus `json:"nodeImages,omitempty"`

	// rules has one entry for each rule.
	// +optional
	// +listType=map
	// +listMapKey=name
	Rules []RuleStatus `json:"rules,omitempty"`

	// clusterRules lists at most 100 rules of ClusterRetentionPolicies that apply in the namespace of a RetentionPolicy, with
	// their settings and numbers in this namespace. Absent on a ClusterRetentionPolicy.
	// +optional
	// +listType=atomic
	ClusterRules []ClusterRuleStatus `json:"clusterRules,omitempty"`

	// previews lists the versions of the spec whose effect Sunset has counted completely. Within 7 days after the policy had such
	// a version, it needs no approval for it, unless requiredFor is AllChanges, or a change elsewhere lets it delete more. The
	// newest comes last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Previews []Preview `json:"previews,omitempty"`

	// pendingApproval is the change that waits for approval; absent if no change waits.
	// +optional
	PendingApproval *PendingApproval `json:"pendingApproval,omitempty"`

	// enforced is the last count of due objects while the policy was in force, without those in namespaces where a change waited.
	// A new leader compares its first count with it. Absent on a dry run.
	// +optional
	Enforced *EnforcedCount `json:"enforced,omitempty"`

	// missingPermissions lists at most 32 permissions that the policy needs and that Sunset, or the ServiceAccount of a
	// RetentionPolicy, lacks. To print roles that grant them, run kubectl sunset rbac.
	// +optional
	// +listType=atomic
	MissingPermissions []MissingPermission `json:"missingPermissions,omitempty"`

	// conditions: Ready, Valid and Watching; Enforcing, unless mode is DryRun; Permitted on a RetentionPolicy with rules of its own;
	// ReferencesKnown if rules read references; Archiving if rules archive. These are there only while they are True: ApprovalRequired,
	// Blocked, Delayed, and those about objects that the policy does not delete, such as Recreated, NoOwner or ManagedByArgoCD.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Preview returns the preview of the version of the spec with this hash; false if previews does not list the version.
func (s *RetentionPolicyStatus) Preview(hash string) (Preview, bool) {
	for _, p := range s.Previews {
		if p.Hash == hash {
			return p, true
		}
	}
	return Preview{}, false
}

// MaxMissingPermissions is the maximum number of entries in RetentionPolicyStatus.MissingPermissions.
const MaxMissingPermissions = 32

// MissingPermission is a permission on one resource that is not granted completely.
type MissingPermission struct {
	// serviceAccount of the namespace of a RetentionPolicy that needs the permission; absent if Sunset needs it.
	// +optional
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// apiGroup of the resource; empty for the core group.
	// +optional
	APIGroup string `json:"apiGroup"`
	// resource in plural, such as jobs.
	Resource string `json:"resource"`
	// verbs that the policy needs on the resource. At least one of them is not allowed.
	// +listType=atomic
	Verbs []string `json:"verbs"`
	// namespace where the permission is needed; absent for all namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// LedgerStatus summarizes the RetentionLedger of a policy.
type LedgerStatus struct {
	// name of the RetentionLedger.
	Name        string `json:"name"`
	LedgerCount `json:",inline"`
	// open is the number of deletions that Sunset has recorded and whose result it does not know yet.
	Open int64 `json:"open"`
	// charged is the number of deletions that count against limits now, including the open ones; absent without limits.
	// +optional
	Charged *int64 `json:"charged,omitempty"`
	// nextAllowedTime is the time at which limits allow the next deletion; absent while limits allow deletions.
	// +optional
	NextAllowedTime *metav1.Time `json:"nextAllowedTime,omitempty"`
}

// ClusterRuleStatus is the status of one rule of a ClusterRetentionPolicy in one namespace.
type ClusterRuleStatus struct {
	// policy is the name of the ClusterRetentionPolicy.
	Policy string `json:"policy"`
	// rule is the name of the rule.
	Rule string `json:"rule"`
	// mode of the rule in this namespace: Suspend if an override suspends it.
	Mode Mode `json:"mode"`
	// ttl of the rule in this namespace; empty if it differs between objects, or if there is none.
	// +optional
	TTL string `json:"ttl,omitempty"`
	// keepNewest of the rule in this namespace.
	// +optional
	KeepNewest *KeepNewestCount `json:"keepNewest,omitempty"`
	// matched is the number of objects of the namespace that the rule selects.
	Matched int64 `json:"matched"`
	// eligible is the number of these objects that the rule finds eligible.
	Eligible int64 `json:"eligible"`
	// held is the number of eligible objects that a hold keeps.
	// +optional
	Held int64 `json:"held,omitempty"`
	// errors is the number of these objects on which the expressions of the rule fail.
	// +optional
	Errors int64 `json:"errors,omitempty"`
	// due is the number of objects that are due by this rule and that no other rule or hold keeps, by time.
	Due DueCounts `json:"due"`
	// nextDueTime is the next due time of these objects.
	// +optional
	NextDueTime *metav1.Time `json:"nextDueTime,omitempty"`
	// messages say which part of an override has no effect, or a different effect than written, and why. The list has the first
	// five.
	// +optional
	// +listType=atomic
	Messages []string `json:"messages,omitempty"`
}

// DueCounts counts the objects that Sunset deletes, or would delete in a dry run, by time. Each count includes the ones before
// it.
type DueCounts struct {
	// now counts objects that are due now.
	Now int64 `json:"now"`
	// hour counts objects that become due within one hour.
	Hour int64 `json:"hour"`
	// day counts objects that become due within 24 hours.
	Day int64 `json:"day"`
	// week counts objects that become due within seven days.
	Week int64 `json:"week"`
}

// Plus is the sum of both.
func (d DueCounts) Plus(o DueCounts) DueCounts {
	return DueCounts{Now: d.Now + o.Now, Hour: d.Hour + o.Hour, Day: d.Day + o.Day, Week: d.Week + o.Week}
}

const (
	// AllNamespaces means all namespaces in RuleStatus.DistrustedMarks.
	AllNamespaces = "*"
	// MaxDistrusted is the maximum number of namespaces in RuleStatus.DistrustedMarks. If there are more, it has AllNamespaces.
	MaxDistrusted = 100
)

// RuleStatus is the status of one rule.
type RuleStatus struct {
	// name of the rule.
	Name string `json:"name"`
	// matched is the number of objects that the rule selects.
	// +optional
	Matched int64 `json:"matched"`
	// eligible is the number of these objects that the rule finds eligible.
	// +optional
	Eligible int64 `json:"eligible"`
	// held is the number of eligible objects that a hold keeps.
	// +optional
	Held int64 `json:"held"`
	// errors is the number of objects on which the expressions of the rule fail. Sunset keeps them.
	// +optional
	Errors int64 `json:"errors"`
	// errorSamples lists at most three of these objects, with the error.
	// +optional
	// +listType=atomic
	ErrorSamples []ErrorSample `json:"errorSamples,omitempty"`
	// due is the number of objects that are due by this rule and that no other rule or hold keeps, by time.
	// +optional
	Due DueCounts `json:"due,omitempty"`
	// nextDueTime is the next due time of these objects.
	// +optional
	NextDueTime *metav1.Time `json:"nextDueTime,omitempty"`
	// soonest lists at most five of these objects. The object with the earliest due time comes first.
	// +optional
	// +listType=atomic
	Soonest []DueSample `json:"soonest,omitempty"`
	// estimated is the number of due objects for which Sunset uses the time when it first saw them eligible, because the
	// objects do not record that time. When you enforce the policy, their time to live starts again from zero.
	// +optional
	Estimated int64 `json:"estimated,omitempty"`
	// distrustedMarks lists the namespaces where an object may have an outdated mark of this rule: the object was in use, and
	// Sunset could not remove the mark yet. A new leader ignores all marks there, so the time to live of every eligible object
	// starts again. "*" means all namespaces and cluster-scoped objects.
	// +optional
	// +listType=atomic
	DistrustedMarks []string `json:"distrustedMarks,omitempty"`
	// excess is the number of eligible objects above the capacity of the rule.
	// +optional
	Excess int64 `json:"excess,omitempty"`
	// deleted is the number of objects that this rule has deleted.
	// +optional
	Deleted int64 `json:"deleted"`
	// outcomes counts these objects by the value of the outcome expression, including objects that were gone after a DELETE
	// without an answer. It lists the first 32 values, and counts the others together under "*".
	// +optional
	// +listType=map
	// +listMapKey=name
	Outcomes []LedgerOutcome `json:"outcomes,omitempty"`
	// problems say why the rule is invalid. An invalid rule deletes nothing, and keeps all objects that it may select. The list
	// has the first five; kubectl sunset validate shows all of them.
	// +optional
	// +listType=atomic
	Problems []string `json:"problems,omitempty"`
	// warnings show possible mistakes, such as a field that is not in the schema of the kind, or a rule that removes images
	// after less than an hour. Warnings do not change what the rule does. The list has the first five.
	// +optional
	// +listType=atomic
	Warnings []string `json:"warnings,omitempty"`
	// reads lists the first fifty object fields that the expressions of the rule read. If all fields are in metadata, Sunset
	// watches only metadata.
	// +optional
	// +listType=atomic
	Reads []string `json:"reads,omitempty"`
}

// DueSample is one object and its due time.
type DueSample struct {
	// namespace of the object; empty for cluster-scoped objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	Name string `json:"name"`
	// dueTime is when Sunset deletes the object, or would delete it in a dry run: the latest due time of all rules, moved by
	// windows and freezes.
	DueTime metav1.Time `json:"dueTime"`
	// owner is the object that Sunset deletes instead, as KIND/NAME; garbage collection then deletes this object. Empty if
	// Sunset deletes the object itself.
	// +optional
	Owner string `json:"owner,omitempty"`
}

// ErrorSample is one object on which an expression failed.
type ErrorSample struct {
	// namespace of the object; empty for cluster-scoped objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	Name string `json:"name"`
	// message is the error, shortened to 256 bytes.
	Message string `json:"message"`
}
