// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Permission is a permission: verbs on resources.
type Permission struct {
	Policy string // Name of the policy.Policy that needs it
	// Namespace and Account are the ServiceAccount that needs the permission; both are empty for Sunset itself.
	Namespace, Account string

	For       string // purpose: the resource that rules target, or References
	Resources []schema.GroupResource
	Verbs     []string // in the order of order
}

// References is the purpose of a Permission for rules that read references.
const References = "references"

// Missing is a permission with the verbs that are not allowed.
type Missing struct {
	Permission
	Denied []string
}

// String says who lacks which permission.
func (m Missing) String() string {
	who, what := "Sunset", m.For
	if m.Account != "" {
		who = "ServiceAccount " + m.Account
	}
	if m.For == References {
		what = "all kinds whose references the rules ask about"
	}
	text := fmt.Sprintf("%s may not %s %s", who, strings.Join(m.Denied, ", "), what)
	if m.Namespace != "" {
		text += " in namespace " + m.Namespace
	}
	return text
}

// order is the order of verbs in a Permission.
var order = []string{"list", "watch", "get", "create", "delete", "patch"}

// OfSunset is the permission that Sunset needs to enforce the policy, for a resource that serves a kind (see policy.StoredAs). It
// has no verbs if no rule targets the kind. It does not include owners that rules delete, because only objects name their owners.
func OfSunset(p *policy.Policy, kind schema.GroupKind, resource schema.GroupResource) Permission {
	permission := on(p, resource)
	for _, r := range about(p, kind) {
		permission = permission.And("list", "watch")
		if !r.Owner {
			permission = permission.And("delete")
		}
		// With a ledger, which a rule that archives has too, Sunset reads the object after the DELETE; for a snapshot it reads the claim.
		if r.Owner || r.Ledger || r.Snapshot != nil {
			permission = permission.And("get")
		}
		if r.Mark != "" {
			permission = permission.And("patch")
		}
	}
	return permission
}

// OfOwners is the permission that Sunset needs for a kind of owners that rules of a policy delete. For records in an archive, it lists
// many owners at once.
func OfOwners(p *policy.Policy, resource schema.GroupResource) Permission {
	permission := on(p, resource).And("get", "delete")
	if slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.Owner && r.Archive != nil }) {
		permission = permission.And("list")
	}
	return permission
}

// OfArchive is the permission that Sunset needs, besides OfSunset, for a resource that records of rules of a policy include: dependents
// and Events are listed, and logs (pods/log) are read.
func OfArchive(p *policy.Policy, resource schema.GroupResource) Permission {
	if resource == PodLogs {
		return on(p, resource).And("get")
	}
	return on(p, resource).And("list")
}

// OfSnapshots are the permissions that rules of a policy need to make VolumeSnapshots: Sunset itself, and the ServiceAccount of a
// RetentionPolicy. They are empty if no rule makes snapshots.
func OfSnapshots(p *policy.Policy) (all []Permission) {
	if !slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.Snapshot != nil && !r.Invalid() }) {
		return nil
	}
	all = append(all, on(p, VolumeSnapshots).And("get", "create"))
	if p.Namespace != "" {
		all = append(all, OfAccountSnapshots(p))
	}
	return all
}

// OfAccountSnapshots is the permission that the ServiceAccount of a RetentionPolicy needs so that its rules make VolumeSnapshots.
func OfAccountSnapshots(p *policy.Policy) Permission {
	own := on(p, VolumeSnapshots).And("create")
	own.Namespace, own.Account = p.Namespace, p.ServiceAccount
	return own
}

// VolumeSnapshots is the resource of VolumeSnapshots.
var VolumeSnapshots = schema.GroupResource{Group: policy.VolumeSnapshotKind.Group, Resource: "volumesnapshots"}

// The resources that records may include.
var (
	PodLogs = schema.GroupResource{Resource: "pods/log"}
	Events  = schema.GroupResource{Resource: "events"}
)

// OfReferences is the permission that Sunset needs for all kinds that tell what rules of a policy ask about references.
func OfReferences(p *policy.Policy, referrers ...schema.GroupResource) Permission {
	return Permission{Policy: p.Name, For: References, Resources: referrers}.And("list", "watch")
}

func on(p *policy.Policy, resource schema.GroupResource) Permission {
	return Permission{Policy: p.Name, For: resource.String(), Resources: []schema.GroupResource{resource}}
}

// OfAccount is the permission that the ServiceAccount of a RetentionPolicy needs, in addition to those of Sunset.
func OfAccount(p *policy.Policy, kind schema.GroupKind, resource schema.GroupResource) Permission {
	permission := on(p, resource)
	permission.Namespace, permission.Account = p.Namespace, p.ServiceAccount
	for _, r := range about(p, kind) {
		permission = permission.And(AccountVerbs(r)...)
	}
	return permission
}

// AccountVerbs are the verbs that the ServiceAccount of a rule needs for the kind that the rule targets.
func AccountVerbs(r *policy.Rule) []string {
	if r.Mark != "" {
		return []string{"list", "delete", "patch"}
	}
	return []string{"list", "delete"}
}

// about are the valid rules that target a kind of API objects.
func about(p *policy.Policy, kind schema.GroupKind) (rules []*policy.Rule) {
	for _, r := range p.Rules {
		if policy.StoredAs(r.Kind) == kind && !r.Invalid() && !r.OnNodes() {
			rules = append(rules, r)
		}
	}
	return rules
}

// And is the permission with more verbs.
func (r Permission) And(verbs ...string) Permission {
	had := r.Verbs
	r.Verbs = nil
	for _, verb := range order {
		if slices.Contains(had, verb) || slices.Contains(verbs, verb) {
			r.Verbs = append(r.Verbs, verb)
		}
	}
	return r
}

// Merge adds the verbs of a permission to the one in the list that the same policy needs for the same account and purpose, or else
// adds the permission to the list. A permission without resources or verbs adds nothing. All permissions for one purpose must have
// the same resources. Merge may change the list.
func Merge(all []Permission, p Permission) []Permission {
	known := slices.IndexFunc(all, func(q Permission) bool {
		return q.Policy == p.Policy && q.Namespace == p.Namespace && q.Account == p.Account && q.For == p.For
	})
	switch {
	case len(p.Resources) == 0 || len(p.Verbs) == 0:
	case known >= 0:
		all[known] = all[known].And(p.Verbs...)
	default:
		all = append(all, p)
	}
	return all
}

// Status is the permission as the status of the policy shows it, one entry for each resource.
func (r Permission) Status() (all []v1alpha1.MissingPermission) {
	for _, of := range r.Resources {
		all = append(all, v1alpha1.MissingPermission{ServiceAccount: r.Account, APIGroup: of.Group, Resource: of.Resource, Verbs: r.Verbs, Namespace: r.Namespace})
	}
	return all
}
