// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
)

// Limits of the RetentionPolicies of a namespace, because each decision reads all of them. Overrides and freezes beyond them keep objects.
const (
	mostNarrowing = 8   // overrides with windows of a rule
	mostOverrides = 256 // overrides
	mostFreezes   = 256 // freezes with allPolicies
)

// tenant has the overrides and freezes of the RetentionPolicies of a namespace that are within the limits.
type tenant struct {
	overrides []*Override // and one override beyond the limit for each policy and rule that such overrides name
	beyond    map[[2]string]bool
	count     int            // of overrides
	windows   map[RuleID]int // overrides with windows
	freezes   int
	freezing  []*Policy // with these freezes
	frozen    *Freeze   // covers all freezes beyond the limit; nil for none
}

func newTenant() *tenant { return &tenant{beyond: map[[2]string]bool{}, windows: map[RuleID]int{}} }

// limit makes the overrides of the next policy invalid that are beyond the limits, together with those of the policies before it.
// The policy itself does not change. narrowed are the rules that windows narrow, and rules the names of all rules, by ClusterRetentionPolicy.
func (t *tenant) limit(p *Policy, narrowed []*Rule, rules map[string][]string) (*Policy, []Problem) {
	var problems []Problem
	all := slices.Clone(p.Overrides)
	for i, o := range all {
		if t.count++; t.count > mostOverrides {
			problems = append(problems, Problem{
				Path: o.Path, Message: fmt.Sprintf("RetentionPolicies of the namespace already have %d overrides", mostOverrides),
				Hint: "an override without rule applies to all rules of a policy",
			})
			all[i] = o.invalid()
			exists := len(rules[o.Policy]) > 0 && (o.Rule == "" || slices.Contains(rules[o.Policy], o.Rule))
			if named := [2]string{o.Policy, o.Rule}; exists && !t.beyond[named] {
				t.beyond[named] = true
				t.overrides = append(t.overrides, all[i])
			}
			continue
		}
		if r := t.narrow(o, narrowed); r != nil {
			problems = append(problems, Problem{
				Path: o.Path + ".windows", Message: fmt.Sprintf("rule %s already has windows of %d overrides in this namespace", r.ID, mostNarrowing),
				Hint: "write the times at which all of them are open as windows of one override",
			})
			all[i] = o.invalid()
		}
		t.overrides = append(t.overrides, all[i])
	}
	if len(problems) == 0 {
		return p, nil
	}
	limited := *p
	limited.Overrides = all
	return &limited, problems
}

// invalid is the override as if it could not be read.
func (o *Override) invalid() *Override {
	invalid := *o
	invalid.Invalid, invalid.Windows = true, nil
	return &invalid
}

// narrow counts an override with windows, or gives the rule that has too many of them already.
func (t *tenant) narrow(o *Override, rules []*Rule) *Rule {
	if o.Windows == nil {
		return nil
	}
	for _, r := range rules {
		if o.names(r.ID) && t.windows[r.ID] == mostNarrowing {
			return r
		}
	}
	for _, r := range rules {
		if o.names(r.ID) {
			t.windows[r.ID]++
		}
	}
	return nil
}

// freeze counts the freezes of the next policy, or adds them to one long freeze if they are beyond the limit. Then those of all later policies
// are too, so that another policy never makes the long freeze shorter.
func (t *tenant) freeze(p *Policy) []Problem {
	all := p.freezesOfAll()
	if len(all) == 0 || t.frozen == nil && t.freezes+len(all) <= mostFreezes {
		t.freezes += len(all)
		return nil
	}
	for _, f := range all {
		if t.frozen == nil {
			t.frozen = &Freeze{By: p.Name, From: f.From, To: f.To, Reason: "the namespace has too many freezes", All: true}
		}
		t.frozen.From, t.frozen.To = Soonest(t.frozen.From, f.From), Latest(t.frozen.To, f.To)
	}
	return []Problem{{
		Path: freezesField, Message: fmt.Sprintf("RetentionPolicies of the namespace have more than %d freezes with allPolicies; those of this policy count as one", mostFreezes),
		Hint: "delete freezes that have ended, and write freezes that follow each other as one",
	}}
}

// freezesExcept are the freezes of all RetentionPolicies of the namespace except one. t may be nil.
func (t *tenant) freezesExcept(policy string) (all []Freeze) {
	if t == nil {
		return nil
	}
	for _, p := range t.freezing {
		if p.Name != policy {
			all = append(all, p.freezesOfAll()...)
		}
	}
	if t.frozen != nil {
		all = append(all, *t.frozen)
	}
	return all
}
