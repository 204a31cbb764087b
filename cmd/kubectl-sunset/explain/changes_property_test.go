// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// TestPageChangesAlterTheOutcome checks random inputs. Each change on the page changes the outcome, and no smaller set of steps
// does. The nearest changes come first. Each block on the page is part of such a change. The cause that keeps the object is
// among the blocks. If any steps change the outcome, the page has a change.
func TestPageChangesAlterTheOutcome(t *testing.T) {
	kept, acted, changed := map[policy.Reason]int{}, map[policy.Action]int{}, 0
	for seed := range int64(5_000) {
		in := randomInput(rand.New(rand.NewSource(seed)))
		p := New(in)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: "+format+"\n%+v", append(append([]any{seed}, args...), p)...)
		}
		obstacles := in.blocks(p.Owner)
		if slices.ContainsFunc(obstacles, func(s step) bool { return s.block.isFinal() }) {
			if len(p.Changes) > 0 || len(p.Blocks) == 0 {
				fail("no change is possible, but the page has changes, or no block")
			}
			continue
		}
		w := asItIs(&in, obstacles)
		steps := p.steps(&in, w, obstacles)
		size, smallest := smallestSets(w, steps)
		if len(p.Changes) > changesShown {
			fail("%d changes", len(p.Changes))
		}
		for i, c := range p.Changes {
			changed++
			if len(c.steps) != size || !changes(w, c.steps) {
				fail("%q changes nothing, or has unnecessary steps", c.What)
			}
			if c.Stays != (w.after(c.steps...).outcome().action == policy.Keep) && !slices.ContainsFunc(c.steps, func(s step) bool { return s.guess }) {
				fail("%q: Stays is wrong: %v", c.What, c.Stays)
			}
			if goesNow := w.after(c.steps...).outcome().action == policy.Delete; goesNow && w.outcome().action == policy.Delete {
				fail("%q changes nothing: the object is deleted now in any case", c.What)
			}
			if i > 0 && isFarther(w, p.Changes[i-1], c) {
				fail("%q is nearer than %q", c.What, p.Changes[i-1].What)
			}
		}
		var parts []Block
		sayable := false
		for _, set := range smallest {
			said := true
			for _, s := range set {
				parts = append(parts, s.block)
				said = said && s.what != ""
			}
			sayable = sayable || said
		}
		if sayable != (len(p.Changes) > 0) {
			fail("the page has changes: %v", !sayable)
		}
		for _, b := range p.Blocks {
			if b.Reason != Finalizers && !slices.Contains(parts, b) {
				fail("block %q is on the page, but its removal changes nothing", b.Message)
			}
		}
		for _, s := range obstacles {
			if slices.Contains(parts, s.block) != slices.Contains(p.Blocks, s.block) {
				fail("obstacle %q is missing or superfluous on the page", s.block.Message)
			}
		}
		if len(w.outside) == 0 && w.outcome().action != in.Verdict.Action {
			fail("the state differs from the decision: %v", w.outcome())
		}
		acted[w.outcome().action]++
		reason := in.Verdict.Reason
		if in.Verdict.Action != policy.Keep {
			reason = ""
		}
		kept[reason]++
		isCause := func(b Block) bool { return b.Reason == reason }
		if slices.Contains(obstacleReasons, reason) && len(p.Rules) > 0 && !slices.ContainsFunc(p.Blocks, isCause) {
			fail("%s keeps the object, but is not a block", reason)
		}
	}
	for _, reason := range slices.Concat(obstacleReasons, ruleReasons) {
		if kept[reason] < 5 {
			t.Errorf("%s kept only %d objects", reason, kept[reason])
		}
	}
	if acted[policy.Delete] < 150 || acted[policy.Wait] < 150 || changed < 2_000 {
		t.Errorf("only %d changes; outcomes %v", changed, acted)
	}
}

// obstacleReasons keep an object although a rule finds it due. ruleReasons are in the facts of a rule.
var (
	obstacleReasons = []policy.Reason{
		policy.Held, policy.Uncounted, policy.Pinned, policy.InUse, policy.IsSuspended, policy.IsUnapproved, policy.Unmarked, policy.IsForbidden,
		policy.ManagedByMultiKueue, policy.ManagedByArgoCD, policy.ManagedByFlux, policy.ManagedByHelm,
	}
	ruleReasons = []policy.Reason{
		policy.EvaluationFailed, policy.RuleInvalid, policy.ReferencesUnknown, policy.NotEligible, policy.NoStartTime, policy.KeptNewest,
		policy.Unpullable, policy.NoOwner, policy.NeverDue, policy.WithinCapacity,
	}
)

func changes(w *whatIf, steps []step) bool { return w.after(steps...).outcome() != w.outcome() }

// smallestSets tries all sets of steps, the smaller ones first.
func smallestSets(w *whatIf, steps []step) (size int, found [][]step) {
	for size = 1; size <= len(steps) && len(found) == 0; size++ {
		choose(steps, size, func(some []step) {
			if changes(w, some) {
				found = append(found, slices.Clone(some))
			}
		})
	}
	return size - 1, found
}

