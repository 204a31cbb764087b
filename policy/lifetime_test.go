// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// within are TTL bounds in hours.
func within(least, most time.Duration) policy.Bounds {
	return policy.Bounds{Min: new(least * hour), Max: new(most * hour)}
}

// hours is an enforced override of every rule of policy p.
func hours(ttl time.Duration) *policy.Override {
	return &policy.Override{Policy: "p", TTL: new(ttl * hour), InForce: true}
}

// tried makes an override part of a dry-run RetentionPolicy.
func tried(o *policy.Override) *policy.Override {
	o.InForce = false
	return o
}

// settled is a rule of policy p with its settings in team-a, where each override is in a different RetentionPolicy.
func settled(r *policy.Rule, overrides ...*policy.Override) *policy.Rule {
	policies := []*policy.Policy{policyOf("p", r)}
	for i, o := range overrides {
		mine := own("team-a", fmt.Sprint("r", i))
		o.From, o.Path = mine.Name, "spec.overrides[0]"
		mine.Overrides = []*policy.Override{o}
		policies = append(policies, mine)
	}
	return policy.NewSnapshot(policies, namespaces, policy.Protection{}).Effective(r.Kind.GroupKind(), "team-a").Rules[0]
}

// annotated is a subject with this TTL in hours in its annotation; without an annotation if it is negative.
func annotated(ttl time.Duration) policy.Subject {
	if ttl < 0 {
		return policy.Subject{}
	}
	return policy.Subject{Flags: policy.HasTTL, OwnTTL: ttl * hour}
}

