package rbac

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
)

// Right is to do something with the objects of resources.
type Right struct {
	Policy string // that needs it, as policy.Policy has its Name
	// Namespace and Account are those of the ServiceAccount that needs it; both are empty for Sunset's own.
	Namespace, Account string

	For       string // what it is for: the resource that rules are about, or References
	Resources []schema.GroupResource
	Verbs     []string // in the order of order
}

// References is what a Right is For that rules need which read references.
const References = "references"

// Missing is a right, and those of its verbs that somebody may not use.
type Missing struct {
	Right
	Denied []string
}

// String says who may not do what.
func (m Missing) String() string {
	who, what := "Sunset", m.For
	if m.Account != "" {
		who = "ServiceAccount " + m.Account
	}
	if m.For == References {
		what = "everything that may refer to ConfigMaps and Secrets"
	}
	said := fmt.Sprintf("%s may not %s %s", who, strings.Join(m.Denied, ", "), what)
	if m.Namespace != "" {
		said += " in namespace " + m.Namespace
	}
	return said
}

// order is that in which Sunset comes to need verbs.
var order = []string{"list", "watch", "get", "delete", "patch"}

// OfSunset is what Sunset needs where a resource serves a kind, as policy.StoredAs has it, for the policy to be enforced. It has no
// verbs where no rule is about the kind. Owners that rules let go are another matter: objects name them.
func OfSunset(p *policy.Policy, kind schema.GroupKind, resource schema.GroupResource) Right {
	right := on(p, resource)
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
	return on(p, resource).And("get", "delete")
}

// OfReferences is what Sunset needs of everything that may refer to what rules of a policy ask about.
func OfReferences(p *policy.Policy, referrers ...schema.GroupResource) Right {
	return Right{Policy: p.Name, For: References, Resources: referrers}.And("list", "watch")
}

func on(p *policy.Policy, resource schema.GroupResource) Right {
	return Right{Policy: p.Name, For: resource.String(), Resources: []schema.GroupResource{resource}}
}

// OfAccount is what the ServiceAccount of a RetentionPolicy needs, beside what Sunset itself does.
func OfAccount(p *policy.Policy, kind schema.GroupKind, resource schema.GroupResource) Right {
	right := on(p, resource)
	right.Namespace, right.Account = p.Namespace, p.ServiceAccount
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