// isFarther is an independent implementation of nearest.
func isFarther(w *whatIf, a, b Change) bool {
	type key struct {
		byHand int
		effect time.Duration
		author int
	}
	of := func(c Change) key {
		k := key{byHand: len(c.steps)}
		if c.Self {
			k.byHand = 0
		}
		switch {
		case c.Stays:
		case c.At.IsZero():
			k.effect = 1_000_000 * time.Hour
		default:
			k.effect = c.At.Sub(w.at)
		}
		for _, s := range c.steps {
			if s.author {
				k.author = 1
			}
		}
		return k
	}
	x, y := of(a), of(b)
	switch {
	case x.byHand != y.byHand:
		return x.byHand > y.byHand
	case x.effect != y.effect:
		return x.effect > y.effect
	default:
		return x.author > y.author
	}
}

var managers = []struct {
	flag policy.Flags
	key  string
}{
	{policy.OfMultiKueue, "kueue.x-k8s.io/multikueue-origin"}, {policy.OfArgoCD, "argocd.argoproj.io/tracking-id"},
	{policy.OfFlux, "kustomize.toolkit.fluxcd.io/name"}, {policy.OfHelm, "helm.sh/hook"},
}

// builder builds a random Input.
type builder struct {
	*rand.Rand
	in   Input
	calm int // larger values make unusual cases rarer
}

func (b *builder) oneIn(n int) bool { return b.Intn(n*b.calm) == 0 }

func (b *builder) hours(n int) time.Duration { return time.Duration(b.Intn(n)) * time.Hour }

// randomInput returns an object with a few rules for its kind, their evaluations, and the status of their policies.
func randomInput(r *rand.Rand) Input {
	b := &builder{Rand: r, calm: 1 + 9*r.Intn(2)}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b.in = Input{
		At: now, Subject: policy.Subject{Namespace: "shop", Name: "x", Created: now.Add(-10 * time.Hour)},
		Status: map[string]v1alpha1.RetentionPolicyStatus{}, Ranks: map[policy.RuleID]Rank{},
	}
	isImage := b.oneIn(6)
	b.object(isImage)
	modes := []v1alpha1.Mode{v1alpha1.DryRun, v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.Suspend}
	policies := map[int]v1alpha1.Mode{}
	waits := r.Intn(4)
	for i := range r.Intn(4) {
		n := r.Intn(4)
		if policies[n] == "" {
			policies[n] = modes[r.Intn(len(modes))]
		}
		rule := &policy.Rule{
			ID: policy.RuleID{Policy: fmt.Sprint("p", n), Rule: fmt.Sprint("r", i)}, Mode: policies[n], TTL: b.hours(14),
			Unapproved: n == waits && policies[n] == v1alpha1.Enforce,
		}
		b.in.Evaluations = append(b.in.Evaluations, b.ruling(rule, isImage))
	}
	b.in.Facts = func(rule *policy.Rule, _ map[string]any) policy.Facts {
		i := slices.IndexFunc(b.in.Evaluations, func(r policy.Evaluation) bool { return r.Rule.ID == rule.ID })
		facts := b.in.Evaluations[i].Facts
		facts.Selected = true
		return facts
	}
	for n := range policies {
		b.status(fmt.Sprint("p", n))
	}
	b.in.FindOwner = b.owner()
	b.in.Verdict, _ = policy.Decide(b.in.Subject, b.in.Evaluations, now)
	return b.in
}

// object sets obstacles that are independent of the rules, and other controllers.
func (b *builder) object(isImage bool) {
	annotations := map[string]any{}
	metadata := map[string]any{"annotations": annotations, "labels": annotations}
	b.in.Object = map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
	s := &b.in.Subject
	if isImage {
		b.in.Object["apiVersion"], b.in.Object["kind"] = v1alpha1.ImageKind.ToAPIVersionAndKind()
		for _, flag := range []policy.Flags{policy.IsPinned, policy.IsInUse} {
			if b.oneIn(4) {
				s.Flags |= flag
			}
		}
		return
	}
	if b.oneIn(4) {
		annotations[v1alpha1.HoldAnnotation] = "true"
		s.Flags |= policy.IsHeld
	}
	if b.oneIn(8) {
		b.in.Namespace.Held = true
		s.Flags |= policy.IsHeld
	}
	if b.oneIn(8) {
		s.Flags |= policy.IsUncounted
	}
	if b.oneIn(20) {
		s.Flags |= policy.IsTerminating
	}
	if b.oneIn(6) {
		metadata["finalizers"] = []any{"example.com/wait"}
	}
	if b.oneIn(8) {
		s.Flags, s.OwnTTL = s.Flags|policy.HasTTL, b.hours(20)
	}
	for _, m := range managers {
		if b.oneIn(7) {
			s.Flags |= m.flag
			annotations[m.key] = "x"
		}
	}
}