// TestLifetime has a rule with a TTL of ten hours. All numbers are hours.
func TestLifetime(t *testing.T) {
	const none, never = time.Duration(-1), policy.NeverTTL
	type overrides = []*policy.Override
	allowing := func(b policy.Bounds, annotation v1alpha1.TTLAnnotationEffect) policy.Bounds {
		b.Annotation = annotation
		return b
	}
	const inBounds, ignored = v1alpha1.TTLAnnotationWithinBounds, v1alpha1.TTLAnnotationIgnore
	free, refused := allowing(policy.Bounds{}, inBounds), allowing(policy.Bounds{}, ignored)
	tests := map[string]struct {
		bounds    policy.Bounds
		overrides overrides
		own       time.Duration
		ttl       time.Duration
		origin    policy.Origin
	}{
		"no override": {policy.Bounds{}, nil, none, 10, policy.FromRule},
		"an override replaces the TTL of the rule":                         {within(1, 20), overrides{hours(4)}, none, 4, policy.FromOverride},
		"a shorter override of a suspended policy has no effect":           {within(1, 20), overrides{{Policy: "p", TTL: new(4 * hour), Suspended: true}}, none, 10, policy.FromRule},
		"an annotation replaces the TTL of the rule":                       {allowing(within(1, 20), inBounds), nil, 3, 3, policy.FromAnnotation},
		"an annotation replaces an override":                               {allowing(within(1, 20), inBounds), overrides{hours(4)}, 3, 3, policy.FromAnnotation},
		"a longer annotation replaces an override":                         {allowing(within(1, 20), inBounds), overrides{hours(4)}, 15, 15, policy.FromAnnotation},
		"an override of another policy":                                    {within(1, 20), overrides{{Policy: "q", TTL: new(4 * hour), InForce: true}}, none, 10, policy.FromRule},
		"an override of another rule":                                      {within(1, 20), overrides{{Policy: "p", Rule: "s", TTL: new(4 * hour), InForce: true}}, none, 10, policy.FromRule},
		"an override of this rule":                                         {within(1, 20), overrides{{Policy: "p", Rule: "r", TTL: new(4 * hour), InForce: true}}, none, 4, policy.FromOverride},
		"an override that sets no ttl":                                     {within(1, 20), overrides{{Policy: "p", Keep: new(3), InForce: true}}, none, 10, policy.FromRule},
		"default bounds: a longer override applies":                        {policy.Bounds{}, overrides{hours(11)}, none, 11, policy.FromOverride},
		"default bounds: a shorter override does not":                      {policy.Bounds{}, overrides{hours(4)}, none, 10, policy.FromOverride},
		"default bounds: a longer annotation applies":                      {policy.Bounds{}, nil, 11, 11, policy.FromAnnotation},
		"default bounds: a shorter annotation does not":                    {policy.Bounds{}, nil, 4, 10, policy.FromRule},
		"default bounds: an annotation shorter than the override does not": {policy.Bounds{}, overrides{hours(20)}, 15, 20, policy.FromOverride},
		"an override below min":                                            {within(5, 20), overrides{hours(4)}, none, 5, policy.FromOverride},
		"an override at min":                                               {within(5, 20), overrides{hours(5)}, none, 5, policy.FromOverride},
		"an override above max":                                            {within(5, 20), overrides{hours(21)}, none, 20, policy.FromOverride},
		"zero, if min is zero":                                             {within(0, 20), overrides{hours(0)}, none, 0, policy.FromOverride},
		"only max: not shorter than the rule":                              {policy.Bounds{Max: new(20 * hour)}, overrides{hours(4)}, none, 10, policy.FromOverride},
		"only max: not longer than max":                                    {policy.Bounds{Max: new(20 * hour)}, overrides{hours(21)}, none, 20, policy.FromOverride},
		"a max below the rule's TTL does not change the rule's TTL":        {policy.Bounds{Max: new(5 * hour)}, overrides{hours(21)}, none, 10, policy.FromOverride},
		"a min above max applies to a shorter override":                    {within(20, 5), overrides{hours(4)}, none, 20, policy.FromOverride},
		"a min above max applies to a longer override":                     {within(20, 5), overrides{hours(30)}, none, 20, policy.FromOverride},
		"annotation WithinBounds: zero":                                    {allowing(within(0, 20), inBounds), nil, 0, 0, policy.FromAnnotation},
		"only min: no maximum":                                             {policy.Bounds{Min: new(5 * hour)}, overrides{hours(1000)}, none, 1000, policy.FromOverride},
		"a min above the rule's TTL lengthens an override":                 {within(15, 20), overrides{hours(4)}, none, 15, policy.FromOverride},
		"a min above the rule's TTL does not change the rule's TTL":        {within(15, 20), nil, none, 10, policy.FromRule},
		"annotation WithinBounds: within the bounds":                       {allowing(within(5, 20), inBounds), nil, 4, 5, policy.FromAnnotation},
		"annotation WithinBounds: at most max":                             {allowing(within(5, 20), inBounds), nil, 21, 20, policy.FromAnnotation},
		"a max below the rule's TTL does not shorten a longer override":    {within(1, 7), overrides{hours(60)}, none, 10, policy.FromOverride},
		"a max below the rule's TTL does not shorten a longer annotation":  {allowing(within(1, 7), inBounds), nil, 60, 10, policy.FromAnnotation},
		"a max below the rule's TTL does not shorten the same time":        {within(1, 7), overrides{hours(10)}, none, 10, policy.FromOverride},
		"a max below the rule's TTL does not limit a shorter override":     {within(1, 7), overrides{hours(9)}, none, 9, policy.FromOverride},
		"annotation true without bounds: not shorter":                      {free, nil, 4, 10, policy.FromAnnotation},
		"annotation true without bounds: longer":                           {free, nil, 40, 40, policy.FromAnnotation},
		"annotation Ignore":                                                {refused, nil, 40, 10, policy.FromRule},
		"annotation Ignore with an override":                               {allowing(within(1, 20), ignored), overrides{hours(4)}, 15, 4, policy.FromOverride},
		"annotation Longer: a longer one applies, up to max":               {within(1, 20), nil, 21, 20, policy.FromAnnotation},
		"annotation Longer: a longer one applies, from min":                {within(15, 20), nil, 11, 15, policy.FromAnnotation},
		"annotation Longer: min does not make it longer":                   {within(15, 20), nil, 4, 10, policy.FromRule},
		"annotation Longer: a shorter one does not apply":                  {within(1, 20), nil, 4, 10, policy.FromRule},
		"annotation Longer: one longer than the override applies":          {within(1, 20), overrides{hours(4)}, 6, 6, policy.FromAnnotation},
		"the longer of two overrides applies":                              {within(1, 20), overrides{hours(4), hours(6)}, none, 6, policy.FromOverride},
		"the longer of two overrides applies, in the other order":          {within(1, 20), overrides{hours(6), hours(4)}, none, 6, policy.FromOverride},
		"a shorter dry run does not apply":                                 {within(1, 20), overrides{tried(hours(4))}, none, 10, policy.FromRule},
		"a longer dry run applies":                                         {within(1, 20), overrides{tried(hours(14))}, none, 14, policy.FromOverride},
		"a longer dry run with a shorter override in force":                {within(1, 20), overrides{hours(4), tried(hours(14))}, none, 14, policy.FromOverride},
		"a dry run above max":                                              {within(1, 20), overrides{tried(hours(24))}, none, 20, policy.FromOverride},
		"an invalid override sets nothing":                                 {within(1, 20), overrides{{Policy: "p", TTL: new(hour), InForce: true, Invalid: true}}, none, 10, policy.FromRule},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ten := about(jobs, "r")
			ten.TTL, ten.Bounds = 10*hour, test.bounds
			expression := about(jobs, "r")
			expression.TTL, expression.HasTTLExpression, expression.Bounds = 0, true, test.bounds
			for _, given := range []struct {
				rule  *policy.Rule
				facts policy.Facts
			}{{ten, policy.Facts{}}, {expression, policy.Facts{TTL: 10 * hour}}} {
				r := settled(given.rule, test.overrides...)
				got := r.Lifetime(annotated(test.own), given.facts)
				if got.TTL != test.ttl*hour || got.Origin != test.origin || (got.By != nil) != (got.Origin == policy.FromOverride) {
					t.Errorf("expression %v: got %+v, want %s from %s", r.HasTTLExpression, got, test.ttl*hour, test.origin)
				}
				if r.HasTTLExpression {
					given.facts.TTL = never
				} else {
					unbounded := *r
					unbounded.TTL = never
					r = &unbounded
				}
				if got := r.Lifetime(annotated(test.own), given.facts); got.TTL != never || got.Origin != policy.FromRule {
					t.Errorf("expression %v: a TTL of never becomes %+v", r.HasTTLExpression, got)
				}
			}
		})
	}
}

