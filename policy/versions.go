package policy

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// agreeOnVersions chooses the version in which each kind is read, because two versions of one object cannot be evaluated
// together. Cluster rules come before rules of namespaces. Among cluster rules, those in force come before dry runs. Among rules
// of namespaces, those with permission come first, then those of the oldest policy. Then policy and rule name decide. A rule with
// another version is invalid.
func (b *Snapshot) agreeOnVersions() {
	claims := map[schema.GroupKind]*Rule{}
	for _, p := range b.policies {
		for _, r := range p.Rules {
			if first := claims[StoredAs(r.Kind)]; !r.Invalid() && (first == nil || r.claimsBefore(first)) {
				claims[StoredAs(r.Kind)] = r
			}
		}
	}
	for kind, r := range claims {
		b.versions[kind] = r.Kind
	}
	for i, p := range b.policies {
		b.policies[i] = p.readAt(claims)
	}
}

// claimsBefore reports whether r comes before o. A namespace can invalidate neither cluster rules nor rules of an older policy in
// another namespace.
func (r *Rule) claimsBefore(o *Rule) bool {
	own, other := r.Namespace != "", o.Namespace != ""
	switch {
	case own != other:
		return other
	case own && r.Unpermitted != o.Unpermitted:
		return o.Unpermitted
	case own && !r.PolicyCreated.Equal(o.PolicyCreated):
		return r.PolicyCreated.Before(o.PolicyCreated)
	}
	if inForce, other := !r.dryRun(), !o.dryRun(); inForce != other {
		return inForce
	}
	return r.ID.Compare(o.ID) < 0
}

// readAt gives the policy with each rule invalid that uses another version than the chosen one. The policy itself does not
// change.
func (p *Policy) readAt(claims map[schema.GroupKind]*Rule) *Policy {
	agreed := p
	for i, r := range p.Rules {
		claim := claims[StoredAs(r.Kind)]
		if claim == nil || claim.Kind == r.Kind {
			continue
		}
		if agreed == p {
			agreed = &Policy{}
			*agreed = *p
			agreed.Rules = slices.Clone(p.Rules)
		}
		problem := Problem{
			Path:    fmt.Sprintf("spec.rules[%d].target.apiVersion", i),
			Message: fmt.Sprintf("rule %s targets %s in version %s, and Sunset reads each kind in one version only", claim.ID, r.Kind.Kind, claim.Kind.GroupVersion()),
			Hint:    "use the same apiVersion in every rule about the kind",
		}
		other := *r
		other.Problems = append(slices.Clone(r.Problems), problem)
		agreed.Rules[i] = &other
		agreed.Problems = append(slices.Clone(agreed.Problems), problem)
	}
	return agreed
}

// takeOverrides collects the overrides of RetentionPolicies, and adds problems for overrides of policies and rules that do not
// exist.
func (b *Snapshot) takeOverrides() {
	rules := map[string][]string{} // of ClusterRetentionPolicies
	images := map[RuleID]*Rule{}
	for _, p := range b.policies {
		if p.Namespace != "" {
			continue
		}
		rules[p.Name] = namesOf(p.Rules)
		for _, r := range p.Rules {
			if r.OnNodes() {
				images[r.ID] = r
			}
		}
	}
	for i, p := range b.policies {
		if p.Namespace == "" {
			continue
		}
		b.policies[i] = p.with(slices.Concat(UnknownTargets(p.Overrides, rules), namedOnNodes(p.Overrides, images), b.idle(p)))
		if !b.protection.Namespace(p.Namespace) {
			b.overrides[p.Namespace] = append(b.overrides[p.Namespace], p.Overrides...)
		}
	}
}

// idle finds overrides of policies that do not apply in the namespace.
func (b *Snapshot) idle(p *Policy) []Problem {
	var problems []Problem
	for _, o := range p.Overrides {
		for _, target := range b.policies {
			switch {
			case target.Name != o.Policy || target.Namespace != "":
			case b.protection.Namespace(p.Namespace):
				problems = append(problems, Problem{Path: o.Path, Message: fmt.Sprintf("namespace %s is protected, so no policy applies there", p.Namespace)})
			case !b.applies(target, p.Namespace):
				problems = append(problems, Problem{Path: o.Path, Message: fmt.Sprintf("policy %s does not apply in namespace %s", o.Policy, p.Namespace)})
			}
		}
	}
	return problems
}

func namesOf(rules []*Rule) []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.ID.Rule
	}
	return names
}

// UnknownTargets finds overrides of policies and rules that do not exist. rules are the rule names of each
// ClusterRetentionPolicy.
func UnknownTargets(overrides []*Override, rules map[string][]string) []Problem {
	var problems []Problem
	for _, o := range overrides {
		names, known := rules[o.Policy]
		switch {
		case o.Policy == "":
		case !known:
			problems = append(problems, Problem{
				Path: o.Path + ".policy", Message: fmt.Sprintf("ClusterRetentionPolicy %q does not exist", o.Policy),
				Hint: DidYouMean(o.Policy, slices.Sorted(maps.Keys(rules))),
			})
		case o.Rule != "" && !slices.Contains(names, o.Rule):
			problems = append(problems, Problem{
				Path: o.Path + ".rule", Message: fmt.Sprintf("policy %s has no rule %q", o.Policy, o.Rule), Hint: DidYouMean(o.Rule, names),
			})
		}
	}
	return problems
}

// with is the policy with more problems, which concern only overrides. The policy itself does not change.
func (p *Policy) with(problems []Problem) *Policy {
	if len(problems) == 0 {
		return p
	}
	other := *p
	other.Problems = append(slices.Clone(p.Problems), problems...)
	return &other
}
