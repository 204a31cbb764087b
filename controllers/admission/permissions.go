// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
)

// missingPermissions returns the permissions that the author of a RetentionPolicy needs but does not have: to act as the
// ServiceAccount of the rules, and to list and delete each kind that a new or changed rule targets.
func (r *Reviewer) missingPermissions(ctx context.Context, v *review) ([]policy.Problem, error) {
	var missing []policy.Problem
	changed := v.changedRules()
	if len(changed) > 0 {
		allowed, err := r.mayActAs(ctx, v)
		if err != nil {
			return nil, err
		}
		if !allowed {
			missing = append(missing, policy.Problem{
				Path: "spec.serviceAccountName",
				Message: fmt.Sprintf("the rules act as service account %s, and %s may neither create Pods in namespace %s nor impersonate it",
					v.ServiceAccount, v.author.UserInfo.Username, v.Namespace),
			})
		}
	}
	asked := map[schema.GroupResource]*policy.Problem{}
	for _, rule := range v.Rules {
		target := v.targets[rule.Index]
		if target == nil || !changed.Has(rule.ID.Rule) {
			continue
		}
		resource := target.Resource.GroupResource()
		problem, known := asked[resource]
		if !known {
			lacking, err := r.lacking(ctx, v, target.Resource, "list", "delete")
			if err != nil {
				return nil, err
			}
			problem = notAllowed(v, resource, lacking)
			asked[resource] = problem
		}
		if problem != nil {
			own := *problem
			own.Path = fmt.Sprintf("spec.rules[%d].target.kind", rule.Index)
			missing = append(missing, own)
		}
	}
	return missing, nil
}

func notAllowed(v *review, resource schema.GroupResource, verbs []string) *policy.Problem {
	if len(verbs) == 0 {
		return nil
	}
	return &policy.Problem{
		Message: fmt.Sprintf("%s may not %s %s in namespace %s", v.author.UserInfo.Username, strings.Join(verbs, " and "), resource, v.Namespace),
		Hint:    "you need permission to list and delete the kinds that your rules target",
	}
}

// mayActAs checks the same as the ValidatingAdmissionPolicy. A user who can create Pods in a namespace can act as any
// ServiceAccount in it.
func (r *Reviewer) mayActAs(ctx context.Context, v *review) (bool, error) {
	pods := authorizationv1.ResourceAttributes{Namespace: v.Namespace, Verb: "create", Version: "v1", Resource: "pods"}
	if allowed, err := r.may(ctx, v.author.UserInfo, pods); err != nil || allowed {
		return allowed, err
	}
	account := authorizationv1.ResourceAttributes{Namespace: v.Namespace, Verb: "impersonate", Version: "v1", Resource: "serviceaccounts", Name: v.ServiceAccount}
	return r.may(ctx, v.author.UserInfo, account)
}

// lacking returns the verbs for which the author has no permission.
func (r *Reviewer) lacking(ctx context.Context, v *review, resource schema.GroupVersionResource, verbs ...string) ([]string, error) {
	var lacking []string
	for _, verb := range verbs {
		allowed, err := r.may(ctx, v.author.UserInfo, authorizationv1.ResourceAttributes{
			Namespace: v.Namespace, Verb: verb, Group: resource.Group, Version: resource.Version, Resource: resource.Resource,
		})
		if err != nil {
			return nil, err
		}
		if !allowed {
			lacking = append(lacking, verb)
		}
	}
	return lacking, nil
}

func (r *Reviewer) may(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(slices.Clone(values))
	}
	question := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &attributes, User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
	}}
	if err := r.CreateReview(ctx, question); err != nil {
		return false, fmt.Errorf("check whether %s may %s %s: %w", user.Username, attributes.Verb, attributes.Resource, err)
	}
	return question.Status.Allowed, nil // Denied is only for authorizers: the API server never sets both
}
