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
	// ConditionApprovalRequired is True while a change would delete more than approval allows and no dry run has counted it; the
	// message has the count, and the hash to approve.
	ConditionApprovalRequired = "ApprovalRequired"
	// ConditionPermitted is False while the ServiceAccount of a RetentionPolicy lacks a right that its rules need.
	ConditionPermitted = "Permitted"
	// ConditionReferencesKnown is False while it is not known completely what refers to the ConfigMaps or Secrets that rules
	// ask about; the message says which referrers are in doubt, and why. The rules keep all of them meanwhile.
	ConditionReferencesKnown = "ReferencesKnown"
	// ConditionBlocked is True while rules of other policies keep objects that are due by the policy's own rules; the message names
	// the rule that keeps the most of them, and why. There is no such condition otherwise.
	ConditionBlocked = "Blocked"
	// ConditionDelayed is True while objects that are due cannot be deleted; the message has the first of them, and why.
	// There is no such condition otherwise.
	ConditionDelayed = "Delayed"
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
	// blocked is how many objects are due by the policy's own rules, and kept by rules of other policies.
	// +optional
	Blocked int64 `json:"blocked"`
	// blockedBy are at most five of those rules: those that fail or are stopped, then those that keep what their author asks for,
	// such as KeptNewest; of both sorts the one that keeps the most objects first.
	// +optional
	// +listType=atomic
	BlockedBy []BlockingRule `json:"blockedBy,omitempty"`
	// blocks are at most five policies whose rules find objects due that rules of this policy keep, the one with the most such
	// objects first.
	// +optional
	// +listType=atomic
	Blocks []BlockedPolicy `json:"blocks,omitempty"`
	// deleted is how many objects this policy has deleted.
	// +optional
	Deleted int64 `json:"deleted"`
	// ledger is where that is counted exactly: policies with limits or an outcome have one. Once it is recorded here,
	// nothing is deleted while it is missing.
	// +optional
	Ledger *LedgerStatus `json:"ledger,omitempty"`

	// nodeImages sums up what the agents on nodes report: a policy with rules about images has one. The numbers above
	// include it.
	// +optional
	NodeImages *NodeImagesStatus `json:"nodeImages,omitempty"`

	// rules has one entry for each rule.
	// +optional
	// +listType=map
	// +listMapKey=name
	Rules []RuleStatus `json:"rules,omitempty"`

	// clusterRules are the rules of ClusterRetentionPolicies that apply in the namespace of a RetentionPolicy, at most
	// 100: what is in force there, and what they find. Absent on a ClusterRetentionPolicy.
	// +optional
	// +listType=atomic
	ClusterRules []ClusterRuleStatus `json:"clusterRules,omitempty"`

	// previews are the forms of the spec whose effect has been counted completely: what they delete needs no approval.
	// The newest is the last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Previews []Preview `json:"previews,omitempty"`

	// pendingApproval is what waits for approval; absent when nothing does.
	// +optional
	PendingApproval *PendingApproval `json:"pendingApproval,omitempty"`

	// approved is the approval of everything that the spec deletes, once it was given. The annotation may since name the approval
	// of a later change; removing the annotation withdraws both.
	// +optional
	Approved string `json:"approved,omitempty"`

	// enforced is what was due when this policy was last counted while no change of it waited. A leader that starts compares
	// its first count with it. Absent on a dry run.
	// +optional
	Enforced *EnforcedCount `json:"enforced,omitempty"`

	// conditions: Ready, Valid, Watching, Enforcing; ApprovalRequired while something waits for approval; Permitted on a
	// RetentionPolicy with rules of its own; ReferencesKnown where rules read references.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// LedgerStatus sums up a policy's RetentionLedger.
