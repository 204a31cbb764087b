package status

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/policyset/permissions"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

// lacking returns the message about the error of a kind. If Sunset lacks permissions, it includes roles to apply for every kind
// of the policy.
func (v *statusInput) lacking(p *policy.Policy, trouble *retention.SourceError) string {
	if trouble.Resource.Empty() {
		return rbac.Line(trouble.Message)
	}
	var missing []rbac.Permission
	for _, r := range p.Rules {
		k, ok := v.kinds[policy.StoredAs(r.Kind)]
		if resource := deniedOf(k, r); ok && !resource.Empty() {
			missing = with(missing, rbac.OfSunset(p, policy.StoredAs(r.Kind), resource))
		}
	}
	return rbac.Message(trouble.Message, missing...)
}

// deniedOf returns the resource on which a rule lacks permissions; empty if it lacks none.
func deniedOf(k retention.KindState, r *policy.Rule) schema.GroupResource {
	troubles := []*retention.SourceError{k.Lost, k.Undeletable}
	if r.Mark != "" {
		troubles = append(troubles, k.Unmarkable)
	}
	for _, t := range troubles {
		if t != nil && !t.Resource.Empty() {
			return t.Resource
		}
	}
	return schema.GroupResource{}
}

// with adds a permission that is not in the list and has verbs.
func with(rights []rbac.Permission, right rbac.Permission) []rbac.Permission {
	known := slices.ContainsFunc(rights, func(r rbac.Permission) bool { return r.For == right.For })
	if known || len(right.Verbs) == 0 {
		return rights
	}
	return append(rights, right)
}

// permitted returns whether the ServiceAccount of a policy has the permissions that its rules need.
func (v *statusInput) permitted(p *policy.Policy) conditionState {
	if known, ok := v.allowed[p.UID]; ok {
		return known
	}
	v.allowed[p.UID] = v.permittedNow(p)
	return v.allowed[p.UID]
}

func (v *statusInput) permittedNow(p *policy.Policy) conditionState {
	if len(p.Rules) == 0 || p.Namespace == "" {
		return conditionState{}
	}
	var first error
	var missing []rbac.Permission
	for _, r := range p.Rules {
		err := v.forbidden(r)
		if err == nil || r.Invalid() {
			continue
		}
		if first == nil {
			first = err
		}
		if lack := (*permissions.Missing)(nil); errors.As(err, &lack) {
			missing = with(missing, rbac.OfAccount(p, policy.StoredAs(r.Kind), lack.Resource))
		}
	}
	switch {
	case first == nil:
		return conditionState{yes, "Permitted", "the ServiceAccount has every permission that the rules need"}
	case errors.Is(first, errNotAsked):
		return conditionState{unknown, "PermissionsUnknown", rbac.Line(first.Error())}
	case len(missing) == 0:
		return conditionState{no, "Forbidden", rbac.Line(first.Error())}
	}
	return conditionState{no, "Forbidden", rbac.Message(first.Error(), missing...)}
}

var errNotAsked = errors.New("not known yet")

// forbidden returns which permission a rule of a RetentionPolicy lacks; nil if it has all, and for rules of
// ClusterRetentionPolicies.
func (v *statusInput) forbidden(r *policy.Rule) error {
	if r.Namespace == "" || v.permissions == nil {
		return nil
	}
	err, known := v.permissions(r)
	if !known {
		return fmt.Errorf("the permissions of ServiceAccount %s are %w", r.ServiceAccount, errNotAsked)
	}
	return err
}

// unreferable returns why references are unknown. If Sunset lacks permissions, it includes roles to apply. These are for users
// who may write ClusterRoles: the message of a RetentionPolicy reveals no more about the cluster than its namespace may know.
func (v *statusInput) unreferable(p *policy.Policy, why string) string {
	var missing []rbac.Permission
	for _, q := range v.compiled.Snapshot.Policies() {
		var referrers []schema.GroupResource
		concerns := false
		for _, s := range v.referrers {
			if s.Resource.Empty() || !follows(q, s.Kind) {
				continue
			}
			referrers = append(referrers, s.Resource)
			concerns = concerns || s.Denied && (q == p || declares(q, s.Kind)) // a declaration counts for all policies
		}
		if concerns {
			missing = append(missing, rbac.OfReferences(q, referrers...))
		}
	}
	if len(missing) == 0 || p.Namespace != "" {
		return rbac.Line(why)
	}
	return rbac.Message(why, missing...)
}

// follows reports whether a kind is watched because of a policy, for the references of its objects.
func follows(p *policy.Policy, kind schema.GroupVersionKind) bool {
	reads := slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { _, reads := asks(r); return reads })
	return reads && references.IsBuiltIn(kind.GroupKind()) || declares(p, kind)
}

func declares(p *policy.Policy, kind schema.GroupVersionKind) bool {
	return slices.ContainsFunc(p.References, func(r *policy.Reference) bool { return r.From.GroupKind() == kind.GroupKind() })
}
