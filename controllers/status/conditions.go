// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/rbac"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// rulesNamed is the maximum number of rules that a message names.
const rulesNamed = 3

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

// conditionState is one condition before it is written. The zero value is not written.
type conditionState struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

// isObstacle reports whether the condition is there and not True.
func (c conditionState) isObstacle() bool { return c.status == no || c.status == unknown }

type condition struct {
	name string
	conditionState
}

// conditions sets Ready from the other conditions, which it sets too.
func (v *statusInput) conditions(p *policy.Policy, s *v1alpha1.RetentionPolicyStatus) {
	valid, watching, enforcing, permitted := v.valid(p), v.watching(p), v.enforcing(p, s), v.permitted(p)
	evaluated, referred, archiving := v.evaluated(s), v.referencesKnown(p), v.archiving(p)
	ready := v.ready(p, s)
	parts := []conditionState{archiving, referred, watching, permitted, valid}
	intended := []string{string(policy.IsLimited), policy.IsFrozen, policy.OutsideWindows}
	if stopped := !slices.Contains(intended, enforcing.reason) && p.Mode != v1alpha1.Suspend; stopped {
		parts = slices.Insert(parts, 0, enforcing)
	}
	first := 0
	if watching.reason == "Listing" { // perhaps for a long time, because the rules have no evaluation time left
		first = slices.Index(parts, watching) + 1
	}
	parts = slices.Insert(parts, first, evaluated)
	for _, part := range parts { // Ready shows the last one that is not True
		if part.isObstacle() {
			ready = part
		}
	}
	if len(s.Blocks) > 0 {
		ready.message += "; " + keeping(s.Blocks, v.statsOf(p).Blocks)
	}
	all := []condition{
		{v1alpha1.ConditionReady, ready}, {v1alpha1.ConditionValid, valid},
		{v1alpha1.ConditionWatching, watching}, {v1alpha1.ConditionEnforcing, enforcing},
		{v1alpha1.ConditionApprovalRequired, approvalRequired(p, s)},
		{v1alpha1.ConditionReferencesKnown, referred}, {v1alpha1.ConditionPermitted, permitted}, {v1alpha1.ConditionArchiving, archiving},
		{v1alpha1.ConditionBlocked, v.blocking(p, s)}, {v1alpha1.ConditionDelayed, v.delayed(p)},
	}
	for _, reason := range policy.Lasting() {
		all = append(all, condition{string(reason), v.keeps(p, reason)})
	}
	s.MissingPermissions = v.missingPermissions(p)
	s.Conditions = slices.DeleteFunc(s.Conditions, func(old metav1.Condition) bool { // of the CRD's default, or of another version of Sunset
		return old.Reason == v1alpha1.ReasonPending || !slices.ContainsFunc(all, func(c condition) bool { return c.name == old.Type })
	})
	for _, c := range all {
		if c.status == "" {
			meta.RemoveStatusCondition(&s.Conditions, c.name)
			continue
		}
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: c.name, Status: c.status, Reason: c.reason, Message: policy.Shorten(rbac.Line(c.message), policy.MaxConditionMessage),
			ObservedGeneration: p.Generation, LastTransitionTime: metav1.Time{Time: v.now.Truncate(time.Second)},
		})
	}
}

// terminating is the message about a policy that is being deleted.
const terminating = "the policy has a deletionTimestamp, and a finalizer delays its removal; until then it deletes nothing, and no policy deletes the objects " +
	"that its rules find eligible; check the controller that owns the finalizer"

// ready is the condition Ready if no other condition shows an obstacle.
func (v *statusInput) ready(p *policy.Policy, s *v1alpha1.RetentionPolicyStatus) conditionState {
	switch {
	case p.Terminating:
		return conditionState{yes, "Terminating", terminating}
	case p.Mode == v1alpha1.Suspend:
		return conditionState{yes, "Suspended", "suspended: Sunset keeps every object that the rules find eligible; to resume, run " + toResume(p)}
	case p.Mode == v1alpha1.Enforce:
		return conditionState{yes, "Ready", "Sunset deletes objects when they are due"}
	case p.Namespace != "":
		return conditionState{yes, "DryRun", fmt.Sprintf("dry run: in mode Enforce, the policy's own rules would delete %d now and %d within 24h; overrides apply only where they keep objects longer",
			s.Due.Now, s.Due.Day)}
	default:
		others := "it does not stop deletions by other policies"
		if slices.ContainsFunc(p.Freezes, func(f policy.Freeze) bool { return f.All }) {
			others = "only its freezes with allPolicies stop deletions by other policies"
		}
		return conditionState{yes, "DryRun", fmt.Sprintf("dry run: in mode Enforce, this policy would delete %d now and %d within 24h; %s",
			s.Due.Now, s.Due.Day, others)}
	}
}

// toResume says how to resume a suspended policy. The command resumes only what kubectl sunset suspend has suspended.
func toResume(p *policy.Policy) string {
	return commandOf("resume", p) + ", or set spec.mode to Enforce"
}

