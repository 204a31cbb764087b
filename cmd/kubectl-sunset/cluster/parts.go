package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/stream"
	"github.com/sunset-k8s/sunset/engine"
)

// Parts is some objects of a kind that are not decoded yet, and of which no more will be than a Decoder reads.
type Parts struct {
	kind    schema.GroupVersionKind
	decoder func() *engine.Decoder
	items   []json.RawMessage
}

// Objects decodes them.
func (p *Parts) Objects() ([]map[string]any, error) {
	decoder, objects := p.decoder(), make([]map[string]any, len(p.items))
	for i, item := range p.items {
		object, err := decoder.Decode(item)
		if err != nil {
			return nil, fmt.Errorf("read a %s: %w", p.kind.Kind, err)
		}
		object["apiVersion"], object["kind"] = p.kind.GroupVersion().String(), p.kind.Kind
		objects[i] = object
	}
	return objects, nil
}

// EachPart gives all objects of a kind page by page. It stops at the first error: a *ListError, or what yield gave.
func (c *Cluster) EachPart(ctx context.Context, kind schema.GroupVersionKind, decoder func() *engine.Decoder, yield func(*Parts) error) error {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return &ListError{kind, err}
	}
	var refused error
	err = pages(ctx, metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
		parts, next, err := c.parts(ctx, mapping.Resource, kind, options)
		if err != nil {
			return "", err
		}
		parts.decoder = decoder
		refused = yield(parts)
		return next, refused
	})
	if err != nil && refused == nil && ctx.Err() == nil {
		return &ListError{kind, err}
	}
	return err
}

// acceptMetadataList is how a list without the content of its objects is asked for.
const acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// parts reads a page, of Secrets nothing but metadata.
func (c *Cluster) parts(ctx context.Context, r schema.GroupVersionResource, kind schema.GroupVersionKind, options metav1.ListOptions) (*Parts, string, error) {
	accept := stream.AcceptJSON
	if isSecret(kind.GroupKind()) {
		accept = acceptMetadataList
	}
	data, err := c.kinds.RESTClient().Get().AbsPath(pathOf(r)).SetHeader("Accept", accept).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, metav1.SchemeGroupVersion).DoRaw(ctx)
	if err != nil {
		return nil, "", err
	}
	var list struct {
		Metadata metav1.ListMeta
		Items    []json.RawMessage
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, "", err
	}
	return &Parts{kind: kind, items: list.Items}, list.Metadata.Continue, nil
}

func pathOf(r schema.GroupVersionResource) string {
	if r.Group == "" {
		return path.Join("/api", r.Version, r.Resource)
	}
	return path.Join("/apis", r.Group, r.Version, r.Resource)
}
