package referrers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
)

// Place is where the API server serves the objects of a kind of a Table.
type Place struct {
	Path         []string
	MetadataOnly bool // that is enough to read what they refer to
}

// Find asks the API server where it serves a kind of a Table, perhaps at another version. It is nil where the API server
// says that it does not have the kind; in any doubt there is an error.
func Find(ctx context.Context, client rest.Interface, t *extract.Table, kind schema.GroupVersionKind) (*Place, error) {
	r := t.Row(kind)
	if r == nil {
		return nil, nil
	}
	found, err := discovery{client}.find(ctx, kind, t.AnyVersion(kind))
	if err != nil || found == nil {
		return nil, err
	}
	return &Place{Path: found.path(), MetadataOnly: r.MetadataOnly()}, nil
}
