// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Item is a part of a file that holds one object, or a list that cannot be split. It is not decoded yet, so that another
// goroutine can decode it.
type Item struct {
	File     string // as given on the command line; "stdin" for standard input
	Document int    // in the file, from 1
	Line     int    // in the file, from 1

	raw     []byte
	isJSON  bool
	kind    typeMeta         // from the list, for an item without apiVersion and kind
	lenient bool             // skip data that is not an object instead of returning an error
	objects []map[string]any // nil if the item is not decoded
}

type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// element returns the kind of a list's items without a kind of their own: a JobList holds Jobs.
func (t typeMeta) element() typeMeta {
	if kind := strings.TrimSuffix(t.Kind, "List"); kind != "" {
		return typeMeta{APIVersion: t.APIVersion, Kind: kind}
	}
	return typeMeta{}
}

// Mentions reports whether the item or its kind contains one of the words. It is much cheaper than decoding.
// It is always true for a decoded item, whose text is gone.
func (i Item) Mentions(words ...string) bool {
	if i.objects != nil {
		return true
	}
	for _, word := range words {
		if bytes.Contains(i.raw, []byte(word)) || strings.Contains(i.kind.APIVersion+" "+i.kind.Kind, word) {
			return true
		}
	}
	return false
}

// Objects decodes the item. It returns one object, the objects of a list, or none for a comment.
func (i Item) Objects() ([]map[string]any, error) {
	if i.objects != nil {
		return i.objects, nil
	}
	value, err := i.decode()
	if err != nil {
		return nil, err
	}
	switch object := value.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return i.flatten(object, i.kind)
	default:
		return i.notAnObject("not a Kubernetes object but a %s", shape(value))
	}
}

// mayHaveObject reports whether the item has an object, or cannot be decoded.
func (i Item) mayHaveObject() bool {
	objects, err := i.Objects()
	return err != nil || slices.ContainsFunc(objects, isObject)
}

// isObject reports whether a document is an object of a cluster: it has a name, and is not a file of kustomize.
func isObject(document map[string]any) bool {
	version, _ := document["apiVersion"].(string)
	return NameOf(document) != "" && !strings.HasPrefix(version, "kustomize.config.k8s.io/")
}

// decoded returns the item with its objects. It drops the text, unless the item is a policy, whose problems have positions.
func (i Item) decoded() (Item, error) {
	objects, err := i.Objects()
	i.objects = append([]map[string]any{}, objects...)
	if !slices.ContainsFunc(objects, IsPolicy) {
		i.raw = nil
	}
	return i, err
}

func (i Item) decode() (value any, err error) {
	text := i.raw
	if !i.isJSON {
		if text, err = yaml.YAMLToJSON(i.raw); err != nil {
			return nil, i.unreadable(err)
		}
	}
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(text, &value); err != nil {
		return nil, i.fail(err)
	}
	return value, nil
}

// flatten returns the object itself, or the objects of a list, including nested lists.
func (i Item) flatten(object map[string]any, kind typeMeta) ([]map[string]any, error) {
	own := typeMeta{}
	own.APIVersion, _ = object["apiVersion"].(string)
	own.Kind, _ = object["kind"].(string)
	value, isList := object["items"]
	items, ok := value.([]any)
	if !isList || !ok && value != nil {
		return i.single(object, own, kind)
	}
	var objects []map[string]any
	for n, entry := range items {
		element, ok := entry.(map[string]any)
		if !ok {
			return i.notAnObject("item %d of the list is not an object but a %s", n+1, shape(entry))
		}
		some, err := i.flatten(element, own.element())
		if err != nil {
			return nil, err
		}
		objects = append(objects, some...)
	}
	return objects, nil
}

func (i Item) single(object map[string]any, own, kind typeMeta) ([]map[string]any, error) {
	if own == (typeMeta{}) && kind != (typeMeta{}) {
		object["apiVersion"], object["kind"] = kind.APIVersion, kind.Kind
		own = kind
	}
	if _, isCrictl := object["images"].([]any); isCrictl && own == (typeMeta{}) {
		return i.notAnObject("not a Kubernetes object but the output of crictl images; use it with preview --images")
	}
	if own.APIVersion == "" || own.Kind == "" {
		return i.notAnObject("not a Kubernetes object: apiVersion or kind is missing")
	}
	return []map[string]any{object}, nil
}

// notAnObject returns an error, unless the file was found in a directory, which may hold other files too.
func (i Item) notAnObject(format string, args ...any) ([]map[string]any, error) {
	if i.lenient {
		return nil, nil
	}
	return nil, i.fail(fmt.Errorf(format, args...))
}

func shape(value any) string {
	switch value.(type) {
	case []any:
		return "list"
	case map[string]any:
		return "mapping"
	case string:
		return "text"
	case nil:
		return "null"
	default:
		return "number or boolean"
	}
}
