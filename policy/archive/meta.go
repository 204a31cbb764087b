// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/audit"
)

// WithKind returns a copy of an object with apiVersion and kind: those that it has, or these if it has no kind, as in the items of a
// list. All other bytes stay.
func WithKind(object json.RawMessage, of schema.GroupVersionKind) (json.RawMessage, error) {
	h, err := readHeader(object)
	if err != nil {
		return nil, err
	}
	apiVersion, kind := of.ToAPIVersionAndKind()
	begin, rest := h.complete(object, apiVersion, kind)
	return append(begin, rest...), nil
}

// header is what the metadata of a record has of an object.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace       string            `json:"namespace"`
		Name            string            `json:"name"`
		UID             types.UID         `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels"`
	} `json:"metadata"`
}

func readHeader(object json.RawMessage) (h header, err error) {
	if err := jsonv2.Unmarshal(object, &h, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return h, fmt.Errorf("object is not valid JSON: %w", err)
	}
	return h, nil
}

// complete adds apiVersion and kind to a header if its object has no kind. It returns the object with them in two parts.
func (h *header) complete(object json.RawMessage, apiVersion, kind string) (begin, rest []byte) {
	_, fields, _ := bytes.Cut(object, []byte("{"))
	if fields = bytes.TrimSpace(fields); h.Kind != "" || len(fields) < 2 { // null and {} have no fields
		return nil, bytes.TrimSpace(object)
	}
	h.APIVersion, h.Kind = apiVersion, kind
	return fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,`, apiVersion, kind), fields
}

func (h header) object() (audit.Object, error) {
	m := h.Metadata
	o := audit.Object{APIVersion: h.APIVersion, Kind: h.Kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	if o.APIVersion == "" || o.Kind == "" {
		return o, errors.New("object has no apiVersion or no kind")
	}
	return o, nil
}

// metaOf is the metadata of a record, without its place in a segment. h is the header of its object.
func metaOf(r Record, h header) (m Meta, err error) {
	m = Meta{Labels: h.Metadata.Labels, Policy: r.Policy, Rule: r.Rule, Due: r.Due, Reason: r.Reason, Outcome: r.Outcome, ArchivedAt: r.ArchivedAt}
	if m.Object, err = h.object(); err != nil {
		return m, err
	}
	for i, dependent := range r.Dependents {
		d, err := readHeader(dependent)
		o, kindErr := d.object()
		if err = errors.Join(err, kindErr); err != nil {
			return m, fmt.Errorf("dependent %d: %w", i, err)
		}
		m.Dependents = append(m.Dependents, o.GroupKind().String()+"/"+o.Name)
	}
	return m, nil
}