func TestLifetimeTellsWhatIsWritten(t *testing.T) {
	r := about(jobs, "r")
	r.Bounds = within(5, 20)
	r.Bounds.Annotation = v1alpha1.TTLAnnotationWithinBounds
	first, second := hours(1), hours(30)
	got := settled(r, first, second).Lifetime(policy.Subject{}, policy.Facts{})
	expect.Equal(t, "override", policy.Lifetime{TTL: 20 * hour, Origin: policy.FromOverride, Wrote: 30 * hour, By: second}, got)
	got = settled(r, first).Lifetime(annotated(1), policy.Facts{})
	expect.Equal(t, "annotation", policy.Lifetime{TTL: 5 * hour, Origin: policy.FromAnnotation, Wrote: hour}, got)
}

// TestInvalidOverrideThatMayNotSuspend keeps objects for the maximum TTL of the rule, which is the longest possible intent.
func TestInvalidOverrideThatMayNotSuspend(t *testing.T) {
	r := about(jobs, "r")
	r.TTL, r.Bounds = hour, policy.Bounds{NoSuspend: true, Max: new(20 * hour)}
	typo := &policy.Override{Policy: "p", Invalid: true, TTL: new(2 * hour)}
	got := settled(r, typo)
	if ttl := got.Lifetime(policy.Subject{}, policy.Facts{}).TTL; got.Suspended || ttl != 20*hour {
		t.Errorf("suspended %v, ttl %s", got.Suspended, ttl)
	}
	r.TTL = 30 * hour
	expect.Equal(t, "the longer TTL of the rule", 30*hour, settled(r, typo).Lifetime(policy.Subject{}, policy.Facts{}).TTL)
}

func TestSuspendingOverrides(t *testing.T) {
	tests := map[string]struct {
		override policy.Override
		forbid   bool
		want     bool
	}{
		"suspend":                                      {policy.Override{Suspend: true, InForce: true}, false, true},
		"suspend in a dry run":                         {policy.Override{Suspend: true}, false, true},
		"an invalid override":                          {policy.Override{Invalid: true, InForce: true}, false, true},
		"an override that sets a ttl":                  {policy.Override{TTL: new(hour), InForce: true}, false, false},
		"an override of another rule":                  {policy.Override{Suspend: true, Rule: "s"}, false, false},
		"the rule forbids it":                          {policy.Override{Suspend: true, InForce: true}, true, false},
		"an invalid override, and the rule forbids it": {policy.Override{Invalid: true}, true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := about(jobs, "r")
			r.Bounds.NoSuspend = test.forbid
			test.override.Policy = "p"
			if got := settled(r, &test.override); got.Suspended != test.want {
				t.Errorf("suspended is %v, want %v", got.Suspended, test.want)
			}
			if r.Suspended {
				t.Error("the argument has changed")
			}
		})
	}
}

