package rights

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

// Asker says what accounts may do. *cluster.Cluster is one.
type Asker interface {
	May(ctx context.Context, who cluster.Account, verb string, resource schema.GroupResource, namespace string) (bool, error)
}

// Missing are those of the rights that are missing: of sunset where they are not of another account. A ServiceAccount is asked about in
// its namespace alone.
func Missing(ctx context.Context, a Asker, sunset cluster.Account, needed []rbac.Right) ([]rbac.Missing, error) {
	var all []rbac.Missing
	for _, right := range needed {
		who := sunset
		if right.Account != "" {
			who = cluster.Account{Namespace: right.Namespace, Name: right.Account}
		}
		missing := rbac.Missing{Right: right}
		for _, verb := range right.Verbs {
			may, err := mayAll(ctx, a, who, verb, right)
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

func mayAll(ctx context.Context, a Asker, who cluster.Account, verb string, right rbac.Right) (may bool, err error) {
	refused := slices.ContainsFunc(right.Resources, func(resource schema.GroupResource) bool {
		may, err = a.May(ctx, who, verb, resource, right.Namespace)
		return err != nil || !may
	})
	return !refused, err
}
