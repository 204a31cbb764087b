package referrers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
)

// Place is where the API server serves the objects of a kind of a Table.
type Place struct {
	Path         []string
	MetadataOnly bool // that is enough to read what they refer to
}

// Find asks the API server where it serves a kind of the Table, perhaps at another version. It is nil where the API server
// says that it does not have the kind; in any doubt there is an error.
func (t *Table) Find(ctx context.Context, client rest.Interface, kind schema.GroupVersionKind) (*Place, error) {
	r := t.rows[kind]
	if r == nil {
		return nil, nil
	}
	found, err := discovery{client}.find(ctx, kind, t.AnyVersion(kind))
	if err != nil || found == nil {
		return nil, err
	}
	return &Place{Path: found.path(), MetadataOnly: r.metadataOnly()}, nil
}

// AnyVersion reports whether what objects of a kind refer to is read at any version: where it is Kubernetes that has the
// kind, it is the same in all. What a policy declares it declares of one version.
func (t *Table) AnyVersion(kind schema.GroupVersionKind) bool {
	r := t.rows[kind]
	return r != nil && !r.declared
}

// About is the Table of what refers to some kinds.
func (t *Table) About(kinds []references.Kind) *Table {
	narrow := &Table{rows: map[schema.GroupVersionKind]*row{}}
	for _, r := range t.about(kinds) {
		narrow.rows[r.kind] = r
	}
	for _, kind := range t.kinds {
		if narrow.rows[kind] != nil {
			narrow.kinds = append(narrow.kinds, kind)
		}
	}
	return narrow
}
