package grant

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
)

// Right is to do something with the objects of one resource.
type Right struct {
	Policy string // that needs it, as policy.Policy has its Name
	// Namespace and Account are those of the ServiceAccount that needs it; both are empty for Sunset's own.
	Namespace, Account string

	Resource schema.GroupResource
	Verbs    []string // in the order of order
}

// order is that in which Sunset comes to need verbs.
var order = []string{"list", "watch", "get", "delete", "patch"}

// OfSunset is what Sunset needs where a resource serves a kind, as policy.StoredAs has it, for the policy to be enforced. It has no
// verbs where no rule is about the kind. Owners that rules let go are another matter: objects name them.
func OfSunset(p *policy.Policy, kind schema.GroupKind, resource schema.GroupResource) Right {
	right := Right{Policy: p.Name, Resource: resource}
	for _, r := range about(p, kind) {
		right = right.And("list", "watch")
		if !r.Owner {
			right = right.And("delete")
		}
		if r.Owner || r.Ledger { // what becomes of the object is looked at
			right = right.And("get")
		}
		if r.Mark != "" {
			right = right.And("patch")
		}
	}
	return right
}

// OfOwners is what Sunset needs of a kind of owners that rules of a policy let go.
func OfOwners(p *policy.Policy, resource schema.GroupResource) Right {
	return Right{Policy: p.Name, Resource: resource}.And("get", "delete")
}

// OfAccount is what the ServiceAccount of a RetentionPolicy needs, beside what Sunset itself does.
func OfAccount(p *policy.Policy, kind schema.GroupKind, resource schema.GroupResource) Right {
	right := Right{Policy: p.Name, Namespace: p.Namespace, Account: p.ServiceAccount, Resource: resource}
	for _, r := range about(p, kind) {
		right = right.And(AccountVerbs(r)...)
	}
	return right
}

// AccountVerbs are what the ServiceAccount of a rule needs of what the rule is about.
func AccountVerbs(r *policy.Rule) []string {
	if r.Mark != "" {
		return []string{"list", "delete", "patch"}
	}
	return []string{"list", "delete"}
}

// about are the rules that are about a kind and can be carried out.
func about(p *policy.Policy, kind schema.GroupKind) (rules []*policy.Rule) {
	for _, r := range p.Rules {
		if policy.StoredAs(r.Kind) == kind && !r.Invalid() && !r.OnNodes() {
			rules = append(rules, r)
		}
	}
	return rules
}

// And is the right with more verbs.
func (r Right) And(verbs ...string) Right {
	had := r.Verbs
	r.Verbs = nil
	for _, verb := range order {
		if slices.Contains(had, verb) || slices.Contains(verbs, verb) {
			r.Verbs = append(r.Verbs, verb)
		}
	}
	return r
}

// Without is the right without some verbs.
func (r Right) Without(verbs ...string) Right {
	r.Verbs = slices.DeleteFunc(slices.Clone(r.Verbs), func(verb string) bool { return slices.Contains(verbs, verb) })
	return r
}