func approvalRequired(p *policy.Policy, s *v1alpha1.RetentionPolicyStatus) conditionState {
	if s.PendingApproval == nil {
		return conditionState{}
	}
	if message := approvalMessage(p, s.PendingApproval); p.Approval.AllChanges {
		return conditionState{yes, "RequiredForAllChanges", message}
	} else {
		return conditionState{yes, "ChangeTooLarge", message}
	}
}

func (v *statusInput) valid(p *policy.Policy) conditionState {
	if len(p.Problems) == 0 {
		return conditionState{yes, "Valid", "every rule is valid" + defaulted(p)}
	}
	const shown = 3
	return conditionState{no, "RuleInvalid", strings.Join(policy.Shortlist(policy.Lines(p.Problems), shown, ""), "; ")}
}

// defaulted names the rules without eligible.
func defaulted(p *policy.Policy) string {
	var names []string
	for _, r := range p.Rules {
		if r.Spec.Eligible == "" {
			names = append(names, r.ID.Rule)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; without eligible, every object that the target selects is eligible: " + some(names, "rules")
}

func (v *statusInput) watching(p *policy.Policy) conditionState {
	for _, r := range p.Rules {
		if r.Invalid() || r.OnNodes() {
			continue
		}
		k, ok := v.kinds[policy.StoredAs(r.Kind)]
		switch {
		case ok && k.Lost != nil:
			return conditionState{no, k.Lost.Reason, v.lacking(p, k.Lost)}
		case !ok || !v.watched[r.ID]:
			return conditionState{unknown, "Listing", fmt.Sprintf("Sunset is listing %s for rule %s", r.Kind.Kind, r.ID.Rule)}
		}
	}
	watching := conditionState{yes, "Watching", "Sunset lists and watches every target kind"}
	if agentapi.OnNodes(p) {
		return v.nodes.watching(p, watching)
	}
	return watching
}

// enforcing returns whether the policy deletes objects; no condition for a dry run that its spec asks for.
func (v *statusInput) enforcing(p *policy.Policy, s *v1alpha1.RetentionPolicyStatus) conditionState {
	switch p.Mode {
	case v1alpha1.DryRun:
		if p.ForcedDryRun {
			return v.forcedDryRun(p, s)
		}
		return conditionState{}
	case v1alpha1.Suspend:
		if p.Terminating {
			return conditionState{no, "Terminating", terminating}
		}
		return conditionState{no, "Suspended", "suspended: the policy deletes nothing, and no policy deletes the objects that its rules find eligible; to resume, run " + toResume(p)}
	}
	for _, r := range p.Rules {
		k, ok := v.kinds[policy.StoredAs(r.Kind)]
		switch {
		case !ok, r.Invalid():
		case k.Undeletable != nil:
			return conditionState{no, k.Undeletable.Reason, v.lacking(p, k.Undeletable)}
		case k.Unmarkable != nil && r.Mark != "":
			return conditionState{no, k.Unmarkable.Reason, v.lacking(p, k.Unmarkable)}
		}
	}
	switch {
	case s.PendingApproval != nil:
		return conditionState{no, string(policy.IsUnapproved), approvalMessage(p, s.PendingApproval)}
	case p.Gate != nil && p.Gate.Rules == nil: // Valid or Watching shows why single rules wait
		return conditionState{unknown, "Counting", "Sunset is counting what a configuration change would delete; until it has finished, the changed rules keep these objects"}
	}
	if withheld := v.nodes.withheld(p); withheld.isObstacle() {
		return withheld
	}
	if d, _ := v.compiled.Snapshot.Deferral(p, v.now); d != nil {
		return deferred(d)
	}
	if v.preflightErr != nil {
		return conditionState{no, string(policy.Stale), "deletions wait: " + v.preflightErr.Error()}
	}
	if counting := v.counting(p); counting.isObstacle() || counting.reason != "" {
		return counting
	}
	enforcing := conditionState{yes, "Enforcing", "Sunset deletes objects when they are due"}
	if names := sets.List(v.throttled[p.Name]); len(names) > 0 {
		enforcing = conditionState{yes, "Throttled", fmt.Sprintf("Sunset deletes objects slowly in %s: DELETE requests there are slow or fail; "+
			"check the admission webhooks that select these namespaces; if requests fail, the controller log has the errors", some(names, "namespaces"))}
	} else if paced := v.paced(p); paced.status == yes {
		enforcing = paced
	} else if s.Blocked > 0 {
		enforcing.message += ", unless a rule of another policy keeps them: see condition Blocked"
	}
	if of := v.statsOf(p).Overridden; len(of) > 0 {
		kept := int64(0)
		for _, n := range of {
			kept += n
		}
		enforcing.message += fmt.Sprintf("; overrides suspend rules and keep %s that would be deleted now, in %s",
			objects(kept), some(slices.Sorted(maps.Keys(of)), "namespaces"))
	}
	return enforcing
}

// forcedDryRun says what an enforced policy would delete if the controller did not run with --dry-run. If rules are not counted, the
// numbers of the policy are 0, or those of its other rules.
func (v *statusInput) forcedDryRun(p *policy.Policy, s *v1alpha1.RetentionPolicyStatus) conditionState {
	would := fmt.Sprintf("without this flag, the policy would delete %d now and %d within 24h", s.Due.Now, s.Due.Day)
	for _, c := range []condition{{v1alpha1.ConditionWatching, v.watching(p)}, {v1alpha1.ConditionPermitted, v.permitted(p)}} {
		if c.isObstacle() {
			would = "Sunset has not counted what the policy would delete without this flag: see condition " + c.name
		}
	}
	return conditionState{no, "DryRun", "the controller runs with --dry-run; " + would}
}

// deferred returns the condition while windows or freezes defer the deletions of a policy.
func deferred(d *policy.Deferral) conditionState {
	message := "deletions wait: " + d.String()
	if d.Reason == policy.IsFrozen {
		return conditionState{no, string(policy.IsFrozen), message}
	}
	return conditionState{no, string(policy.OutsideWindows), message}
}

// paced returns a condition if more objects of a policy are due than --max-deletions-per-second allows within retention.DelayedAfter.
func (v *statusInput) paced(p *policy.Policy) conditionState {
	due := v.statsOf(p).Due.Now
	if sum := v.nodes.about(p); sum != nil {
		due -= sum.Stats.Due.Now
	}
	if v.pace <= 0 || float64(due) <= v.pace*retention.DelayedAfter.Seconds() {
		return conditionState{}
	}
	return conditionState{yes, "Paced", fmt.Sprintf("Sunset deletes at most %v objects per second for all policies together (--max-deletions-per-second); due now: %s",
		v.pace, objects(due))}
}

func approvalMessage(p *policy.Policy, pending *v1alpha1.PendingApproval) string {
	why := "because rules of this policy are new or have changed"
	switch g := p.Gate; {
	case p.Approval.AllChanges:
		why = "and spec.approval.requiredFor is AllChanges"
	case g != nil && g.Previewed && pending.Hash == g.Hash:
		why = "because namespaces, holds, overrides or other policies have changed since Sunset counted this version"
	}
	if len(pending.Rules) > 0 {
		why = fmt.Sprintf("because Sunset could not count these rules before: %s", some(pending.Rules, "rules"))
	}
	if len(pending.Namespaces) > 0 {
		why = fmt.Sprintf("because its rules now apply in %s, or a hold, a freeze or a rule that kept objects there was removed", some(pending.Namespaces, "namespaces"))
	}
	if moreStillShown(p, pending) {
		why = fmt.Sprintf("because the configuration changed after %s, when Sunset last counted this policy, while the controller was not running",
			p.Gate.Recount.Time.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%d of %s would be deleted now, and at most %d within 7 days, %s; run kubectl sunset preview to see them, then %s --hash=%s",
		pending.Due.Now, objects(pending.Matched), pending.Due.Week, why, commandOf("approve", p), pending.Hash)
}

// toChange contains the cause and the next step for reasons of policy.Lasting. allowManaged applies to the others.
var toChange = map[policy.Reason]string{
	policy.KeptRecreated: "something re-creates these objects as fast as Sunset deletes them; stop it and delete them by hand, " +
		"exclude them from the rule, or edit the policy to have Sunset delete them again",
	policy.NoOwner: "the rule deletes the owners of objects, and these have none; exclude them from the rule, or have another rule delete them",
	policy.NoCommonWindow: "the windows of the rules that find these objects due do not open at the same time; run kubectl sunset explain to see them, and change " +
		"windows so that they overlap",
}

const allowManaged = "another controller manages these objects; have it remove them, exclude them from the rule, or set delete.allowManaged"

// keeps names the objects that rules keep for a lasting reason; no condition if they keep none.
func (v *statusInput) keeps(p *policy.Policy, reason policy.Reason) conditionState {
	var parts []string
	for _, r := range p.Rules {
		if t := v.statsOf(p).Rules[r.ID.Rule]; t != nil && t.Kept[reason].Objects > 0 && v.forbidden(r) == nil {
			kept := t.Kept[reason]
			parts = append(parts, fmt.Sprintf("rule %s keeps %d %s, such as %s", r.ID.Rule, kept.Objects, r.Kind.Kind, strings.Join(kept.First, ", ")))
		}
	}
	if len(parts) == 0 {
		return conditionState{}
	}
	parts = policy.Shortlist(parts, rulesNamed, " rules")
	return conditionState{yes, string(reason), strings.Join(parts, "; ") + ": " + cmp.Or(toChange[reason], allowManaged)}
}

// some returns the first names of many, and the number of the others.
func some(names []string, what string) string {
	const shown = 3
	if len(names) > 0 && names[0] == "" {
		names = append(slices.Clone(names[1:]), "the cluster itself")
	}
	return strings.Join(policy.Shortlist(names, shown, " "+what), ", ")
}

// preflightErr returns why deletions wait: an error that applies even if nothing is due, or the result of the last checks before a
// DELETE.
func (r *Reporter) preflightErr() error { return cmp.Or(r.DeletionError(), r.State.PreflightError()) }
