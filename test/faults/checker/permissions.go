// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"encoding/json"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

const rbacGroup = "rbac.authorization.k8s.io"

// isPermitted reports whether the ServiceAccount of a namespaced rule has all permissions that the rule needs, at one of the
// revisions at least.
func (j *checker) isPermitted(r *rule, s *history.State, revisions ...int64) bool {
	verbs := []string{"list", "delete"}
	if r.StartTime == "" {
		verbs = append(verbs, "patch")
	}
	return slices.ContainsFunc(revisions, func(revision int64) bool {
		rules := j.granted(r.policy, revision)
		return !slices.ContainsFunc(verbs, func(verb string) bool {
			return !slices.ContainsFunc(rules, func(granted rbacv1.PolicyRule) bool {
				return len(granted.ResourceNames) == 0 && has(granted.Verbs, verb) && has(granted.APIGroups, r.kind.Group) &&
					has(granted.Resources, history.Resource(s))
			})
		})
	})
}

func has(list []string, one string) bool {
	return slices.Contains(list, one) || slices.Contains(list, "*")
}

// granted returns the rules of all roles that are bound to the policy's ServiceAccount in its namespace.
func (j *checker) granted(p *policy, revision int64) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, kind := range []string{"RoleBinding", "ClusterRoleBinding"} {
		for _, s := range j.Log.Kind(schema.GroupKind{Group: rbacGroup, Kind: kind}, revision) {
			var binding rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
			if kind == "RoleBinding" && s.GetNamespace() != p.namespace || !into(s, &binding) || !binds(binding.Subjects, p) {
				continue
			}
			key := j.Log.Key("clusterroles", "", binding.RoleRef.Name)
			if binding.RoleRef.Kind == "Role" {
				key = j.Log.Key("roles", p.namespace, binding.RoleRef.Name)
			}
			var role rbacv1.Role
			if state := j.Log.At(key, revision); state != nil && into(state, &role) {
				all = append(all, role.Rules...)
			}
		}
	}
	return all
}

func binds(subjects []rbacv1.Subject, p *policy) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			return s.Namespace == p.namespace && s.Name == p.account
		case rbacv1.UserKind:
			return s.Name == "system:serviceaccount:"+p.namespace+":"+p.account
		default:
			return slices.Contains([]string{"system:serviceaccounts", "system:serviceaccounts:" + p.namespace, "system:authenticated"}, s.Name)
		}
	})
}

func into(s *history.State, object any) bool {
	data, err := json.Marshal(s.Object)
	return err == nil && json.Unmarshal(data, object) == nil
}