func TestKeepNewestOfOverrides(t *testing.T) {
	keep := func(n int) *policy.Override { return &policy.Override{Policy: "p", Keep: new(n), InForce: true} }
	tests := map[string]struct {
		least     *int
		overrides []*policy.Override
		want      int
	}{
		"none":                             {nil, nil, 5},
		"more":                             {nil, []*policy.Override{keep(7)}, 7},
		"less is not allowed":              {nil, []*policy.Override{keep(3)}, 5},
		"less, if it is allowed":           {new(2), []*policy.Override{keep(3)}, 3},
		"less than the minimum":            {new(2), []*policy.Override{keep(0)}, 2},
		"none, if it is allowed":           {new(0), []*policy.Override{keep(0)}, 0},
		"a minimum above the rule's count": {new(6), []*policy.Override{keep(3)}, 6},
		"the larger of two":                {new(2), []*policy.Override{keep(4), keep(3)}, 4},
		"a smaller dry run":                {new(2), []*policy.Override{tried(keep(3))}, 5},
		"a larger dry run":                 {new(2), []*policy.Override{tried(keep(7)), keep(3)}, 7},
		"an invalid override":              {new(2), []*policy.Override{{Policy: "p", Keep: new(3), Invalid: true, InForce: true}}, 5},
		"an override that sets only a ttl": {new(2), []*policy.Override{hours(3)}, 5},
		"an override of another rule":      {new(2), []*policy.Override{{Policy: "p", Rule: "s", Keep: new(9), InForce: true}}, 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := about(jobs, "r")
			r.Keep, r.Bounds.Keep = 5, test.least
			if got := settled(r, test.overrides...); got.Keep != test.want {
				t.Errorf("keeps %d, want %d", got.Keep, test.want)
			}
		})
	}
}

func TestRuleIfEnforcedByDryRunOverrides(t *testing.T) {
	due := policy.Facts{Selected: true, Eligible: true, Start: now.Add(-5 * hour)}
	tests := map[string]struct {
		overrides []*policy.Override
		ttl       time.Duration // of the trial, in hours; -1 for none
		keep      int
	}{
		"no override":          {nil, -1, 0},
		"an override in force": {[]*policy.Override{hours(4)}, -1, 0},
		"a shorter dry run":    {[]*policy.Override{tried(hours(4))}, 4, 5},
		"a shorter dry run with an override in force": {[]*policy.Override{hours(6), tried(hours(4))}, 6, 5},
		"a dry run that keeps less":                   {[]*policy.Override{tried(&policy.Override{Policy: "p", Keep: new(1)})}, 10, 1},
		"a dry run about another policy":              {[]*policy.Override{tried(&policy.Override{Policy: "q", TTL: new(hour)})}, -1, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := about(jobs, "r")
			r.TTL, r.Keep, r.Bounds = 10*hour, 5, within(1, 20)
			r.Bounds.Keep = new(0)
			ifEnforced := settled(r, test.overrides...).IfEnforced
			if (ifEnforced != nil) != (test.ttl >= 0) {
				t.Fatalf("trial is %+v", ifEnforced)
			}
			if ifEnforced == nil {
				return
			}
			if got := ifEnforced.Lifetime(policy.Subject{}, due); got.TTL != test.ttl*hour || ifEnforced.Keep != test.keep || ifEnforced.IfEnforced != nil {
				t.Errorf("trial is %+v, with %s", ifEnforced, got.TTL)
			}
		})
	}
}

// setting is a random rule with random overrides and one subject.
type setting struct {
	rule      *policy.Rule
	overrides []*policy.Override
	subject   policy.Subject
	facts     policy.Facts
}

