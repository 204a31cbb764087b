// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
)

// permission is the known state of the permissions that a rule needs, and what is known of its kind.
type permission struct {
	err            error
	known, allowed bool
	preferred      schema.GroupVersionKind // see policy.Rule.Preferred
}

func (p permission) unpermitted() bool { return p.err != nil || !p.known }

// isOf reports whether a rule of a snapshot has the same state.
func (p permission) isOf(r *policy.Rule) bool {
	return r.Unpermitted == p.unpermitted() && r.Unwatched == !p.allowed && r.Preferred == p.preferred
}

// needsSame reports whether two rules of a policy need the same permissions.
func needsSame(r, o *policy.Rule) bool {
	return r.Kind == o.Kind && (r.Mark == "") == (o.Mark == "") && (r.Snapshot == nil) == (o.Snapshot == nil)
}

// permissions returns the state for each rule of a policy. Rules of ClusterRetentionPolicies need no permissions.
func (l *Reconciler) permissions(p *policy.Policy) []permission {
	all := make([]permission, len(p.Rules))
	for i, r := range p.Rules {
		switch {
		case r.Namespace == "":
			all[i] = permission{known: true, allowed: true}
		case i > 0 && needsSame(r, p.Rules[i-1]):
			all[i] = all[i-1]
		default:
			all[i].err, all[i].known = l.Permissions.Known(r)
			all[i].allowed, all[i].preferred = l.Permissions.Allowed(r), l.Permissions.Preferred(r)
		}
	}
	return all
}
