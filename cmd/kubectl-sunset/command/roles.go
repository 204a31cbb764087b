// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

// resourceOf returns the resource of a kind. If no resource serves the kind, the error is one of meta.IsNoMatchError.
type resourceOf func(schema.GroupVersionKind) (schema.GroupResource, error)

// guessedResource derives a resource from the name of its kind. This is correct for all kinds that Sunset knows.
func guessedResource(kind schema.GroupVersionKind) (schema.GroupResource, error) {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	if strings.HasSuffix(kind.Kind, "Gateway") {
		plural.Resource = strings.ToLower(kind.Kind) + "s"
	}
	return plural.GroupResource(), nil
}

// roleFinder finds the permissions that policies need.
type roleFinder struct {
	compiler  *engine.Compiler
	resources resourceOf
	// owners lists the kinds of owners that rules may delete.
	owners []schema.GroupResource
	// unknown names the kinds of rules and references without a resource. Method of fills it.
	unknown sets.Set[string]
	// err is the last error of resources, other than that no resource serves a kind.
	err error
}

// ofAll returns the permissions that policies need. It writes a note about kinds without a resource, and one about each policy
// that deletes owners, if no kinds of owners are given; what ends this note.
func (f *roleFinder) ofAll(policies []*policy.Policy, say notes, what string) ([]rbac.Permission, error) {
	f.unknown = sets.New[string]()
	var all []rbac.Permission
	for _, p := range policies {
		all = append(all, f.of(p)...)
		if len(f.owners) == 0 && p.DeletesOwners() {
			say.note("%s deletes owners of objects%s", p.Name, what)
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	if len(f.unknown) > 0 {
		say.note("the cluster does not serve %s, so the command omits its permissions; to print them, run `kubectl sunset rbac` with --local", strings.Join(sets.List(f.unknown), ", "))
	}
	return all, nil
}

// of returns the permissions that a policy needs: for the controller, and for its own ServiceAccount if it has one.
func (f *roleFinder) of(p *policy.Policy) []rbac.Permission {
	var all []rbac.Permission
	for _, r := range p.Rules {
		if r.Invalid() || r.OnNodes() {
			continue
		}
		resource, known := f.find(r.Kind)
		if !known {
			continue
		}
		kind := policy.StoredAs(r.Kind)
		all = rbac.Merge(all, rbac.OfSunset(p, kind, resource))
		if p.Namespace != "" {
			all = rbac.Merge(all, rbac.OfAccount(p, kind, resource))
		}
	}
	if p.DeletesOwners() {
		for _, owner := range f.owners {
			all = rbac.Merge(all, rbac.OfOwners(p, owner))
		}
	}
	for _, resource := range f.archived(p) {
		all = rbac.Merge(all, rbac.OfArchive(p, resource))
	}
	for _, needed := range rbac.OfSnapshots(p) {
		all = rbac.Merge(all, needed)
	}
	return rbac.Merge(all, rbac.OfReferences(p, f.referrers(p)...))
}

func (f *roleFinder) find(kind schema.GroupVersionKind) (schema.GroupResource, bool) {
	resource, known := f.served(kind)
	if !known {
		f.unknown.Insert(kind.GroupVersion().String() + " " + kind.Kind)
	}
	return resource, known
}

func (f *roleFinder) served(kind schema.GroupVersionKind) (schema.GroupResource, bool) {
	resource, err := f.resources(kind)
	if err != nil && !meta.IsNoMatchError(err) {
		f.err = err
	}
	return resource, err == nil
}

// archived returns the resources that the records of a policy include, besides the targets of its rules.
func (f *roleFinder) archived(p *policy.Policy) (all []schema.GroupResource) {
	for _, r := range p.Rules {
		if r.Archive == nil || r.Invalid() {
			continue
		}
		for _, kind := range r.Archive.Dependents {
			if resource, known := f.find(kind.WithVersion("")); known {
				all = append(all, resource)
			}
		}
		if r.Archive.Events {
			all = append(all, rbac.Events)
		}
		if r.Archive.Logs != nil {
			all = append(all, rbac.PodLogs)
		}
	}
	return all
}

// referrers returns the resources that Sunset watches for references because of a policy.
func (f *roleFinder) referrers(p *policy.Policy) (all []schema.GroupResource) {
	asked := references.Asked{}
	asked.Add(p.Rules)
	table, _ := extract.NewTable(f.compiler, references.ValidReferences(p), asked)
	for _, kind := range table.Kinds() {
		if resource, known := f.served(kind); known { // a cluster may not serve all of them
			all = append(all, resource)
		}
	}
	for _, r := range p.References {
		if resource, known := f.find(r.From); known && !r.Invalid {
			all = append(all, resource)
		}
	}
	return all
}
