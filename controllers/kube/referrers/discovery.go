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
)

// discovery asks the API server what it serves. It remembers nothing: what was absent a moment ago may be there now.
type discovery struct{ client rest.Interface }

// served is where the API server serves a kind.
type served struct {
	kind     schema.GroupVersionKind // perhaps of another version than was asked for
	resource string
}

func (s *served) path() []string { return append(root(s.kind.GroupVersion()), s.resource) }

func (s *served) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: s.kind.Group, Resource: s.resource}
}

func (s *served) name() string { return s.groupResource().String() }

func root(gv schema.GroupVersion) []string {
	if gv.Group == "" {
		return []string{"/api", gv.Version}
	}
	return []string{"/apis", gv.Group, gv.Version}
}

// patience is how long an answer about what is served may take.
const patience = 10 * time.Second

// find gives where a kind is served; nil when the API server says that it does not have it: there is no such group, or each
// of its versions has answered and has no such kind. Anything else is an error, as the kind may be there.
//
// A kind that Kubernetes has is also read at another version than that of the table: where it refers to others it is the
// same in all. What a policy declares it declares of one version.
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
		return nil, fmt.Errorf("it is served as %s and not as %s, of which a policy says what it refers to: write the former in from.apiVersion",
			elsewhere.kind.GroupVersion(), kind.GroupVersion())
	}
	return nil, nil
}

// versions are those of the kind's group, the kind's own first.
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

// at looks for a kind in a version of its group.
func (d discovery) at(ctx context.Context, kind schema.GroupVersionKind) (*served, error) {
	var list metav1.APIResourceList
	there, err := d.get(ctx, &list, root(kind.GroupVersion())...)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return nil, fmt.Errorf("the API server lists %s and does not serve it", kind.GroupVersion())
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

// get reads a document; false when there is none.
func (d discovery) get(ctx context.Context, into any, path ...string) (bool, error) {
	data, err := listwatch.Body(d.client.Get().AbsPath(path...).SetHeader("Accept", listwatch.AcceptJSON).Do(ctx))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return false, fmt.Errorf("nobody knows whether it exists: %s: %w", strings.Join(path, "/"), err)
	}
	return true, nil
}