// ruling returns the evaluation of a rule: its facts, ranking, overrides and errors.
func (b *builder) ruling(rule *policy.Rule, isImage bool) policy.Evaluation {
	now := b.in.At
	rule.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
	f := policy.Facts{Selected: !b.oneIn(8), Eligible: !b.oneIn(5), Start: now.Add(-b.hours(10))}
	evaluation := policy.Evaluation{Rule: rule, Known: true}
	rule.AllowManaged = b.oneIn(3)
	rule.Ledger = b.oneIn(3)
	if b.oneIn(8) {
		rule.Suspended = true
		rule.Overrides = append(rule.Overrides, &policy.Override{From: "shop/own", Path: "spec.overrides[0]", Policy: rule.ID.Policy, Suspend: true, InForce: true})
	}
	switch b.Intn(14 * b.calm) {
	case 0:
		f.Eligible, f.Err = false, errors.New("no such key")
	case 1:
		rule.Problems = []policy.Problem{{Path: "spec"}}
	case 2:
		f.Start = time.Time{}
	case 3, 9:
		f.Marked, f.Estimated, f.Start = true, true, now
	case 4:
		rule.Relations = policy.AsksReferences
		f.Eligible, f.Err = false, policy.ErrReferencesUnknown
	case 5:
		rule.Relations = policy.AsksReferences
		f.NotBefore = now.Add(b.hours(2))
	case 6:
		rule.HasTTLExpression, f.TTL = true, policy.NeverTTL
	case 7:
		rule.HasTTLExpression, f.TTL = true, b.hours(20)
	}
	switch b.Intn(8 * b.calm) {
	case 0:
		evaluation.Rank.Newest = true
		rule.Keep = 3
		b.in.Ranks[rule.ID] = Rank{Place: 2, Of: 5, Keep: 3}
	case 1, 2:
		rule.TTL, rule.Capacity = policy.NeverTTL, policy.Capacity{Bounded: true, Max: 5}
		evaluation.Rank.Excess = b.oneIn(2)
	}
	switch {
	case isImage:
		rule.Kind, f.FirstSeen, f.Unpullable = v1alpha1.ImageKind, now.Add(-b.hours(10)), b.oneIn(4)
		rule.Images = policy.Images{MinAge: b.hours(4), HasThresholds: rule.TTL < 0, High: 85, Low: 80}
	case b.oneIn(3):
		rule.Owner = true
		if !b.oneIn(3) {
			f.Owner = &policy.Owner{UID: "owner"}
		}
	}
	if b.oneIn(10) {
		rule.Namespace, rule.ServiceAccount = "shop", "cleaner"
	}
	if b.oneIn(8) {
		b.tryOut(rule)
	}
	evaluation.Facts = f
	return evaluation
}

// tryOut adds an override by a dry-run RetentionPolicy.
func (b *builder) tryOut(rule *policy.Rule) {
	ttl, changed := b.hours(40), *rule
	o := policy.Override{From: "shop/dry-run", Path: "spec.overrides[0]", Policy: rule.ID.Policy, TTL: &ttl}
	rule.Overrides = append(rule.Overrides, &o)
	enforced := o
	enforced.InForce = true
	changed.Overrides = append(slices.Clip(changed.Overrides), &enforced)
	changed.Suspended, changed.Keep = rule.Suspended || b.oneIn(3), rule.Keep+b.Intn(2)
	rule.IfEnforced = &changed
}

// status sets the status of a policy: limits that are reached, objects that are re-created, or a missing permission.
func (b *builder) status(name string) {
	var conditions []metav1.Condition
	add := func(kind string, status metav1.ConditionStatus, reason string) {
		conditions = append(conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: reason + " of " + name})
	}
	switch b.Intn(6 * b.calm) {
	case 0:
		add(v1alpha1.ConditionEnforcing, metav1.ConditionFalse, string(policy.IsLimited))
	case 1:
		add(v1alpha1.ConditionEnforcing, metav1.ConditionFalse, "LedgerUnavailable")
	}
	if b.oneIn(6) {
		add(v1alpha1.ConditionRecreated, metav1.ConditionTrue, "Recreated")
	}
	if b.oneIn(2) {
		add(v1alpha1.ConditionPermitted, metav1.ConditionFalse, "Forbidden")
		for _, r := range b.in.Evaluations {
			r.Rule.Unpermitted = r.Rule.Unpermitted || r.Rule.ID.Policy == name && r.Rule.ServiceAccount != ""
		}
	}
	b.in.Status[name] = v1alpha1.RetentionPolicyStatus{Conditions: conditions}
}

// owner returns a FindOwner: of an owner without obstacles, of a held owner, of a missing owner, or with an error.
func (b *builder) owner() func(policy.Owner) (map[string]any, error) {
	metadata := map[string]any{"uid": "owner", "namespace": "shop", "name": "owner"}
	var err error
	switch b.Intn(8 * b.calm) {
	case 0:
		metadata["annotations"] = map[string]any{v1alpha1.HoldAnnotation: "true"}
	case 1:
		metadata["uid"] = "another"
	case 2:
		err = errors.New("forbidden")
	}
	owner := map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata}
	return func(policy.Owner) (map[string]any, error) { return owner, err }
}