func randomSetting(r *rand.Rand) setting {
	s := setting{rule: about(jobs, "r"), subject: policy.Subject{Created: randomTime(r)}}
	s.rule.TTL, s.rule.HasTTLExpression, s.rule.Keep = randomTTL(r), r.Intn(3) == 0, r.Intn(4)
	s.rule.Bounds = randomBounds(r)
	s.facts = policy.Facts{Selected: true, Eligible: true, Start: randomTime(r), TTL: randomTTL(r)}
	if r.Intn(2) == 0 {
		s.subject.Flags, s.subject.OwnTTL = policy.HasTTL, randomTTL(r)
	}
	for range r.Intn(4) {
		s.overrides = append(s.overrides, randomOverride(r))
	}
	return s
}

func randomBounds(r *rand.Rand) (b policy.Bounds) {
	if r.Intn(2) == 0 {
		b.Min = new(randomTTL(r))
	}
	if r.Intn(2) == 0 {
		b.Max = new(randomTTL(r))
	}
	if b.Min != nil && b.Max != nil && *b.Min > *b.Max {
		b.Min, b.Max = b.Max, b.Min
	}
	if r.Intn(2) == 0 {
		b.Annotation = []v1alpha1.TTLAnnotationEffect{v1alpha1.TTLAnnotationWithinBounds, v1alpha1.TTLAnnotationIgnore}[r.Intn(2)]
	}
	if r.Intn(2) == 0 {
		b.Keep = new(r.Intn(4))
	}
	b.NoSuspend = r.Intn(4) == 0
	return b
}

func randomOverride(r *rand.Rand) *policy.Override {
	o := &policy.Override{Policy: "p", Suspend: r.Intn(20) == 0, InForce: r.Intn(3) > 0, Invalid: r.Intn(20) == 0}
	if r.Intn(4) > 0 {
		o.TTL = new(randomTTL(r))
	}
	if r.Intn(2) == 0 {
		o.Keep = new(r.Intn(5))
	}
	return o
}

// in is the rule in its namespace, with more overrides.
func (s setting) in(more ...*policy.Override) *policy.Rule {
	return settled(s.rule, append(slices.Clone(s.overrides), more...)...)
}

// forEachSetting checks a property with random settings. It does not rank subjects: properties compare Keep separately.
func forEachSetting(t *testing.T, property func(*rand.Rand, setting) bool) {
	t.Helper()
	r := rand.New(rand.NewSource(11))
	origins := map[policy.Origin]int{}
	for range rounds() / 4 {
		s := randomSetting(r)
		origins[s.in().Lifetime(s.subject, s.facts).Origin]++
		if !property(r, s) {
			t.Fatalf("does not hold for %+v\nwith %+v and facts %+v\nand %s", s.rule, s.subject, s.facts, cmp.Diff(nil, s.overrides))
		}
	}
	for _, origin := range []policy.Origin{policy.FromRule, policy.FromOverride, policy.FromAnnotation} {
		if origins[origin] < rounds()/40 {
			t.Errorf("only %d of %d settings are from %s", origins[origin], rounds()/4, origin)
		}
	}
}

// goes reports whether the rule alone deletes the subject now, with its TTL and keepNewest.
func (s setting) goes(r *policy.Rule) (bool, time.Duration, int) {
	v, _ := policy.Decide(s.subject, evaluations(policy.Evaluation{Rule: r, Facts: s.facts, Known: true}), now)
	return v.Action == policy.Delete, r.Lifetime(s.subject, s.facts).TTL, r.Keep
}

// sooner reports whether the second rule deletes a subject that the first keeps, or would do so at a later time.
func (s setting) sooner(before, after *policy.Rule) bool {
	goes, ttl, keep := s.goes(before)
	then, later, more := s.goes(after)
	return then && !goes || !after.Suspended && (later < ttl || more < keep) || before.Suspended && !after.Suspended
}

func TestOrderOfOverridesNeverMatters(t *testing.T) {
	forEachSetting(t, func(r *rand.Rand, s setting) bool {
		first := s.in()
		r.Shuffle(len(s.overrides), func(i, j int) { s.overrides[i], s.overrides[j] = s.overrides[j], s.overrides[i] })
		second := s.in()
		return !s.sooner(first, second) && !s.sooner(second, first) && first.Lifetime(s.subject, s.facts).Origin == second.Lifetime(s.subject, s.facts).Origin
	})
}

