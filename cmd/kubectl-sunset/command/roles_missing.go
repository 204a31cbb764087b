// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

// missingPermissions returns the permissions that the API server denies. It checks the account sunset, unless a permission names
// another account. It checks the permissions of a policy's ServiceAccount only in its namespace.
func missingPermissions(ctx context.Context, c *cluster.Cluster, sunset types.NamespacedName, needed []rbac.Permission) ([]rbac.Missing, error) {
	var all []rbac.Missing
	for _, right := range needed {
		who := sunset
		if right.Account != "" {
			who = types.NamespacedName{Namespace: right.Namespace, Name: right.Account}
		}
		missing := rbac.Missing{Permission: right}
		for _, verb := range right.Verbs {
			may, err := mayAll(ctx, c, who, verb, right)
			if err != nil {
				return nil, err
			}
			if !may {
				missing.Denied = append(missing.Denied, verb)
			}
		}
		if len(missing.Denied) > 0 {
			all = append(all, missing)
		}
	}
	return all, nil
}

func mayAll(ctx context.Context, c *cluster.Cluster, who types.NamespacedName, verb string, right rbac.Permission) (may bool, err error) {
	refused := slices.ContainsFunc(right.Resources, func(resource schema.GroupResource) bool {
		may, err = c.May(ctx, who, verb, resource, right.Namespace)
		return err != nil || !may
	})
	return !refused, err
}

// MissingRole is a missing permission in a ValidationReport.
type MissingRole struct {
	Policy  string `json:"policy"`
	Message string `json:"message"`
	Role    string `json:"role"` // YAML of one or several objects
}

// writeMissing writes missing permissions, each with the role that grants it and an empty line.
func writeMissing(w io.Writer, absent []rbac.Missing) {
	for _, m := range absent {
		said := rbac.Line(fmt.Sprintf("%s: %s; this role grants the permission:", m.Policy, m))
		fmt.Fprintf(w, "%s\n%s%s\n", said, rbac.Between, m.YAML())
	}
}
