package command

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

// missingRights returns the permissions that the API server denies. It checks the account sunset, unless a permission names
// another account. It checks the permissions of a policy's ServiceAccount only in its namespace.
func missingRights(ctx context.Context, c *cluster.Cluster, sunset cluster.Account, needed []rbac.Permission) ([]rbac.Missing, error) {
	var all []rbac.Missing
	for _, right := range needed {
		who := sunset
		if right.Account != "" {
			who = cluster.Account{Namespace: right.Namespace, Name: right.Account}
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

func mayAll(ctx context.Context, c *cluster.Cluster, who cluster.Account, verb string, right rbac.Permission) (may bool, err error) {
	refused := slices.ContainsFunc(right.Resources, func(resource schema.GroupResource) bool {
		may, err = c.May(ctx, who, verb, resource, right.Namespace)
		return err != nil || !may
	})
	return !refused, err
}