func TestRuleWithoutBoundsIsOnlyLengthened(t *testing.T) {
	forEachSetting(t, func(r *rand.Rand, s setting) bool {
		s.rule.Bounds = policy.Bounds{}
		return !s.sooner(s.in(), s.in(randomOverride(r))) && !s.sooner(settled(s.rule), s.in())
	})
}

func TestAnnotationWithoutBoundsOnlyLengthens(t *testing.T) {
	forEachSetting(t, func(_ *rand.Rand, s setting) bool {
		s.rule.Bounds.Annotation = ""
		with := s.in().Lifetime(s.subject, s.facts).TTL
		s.subject.Flags = 0
		return with >= s.in().Lifetime(s.subject, s.facts).TTL
	})
}

func TestInvalidOverrideNeverCausesADeletion(t *testing.T) {
	forEachSetting(t, func(r *rand.Rand, s setting) bool {
		o := randomOverride(r)
		o.Invalid = true
		return !s.sooner(s.in(), s.in(o))
	})
}

func TestOverrideOfADryRunNeverCausesADeletion(t *testing.T) {
	forEachSetting(t, func(r *rand.Rand, s setting) bool {
		return !s.sooner(s.in(), s.in(tried(randomOverride(r))))
	})
}

// TestLifetimeIsWithinBounds: a maximum below the time of the rule means the time of the rule.
func TestLifetimeIsWithinBounds(t *testing.T) {
	forEachSetting(t, func(_ *rand.Rand, s setting) bool {
		b, l := s.rule.Bounds, s.in().Lifetime(s.subject, s.facts)
		own := s.rule.Lifetime(policy.Subject{}, s.facts).TTL
		return b.Min == nil || b.Max == nil || l.Origin == policy.FromRule || *b.Min <= l.TTL && l.TTL <= max(*b.Max, own)
	})
}

// TestRequestForLongerNeverShortens: neither an override nor an annotation that asks for at least the time of the rule makes it
// shorter.
func TestRequestForLongerNeverShortens(t *testing.T) {
	forEachSetting(t, func(_ *rand.Rand, s setting) bool {
		own, l := s.rule.Lifetime(policy.Subject{}, s.facts).TTL, s.in().Lifetime(s.subject, s.facts)
		return l.Wrote < own || l.TTL >= own
	})
}

// TestRuleIfEnforcedEqualsEnforcedOverrides compares the trial with the same overrides in force.
func TestRuleIfEnforcedEqualsEnforcedOverrides(t *testing.T) {
	forEachSetting(t, func(_ *rand.Rand, s setting) bool {
		now := s.in()
		ifEnforced := now.IfEnforced
		if ifEnforced == nil {
			ifEnforced = now
		}
		for i, o := range s.overrides {
			inForce := *o
			inForce.InForce = true
			s.overrides[i] = &inForce
		}
		then := s.in()
		return !s.sooner(ifEnforced, then) && !s.sooner(then, ifEnforced) && then.IfEnforced == nil
	})
}

func TestNeverTTLIsNeverShortened(t *testing.T) {
	forEachSetting(t, func(_ *rand.Rand, s setting) bool {
		s.rule.HasTTLExpression, s.facts.TTL = true, policy.NeverTTL
		goes, ttl, _ := s.goes(s.in())
		return !goes && ttl == policy.NeverTTL
	})
}

// TestRuleOfACapacityHasNoTTL: overrides and annotations cannot give it a TTL.
func TestRuleOfACapacityHasNoTTL(t *testing.T) {
	r := about(jobs, "r")
	r.TTL, r.Capacity, r.Bounds = policy.NeverTTL, policy.Capacity{Bounded: true, Max: 3}, within(0, 1)
	r.Bounds.Annotation = v1alpha1.TTLAnnotationWithinBounds
	of := settled(r, hours(0))
	for _, m := range []v1alpha1.Mode{v1alpha1.Enforce, v1alpha1.DryRun} {
		of.Mode = m
		v := policy.Forecast(annotated(0), evaluations(policy.Evaluation{Rule: of, Known: true, Facts: policy.Facts{Selected: true, Eligible: true, Start: started}}), "p", now)
		if v.Action != policy.Keep || v.Reason != policy.WithinCapacity {
			t.Errorf("%s: verdict %+v", m, v)
		}
	}
}
