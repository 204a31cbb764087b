// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
	"github.com/sunset-k8s/sunset/controllers/policyset/permissions"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine/builtin"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// missingPermissions returns the permissions that a policy needs and that are known to be missing.
func (v *statusInput) missingPermissions(p *policy.Policy) (all []v1alpha1.MissingPermission) {
	for _, missing := range slices.Concat(v.missingOfSunset(p), v.missingOfAccount(p), v.missingOfReferences(p)) {
		all = append(all, missing.Status()...)
	}
	return all[:min(len(all), v1alpha1.MaxMissingPermissions)]
}

// lacking returns the message about the error of a kind.
func (v *statusInput) lacking(p *policy.Policy, err *retention.SourceError) string {
	if err.Resource.Empty() {
		return err.Message
	}
	return granting(err.Message, v.missingOfSunset(p), commandOf("rbac", p))
}

// granting is a message, with the command that prints the roles for missing permissions.
func granting(message string, missing []rbac.Permission, command string) string {
	if len(missing) == 0 {
		return message
	}
	return message + "; to grant what is missing, run " + command + " --missing | kubectl apply -f -"
}

// commandOf is a command about a policy.
func commandOf(command string, p *policy.Policy) string {
	text := "kubectl sunset " + command + " " + p.ObjectName()
	if p.Namespace != "" {
		text += " -n " + p.Namespace
	}
	return text
}

func (v *statusInput) missingOfSunset(p *policy.Policy) (missing []rbac.Permission) {
	for _, r := range p.Rules {
		k, ok := v.kinds[policy.StoredAs(r.Kind)]
		if resource := deniedOf(k, r); ok && !resource.Empty() {
			missing = rbac.Merge(missing, rbac.OfSunset(p, policy.StoredAs(r.Kind), resource))
		}
	}
	return missing
}

// deniedOf returns the resource on which a rule lacks permissions; empty if it lacks none.
func deniedOf(k retention.KindState, r *policy.Rule) schema.GroupResource {
	errs := []*retention.SourceError{k.Lost, k.Undeletable}
	if r.Mark != "" {
		errs = append(errs, k.Unmarkable)
	}
	for _, t := range errs {
		if t != nil && !t.Resource.Empty() {
			return t.Resource
		}
	}
	return schema.GroupResource{}
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
	for _, r := range p.Rules {
		switch err := v.forbidden(r); {
		case err == nil || r.Invalid():
		case errors.Is(err, errNotAsked):
			return conditionState{unknown, "PermissionsUnknown", err.Error()}
		case errors.Is(err, preflight.ErrPermission):
			return conditionState{no, "Forbidden", granting(err.Error(), v.missingOfAccount(p), commandOf("rbac", p))}
		case meta.IsNoMatchError(err):
			return conditionState{no, "KindNotFound", err.Error()}
		default:
			return conditionState{unknown, "PermissionsUnknown", err.Error()}
		}
	}
	return conditionState{yes, "Permitted", "the ServiceAccount has every permission that the rules need"}
}

// missingOfAccount returns the permissions that the ServiceAccount of a RetentionPolicy lacks.
func (v *statusInput) missingOfAccount(p *policy.Policy) (missing []rbac.Permission) {
	for _, r := range p.Rules {
		if lack := (*permissions.Missing)(nil); !r.Invalid() && errors.As(v.forbidden(r), &lack) {
			missing = rbac.Merge(missing, accountNeeds(p, r, lack.Resource))
		}
	}
	return missing
}

// accountNeeds is the permission on a resource that the ServiceAccount of a rule needs.
func accountNeeds(p *policy.Policy, r *policy.Rule, resource schema.GroupResource) rbac.Permission {
	if r.Snapshot != nil && resource == rbac.VolumeSnapshots {
		return rbac.OfAccountSnapshots(p)
	}
	return rbac.OfAccount(p, policy.StoredAs(r.Kind), resource)
}

var errNotAsked = errors.New("not known yet")

// forbidden returns which permission a rule of a RetentionPolicy lacks; nil if it has all, and for rules of
// ClusterRetentionPolicies.
func (v *statusInput) forbidden(r *policy.Rule) error {
	if r.Namespace == "" {
		return nil
	}
	err, known := v.permissions(r)
	if !known {
		return fmt.Errorf("the permissions of ServiceAccount %s are %w", r.ServiceAccount, errNotAsked)
	}
	return err
}

// missingOfReferences returns the permissions that Sunset lacks to follow the references that rules of a ClusterRetentionPolicy
// read. A RetentionPolicy shows no more about the cluster than its namespace may know.
func (v *statusInput) missingOfReferences(p *policy.Policy) (missing []rbac.Permission) {
	isDenied := func(s referrers.State) bool { return s.Denied }
	if p.Namespace != "" || !slices.ContainsFunc(v.referrers, isDenied) || len(asked(p)) == 0 {
		return nil
	}
	all := v.compiled.Snapshot.Policies()
	declared := sets.New[schema.GroupKind]()
	for _, q := range all {
		for i := range q.References {
			declared.Insert(q.References[i].From.GroupKind())
		}
	}
	for _, q := range all {
		var referrers []schema.GroupResource
		concerns, asks := false, asked(q)
		isAsked := func(kind references.Kind) bool { return asks[kind] != 0 }
		for _, s := range v.referrers {
			k := s.Kind.GroupKind()
			onlyDeclared := declared.Has(k) && !builtin.Has(k) // for the policies that declare it
			if s.Resource.Empty() || (onlyDeclared || !slices.ContainsFunc(s.About, isAsked)) && !declares(q, s.Kind) {
				continue
			}
			if !slices.Contains(referrers, s.Resource) { // a kind may occur twice
				referrers = append(referrers, s.Resource)
			}
			concerns = concerns || s.Denied && (q == p || declares(q, s.Kind)) // a declaration counts for all policies
		}
		if concerns {
			missing = append(missing, rbac.OfReferences(q, referrers...))
		}
	}
	return missing
}

// asked returns what rules of a policy ask about references.
func asked(p *policy.Policy) references.Asked {
	all := references.Asked{}
	all.Add(p.Rules)
	return all
}

func declares(p *policy.Policy, kind schema.GroupVersionKind) bool {
	return slices.ContainsFunc(p.References, func(r *policy.Reference) bool { return r.From.GroupKind() == kind.GroupKind() })
}
