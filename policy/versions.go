// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// versionClaim is the version in which a kind is read. The zero value claims nothing.
type versionClaim struct {
	version schema.GroupVersionKind // zero if it is not known: rules name several versions, and none of them decides
	by      *Rule                   // a rule of a ClusterRetentionPolicy; nil for none
	guessed bool                    // only rules of RetentionPolicies name it, and it is not known which version the API server prefers
}

// agreeOnVersions chooses the version in which each kind is read, because two versions of one object cannot be evaluated
// together. It is the version that rules of ClusterRetentionPolicies name, where those in force come before dry runs, and then
// policy and rule name decide. If there are none, it is the version that the API server prefers. While that is not known, it is
// the one that all rules of RetentionPolicies name, or none if they name several. A rule with another version is invalid. So the
// rules of a RetentionPolicy never decide about those of another.
func (b *Snapshot) agreeOnVersions() {
	claims := map[schema.GroupKind]versionClaim{}
	for _, p := range b.policies {
		for _, r := range p.Rules {
			if kind := StoredAs(r.Kind); !r.Invalid() && !r.keepsWithoutVersion() {
				claims[kind] = claims[kind].and(r)
			}
		}
	}
	for kind, claim := range claims {
		if !claim.version.Empty() {
			b.versions[kind] = claim.version
		}
	}
	for i, p := range b.policies {
		b.policies[i] = p.readAt(claims)
	}
}

// keepsWithoutVersion reports whether a rule reads no objects, whichever version is chosen: it is not known which one the API
// server prefers, nor whether the rule has its permissions.
func (r *Rule) keepsWithoutVersion() bool {
	return r.Namespace != "" && r.Preferred.Empty() && r.Unwatched
}

// claim is the choice of a rule. A rule of a RetentionPolicy chooses what the API server prefers, or, if that is not known, what
// it names.
func (r *Rule) claim() versionClaim {
	switch {
	case r.Namespace == "":
		return versionClaim{version: r.Kind, by: r}
	case r.Preferred.Empty():
		return versionClaim{version: r.Kind, guessed: true}
	default:
		return versionClaim{version: r.Preferred}
	}
}

// and is the claim together with that of the next rule, by policy and rule name.
func (c versionClaim) and(r *Rule) versionClaim {
	next := r.claim()
	switch {
	case c == versionClaim{}, c.guessed && !next.guessed, c.by == nil && next.by != nil:
		return next
	case c.guessed && c.version != next.version:
		return versionClaim{guessed: true}
	case next.by == nil:
		return c
	}
	if inForce, other := !r.dryRun(), !c.by.dryRun(); inForce != other {
		if inForce {
			return next
		}
		return c
	}
	if r.ID.Compare(c.by.ID) < 0 {
		return next
	}
	return c
}

// readAt gives the policy with each rule invalid that uses another version than the chosen one, or any version if none is
// chosen. The policy itself does not change.
func (p *Policy) readAt(claims map[schema.GroupKind]versionClaim) *Policy {
	agreed := p
	for i, r := range p.Rules {
		claim := claims[StoredAs(r.Kind)]
		if claim == (versionClaim{}) || claim.version == r.Kind || claim.guessed && r.keepsWithoutVersion() {
			continue
		}
		if agreed == p {
			agreed = &Policy{}
			*agreed = *p
			agreed.Rules = slices.Clone(p.Rules)
		}
		problem := claim.problem(fmt.Sprintf("spec.rules[%d].target.apiVersion", i), r)
		other := *r
		other.Problems = append(slices.Clone(r.Problems), problem)
		agreed.Rules[i] = &other
		agreed.Problems = append(slices.Clone(agreed.Problems), problem)
	}
	return agreed
}

// problem is that of a rule with another version than the chosen one. If none is chosen, it does not name other versions,
// because they are in the policies of other tenants.
func (c versionClaim) problem(path string, r *Rule) Problem {
	if c.version.Empty() {
		return Problem{
			Path: path,
			Message: fmt.Sprintf("Sunset reads each kind in one version only, and does not know which version of %s the API server prefers; "+
				"RetentionPolicies name several versions", r.Kind.Kind),
			Hint: fmt.Sprintf("to see the preferred version, run kubectl api-resources --api-group=%q; a ClusterRetentionPolicy with a rule "+
				"about the kind chooses the version", r.Kind.Group),
		}
	}
	why := "because the API server prefers it"
	switch {
	case c.by != nil:
		why = "because rule " + c.by.ID.String() + " targets it"
	case c.guessed:
		why = "because all valid rules about it target this version"
	}
	use := c.version.GroupVersion().String()
	return Problem{
		Path:    path,
		Message: fmt.Sprintf("Sunset reads each kind in one version only, and %s in %s, %s", r.Kind.Kind, use, why),
		Hint:    "use apiVersion " + use,
	}
}

// takeOverrides collects the overrides of RetentionPolicies, and adds problems for overrides of policies and rules that do not
// exist.
func (b *Snapshot) takeOverrides() {
	rules := map[string][]string{} // of ClusterRetentionPolicies
	images, known := map[RuleID]*Rule{}, map[string]*Policy{}
	var narrowed []*Rule // by windows of overrides
	for _, p := range b.policies {
		if p.Namespace != "" {
			continue
		}
		rules[p.Name], known[p.Name] = namesOf(p.Rules), p
		for _, r := range p.Rules {
			if r.OnNodes() {
				images[r.ID] = r
			}
			if !r.Bounds.NoSuspend {
				narrowed = append(narrowed, r)
			}
		}
	}
	for i, p := range b.policies {
		if p.Namespace == "" {
			continue
		}
		t := b.tenants[p.Namespace]
		if t == nil {
			t = newTenant()
			b.tenants[p.Namespace] = t
		}
		counted := p.Overrides[:min(len(p.Overrides), max(0, mostOverrides-t.count))] // a hint for each of the others would take too long
		p, tooMany := t.limit(p, narrowed, rules)
		tooFrozen := t.freeze(p)
		p = p.with(slices.Concat(UnknownTargets(counted, rules), namedOnNodes(counted, images), b.idle(p.Namespace, counted, known), tooMany, tooFrozen))
		if b.policies[i] = p; len(tooFrozen) == 0 && len(p.freezesOfAll()) > 0 {
			t.freezing = append(t.freezing, p)
		}
	}
}

// idle finds overrides of policies that do not apply in the namespace.
func (b *Snapshot) idle(namespace string, overrides []*Override, known map[string]*Policy) []Problem {
	var problems []Problem
	for _, o := range overrides {
		switch target := known[o.Policy]; {
		case target == nil:
		case b.protection.Namespace(namespace):
			problems = append(problems, Problem{Path: o.Path, Message: fmt.Sprintf("namespace %s is protected, so no policy applies there", namespace)})
		case !b.applies(target, namespace):
			problems = append(problems, Problem{Path: o.Path, Message: fmt.Sprintf("policy %s does not apply in namespace %s", o.Policy, namespace)})
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
