// SPDX-License-Identifier: Apache-2.0

package referrers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
)

// Endpoint says where the API server serves the objects of a kind of a Table.
type Endpoint struct {
	Path         []string
	MetadataOnly bool // the metadata is enough to read their references
}

// Find asks the API server where it serves a kind of a Table, possibly at another version. It returns nil if the API server
// says that it does not have the kind, or the Table does not have it. If this is unknown, it returns an error.
func Find(ctx context.Context, client rest.Interface, t *extract.Table, kind schema.GroupVersionKind) (*Endpoint, error) {
	r := t.Row(kind)
	if r == nil {
		return nil, nil
	}
	found, err := discovery{client}.find(ctx, kind, t.AnyVersion(kind))
	if err != nil || found == nil {
		return nil, err
	}
	return &Endpoint{Path: found.path(), MetadataOnly: r.MetadataOnly()}, nil
}
