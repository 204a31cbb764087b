// SPDX-License-Identifier: Apache-2.0

package referrers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
)

// discovery asks the API server what it serves. It caches nothing: an absent kind may be installed at any time.
type discovery struct{ client rest.Interface }

// served says where the API server serves a kind.
type served struct {
	kind     schema.GroupVersionKind // possibly of another version than requested
	resource string
}

func (s *served) path() []string { return append(listwatch.Root(s.kind.GroupVersion()), s.resource) }

func (s *served) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: s.kind.Group, Resource: s.resource}
}

func (s *served) name() string { return s.groupResource().String() }

// patience limits how long the discovery of a kind may take.
const patience = 10 * time.Second

// find returns where a kind is served. It returns nil only if the API server says that it does not have the kind: the group
// does not exist, or each version of the group was read and does not have the kind. Anything else is an error, because the kind
// may exist.
//
// With anyVersion it may return another version than that of kind. Built-in kinds have the same references in all versions. A
// policy declares the references of one version.
func (d discovery) find(ctx context.Context, kind schema.GroupVersionKind, anyVersion bool) (*served, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	versions, err := d.versions(ctx, kind)
	if err != nil {
		return nil, err
	}
	var elsewhere *served
	for _, version := range versions {
		found, err := d.at(ctx, kind.GroupKind().WithVersion(version))
		switch {
		case err != nil:
			return nil, err
		case found == nil:
		case anyVersion || version == kind.Version:
			return found, nil
		case elsewhere == nil:
			elsewhere = found
		}
	}
	if elsewhere != nil {
		return nil, fmt.Errorf("the API server serves it as %[1]s, but a policy declares its references as %[2]s; set from.apiVersion to %[1]s",
			elsewhere.kind.GroupVersion(), kind.GroupVersion())
	}
	return nil, nil
}

// versions returns the versions of the kind's group, the version of kind first.
func (d discovery) versions(ctx context.Context, kind schema.GroupVersionKind) ([]string, error) {
	if kind.Group == "" {
		return []string{"v1"}, nil
	}
	var group metav1.APIGroup
	there, err := d.get(ctx, &group, "/apis", kind.Group)
	if err != nil || !there {
		return nil, err
	}
	var versions []string
	for _, v := range group.Versions {
		versions = append(versions, v.Version)
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("the API server lists no version of %s", kind.Group)
	}
	if i := slices.Index(versions, kind.Version); i > 0 {
		versions = append([]string{kind.Version}, slices.Delete(versions, i, i+1)...)
	}
	return versions, nil
}

// at looks up a kind in a version of its group.
func (d discovery) at(ctx context.Context, kind schema.GroupVersionKind) (*served, error) {
	var list metav1.APIResourceList
	there, err := d.get(ctx, &list, listwatch.Root(kind.GroupVersion())...)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return nil, fmt.Errorf("the API server lists %s but does not serve it", kind.GroupVersion())
	case list.GroupVersion != kind.GroupVersion().String():
		return nil, fmt.Errorf("the discovery document of %s is invalid", kind.GroupVersion())
	}
	var found *served
	for _, r := range list.APIResources {
		if r.Kind != kind.Kind || strings.Contains(r.Name, "/") {
			continue
		}
		if found != nil || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "watch") {
			return nil, fmt.Errorf("%s of %s cannot be listed and watched, or is served twice", r.Name, kind.GroupVersion())
		}
		found = &served{kind: kind, resource: r.Name}
	}
	return found, nil
}

// get reads a discovery document. It returns false if the document does not exist.
func (d discovery) get(ctx context.Context, into any, path ...string) (bool, error) {
	data, err := listwatch.Body(d.client.Get().AbsPath(path...).SetHeader("Accept", listwatch.AcceptJSON).Do(ctx))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return false, fmt.Errorf("cannot discover whether the kind exists: %s: %w", strings.Join(path, "/"), err)
	}
	return true, nil
}

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