type LedgerStatus struct {
	// name of the RetentionLedger.
	Name        string `json:"name"`
	LedgerCount `json:",inline"`
	// open is how many deletions were intended and have not ended.
	Open int64 `json:"open"`
	// charged is how many deletions count against limits by now, those open included; absent without limits.
	// +optional
	Charged *int64 `json:"charged,omitempty"`
	// limitedUntil is when limits let something go again; absent while they do.
	// +optional
	LimitedUntil *metav1.Time `json:"limitedUntil,omitempty"`
}

// ClusterRuleStatus is how one rule of a ClusterRetentionPolicy stands in one namespace.
type ClusterRuleStatus struct {
	// policy and rule name it.
	Policy string `json:"policy"`
	// rule of that policy.
	Rule string `json:"rule"`
	// mode of the rule here: Suspended where an override suspends it.
	Mode Mode `json:"mode"`
	// ttl in force here; empty where it differs from object to object, or there is none.
	// +optional
	TTL string `json:"ttl,omitempty"`
	// keepNewest in force here.
	// +optional
	KeepNewest int32 `json:"keepNewest,omitempty"`
	// matched is how many objects of the namespace the rule selects.
	Matched int64 `json:"matched"`
	// eligible is how many of them the rule finds eligible.
	Eligible int64 `json:"eligible"`
	// held is how many of the eligible are kept by a hold.
	// +optional
	Held int64 `json:"held,omitempty"`
	// errors is how many of them the rule's expressions fail on.
	// +optional
	Errors int64 `json:"errors,omitempty"`
	// due is how many objects the rule says may go and nothing else keeps, and by when.
	Due DueCounts `json:"due"`
	// nextDueTime is when the next of them goes or would go.
	// +optional
	NextDueTime *metav1.Time `json:"nextDueTime,omitempty"`
	// messages say what of an override does not count, or not as written, and why.
	// +optional
	// +listType=atomic
	Messages []string `json:"messages,omitempty"`
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

// Plus is the sum of both.
func (d DueCounts) Plus(o DueCounts) DueCounts {
	return DueCounts{Now: d.Now + o.Now, Hour: d.Hour + o.Hour, Day: d.Day + o.Day, Week: d.Week + o.Week}
}

const (
	// AllNamespaces stands for all namespaces in RuleStatus.DistrustedMarks.
	AllNamespaces = "*"
	// MaxDistrusted is how many namespaces RuleStatus.DistrustedMarks has at most; more are AllNamespaces.
	MaxDistrusted = 100
)

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
	// estimated is how many of the due are counted from when Sunset first saw them eligible, as nothing on the objects says
	// since when they are: enforced, their time to live starts anew.
	// +optional
	Estimated int64 `json:"estimated,omitempty"`
	// distrustedMarks are the namespaces where an object may carry a mark of this rule that does not count, because it was in
	// use and the mark could not be removed yet. A controller that starts ignores all marks there: the time to live of every
	// eligible object starts again. "*" means all namespaces, and objects that are in none.
	// +optional
	// +listType=atomic
	DistrustedMarks []string `json:"distrustedMarks,omitempty"`
	// excess is how many eligible objects there are beyond the rule's capacity.
	// +optional
	Excess int64 `json:"excess,omitempty"`
	// deleted is how many objects have been deleted on this rule's word.
	// +optional
	Deleted int64 `json:"deleted"`
	// outcomes counts them by what the rule's outcome expression gave, with those whose end nobody saw: the first 32
	// values; the others together under "*".
	// +optional
	// +listType=map
	// +listMapKey=name
	Outcomes []LedgerOutcome `json:"outcomes,omitempty"`
	// problems say why the rule is invalid; while it is, it deletes nothing and keeps what it may be about.
	// +optional
	// +listType=atomic
	Problems []string `json:"problems,omitempty"`
	// warnings say what may be a mistake, such as a field that the kind's schema in the cluster does not have, or images that
	// go after less than an hour. They never change what the rule does.
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
	// owner is what goes instead, and takes the object along, as KIND/NAME; empty where the object itself is deleted.
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
	// message is the error, cut at 256 characters.
	Message string `json:"message"`
}
