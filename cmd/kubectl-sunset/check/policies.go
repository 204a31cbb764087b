// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/status"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// policies checks the permissions and conditions of policies, and if there are rules about images, the agents on nodes.
func (i *installation) policies(ctx context.Context) []Check {
	objects, forbidden, err := i.PermittedPolicies(ctx, "")
	if err != nil {
		return []Check{unreadable("policies", err)}
	}
	var checks []Check
	for _, err := range forbidden {
		checks = append(checks, unreadable("policies", err))
	}
	list, err := status.NewList(objects)
	if err != nil {
		return append(checks, unreadable("policies", err))
	}
	if len(objects) > 0 || len(forbidden) == 0 {
		checks = append(checks, permissions(objects), conditions(list))
	}
	if slices.ContainsFunc(objects, isAboutImages) {
		checks = append(checks, i.agents(ctx))
	}
	return checks
}

// permissions lists the permissions that policies lack according to their statuses.
func permissions(objects []map[string]any) Check {
	const name = "permissions"
	var missing []string
	next := ""
	for _, object := range objects {
		s, err := status.Of(object)
		if err != nil {
			return unreadable(name, err)
		}
		if len(s.MissingPermissions) == 0 {
			continue
		}
		u := &unstructured.Unstructured{Object: object}
		var lacking []string
		for _, m := range s.MissingPermissions {
			lacking = append(lacking, described(m))
		}
		missing = append(missing, fmt.Sprintf("%s %s: %s", u.GetKind(), u.GetName(), first(lacking)))
		if next == "" {
			next = "kubectl sunset rbac " + u.GetName()
			if u.GetNamespace() != "" {
				next += " -n " + u.GetNamespace()
			}
			next += " --missing | kubectl apply -f -"
		}
	}
	if len(missing) > 0 {
		return Check{name, Fail, "missing for " + first(missing), "to grant them, run for each policy: " + next}
	}
	return Check{Name: name, Result: Pass, Message: "no policy lacks permissions"}
}

// described names a permission in the words of kubectl create role.
func described(m v1alpha1.MissingPermission) string {
	resource := m.Resource
	if m.APIGroup != "" {
		resource += "." + m.APIGroup
	}
	text := strings.Join(m.Verbs, ",") + " " + resource
	if m.Namespace != "" {
		text += " in namespace " + m.Namespace
	}
	if m.ServiceAccount != "" {
		text += " by ServiceAccount " + m.ServiceAccount
	}
	return text
}

// conditions counts the policies with a condition that shows a problem.
func conditions(list *status.List) Check {
	var stopped []string
	for _, p := range list.Items {
		if len(p.Causes) > 0 {
			stopped = append(stopped, fmt.Sprintf("%s %s (%s)", p.Kind, p.Title(), p.Causes[0].Reason))
		}
	}
	if len(stopped) > 0 {
		return Check{"policies", Warn, fmt.Sprintf("something stops deletions of %d of %d policies: %s", len(stopped), len(list.Items), first(stopped)), "run kubectl sunset status"}
	}
	return Check{Name: "policies", Result: Pass, Message: fmt.Sprintf("%d found, and nothing stops their deletions", len(list.Items))}
}

// isAboutImages reports whether a policy has a rule about images of nodes.
func isAboutImages(object map[string]any) bool {
	rules, _, _ := unstructured.NestedFieldNoCopy(object, "spec", "rules")
	all, _ := rules.([]any)
	return slices.ContainsFunc(all, func(rule any) bool {
		written, _ := rule.(map[string]any)
		version, _, _ := unstructured.NestedString(written, "target", "apiVersion")
		return version == v1alpha1.ImageKind.GroupVersion().String()
	})
}
