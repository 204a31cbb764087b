package rights

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

// Resources says which resource serves a kind; false if none does.
type Resources func(schema.GroupVersionKind) (schema.GroupResource, bool)

// Guessed is a resource as its kind suggests it. Those that Sunset knows are guessed right.
func Guessed(kind schema.GroupVersionKind) (schema.GroupResource, bool) {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	if strings.HasSuffix(kind.Kind, "Gateway") {
		plural.Resource = strings.ToLower(kind.Kind) + "s"
	}
	return plural.GroupResource(), true
}

// Finder lists what policies need.
type Finder struct {
	Resources Resources
	// Owners are the kinds that rules may let go as owners.
	Owners []schema.GroupResource
	// Unknown are the kinds of rules and references for which there is no resource. Of lists them.
	Unknown sets.Set[schema.GroupVersionKind]
}

// Of lists what a policy needs: of Sunset's account, and of its own where it has one.
func (f *Finder) Of(p *policy.Policy) []rbac.Right {
	var all []rbac.Right
	for _, r := range p.Rules {
		resource, known := f.resource(r)
		if !known {
			continue
		}
		kind := policy.StoredAs(r.Kind)
		all = add(all, rbac.OfSunset(p, kind, resource))
		if p.Namespace != "" {
			all = add(all, rbac.OfAccount(p, kind, resource))
		}
	}
	if LetsOwnersGo(p) {
		for _, owner := range f.Owners {
			all = f.withOwner(all, p, owner)
		}
	}
	return add(all, rbac.OfReferences(p, f.referrers(p)...))
}

func (f *Finder) resource(r *policy.Rule) (schema.GroupResource, bool) {
	if r.Invalid() || r.OnNodes() {
		return schema.GroupResource{}, false
	}
	return f.find(r.Kind)
}

func (f *Finder) find(kind schema.GroupVersionKind) (schema.GroupResource, bool) {
	resource, known := f.Resources(kind)
	if !known {
		f.Unknown.Insert(kind)
	}
	return resource, known
}

// withOwner adds what an owner takes to the right on its resource, if there is one.
func (f *Finder) withOwner(all []rbac.Right, p *policy.Policy, owner schema.GroupResource) []rbac.Right {
	right := rbac.OfOwners(p, owner)
	for i, known := range all {
		if known.Account == "" && known.For == right.For {
			all[i] = known.And(right.Verbs...)
			return all
		}
	}
	return append(all, right)
}

// LetsOwnersGo reports whether a rule of a policy deletes the owners that objects name.
func LetsOwnersGo(p *policy.Policy) bool {
	return slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.Owner && !r.Invalid() })
}

// referrers are the resources that are watched on the word of a policy, for what their objects refer to.
func (f *Finder) referrers(p *policy.Policy) (all []schema.GroupResource) {
	reads := slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.ReadsReferences && !r.Invalid() })
	if reads {
		for _, d := range references.BuiltIn() {
			if resource, known := f.Resources(d.From); known { // a cluster need not have them all
				all = append(all, resource)
			}
		}
	}
	for _, r := range p.References {
		if resource, known := f.find(r.From); known && !r.Invalid {
			all = append(all, resource)
		}
	}
	return all
}

// add adds a right that gives something and is not there yet.
func add(all []rbac.Right, right rbac.Right) []rbac.Right {
	known := slices.ContainsFunc(all, func(r rbac.Right) bool { return r.For == right.For && r.Account == right.Account })
	if known || len(right.Resources) == 0 || len(right.Verbs) == 0 {
		return all
	}
	return append(all, right)
}
