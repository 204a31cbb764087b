// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/policy/audit"
)

// WithKind returns an object with apiVersion and kind: those that it has, or these if it has none, as in the items of a list. All
// other bytes stay.
func WithKind(object json.RawMessage, apiVersion, kind string) (json.RawMessage, error) {
	h, err := readHeader(object)
	if err != nil {
		return nil, err
	}
	return h.complete(object, apiVersion, kind)
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
	if err := kjson.UnmarshalCaseSensitivePreserveInts(object, &h); err != nil {
		return h, fmt.Errorf("object is not valid JSON: %w", err)
	}
	return h, nil
}

// complete adds apiVersion and kind to an object and its header if they are absent.
func (h *header) complete(object json.RawMessage, apiVersion, kind string) (json.RawMessage, error) {
	add := map[string]string{}
	if h.APIVersion == "" {
		add["apiVersion"] = apiVersion
	}
	if h.Kind == "" {
		add["kind"] = kind
	}
	_, members, _ := bytes.Cut(object, []byte("{"))
	if members = bytes.TrimSpace(members); len(add) == 0 || len(members) < 2 { // null and {} have no fields
		return object, nil
	}
	h.APIVersion, h.Kind = cmp.Or(h.APIVersion, apiVersion), cmp.Or(h.Kind, kind)
	added, err := json.Marshal(add)
	if err != nil {
		return nil, err
	}
	return append(append(added[:len(added)-1], ','), members...), nil
}

func (h header) check() error {
	if h.APIVersion == "" || h.Kind == "" {
		return errors.New("object has no apiVersion or no kind")
	}
	return nil
}

func (h header) object() audit.Object {
	m := h.Metadata
	return audit.Object{APIVersion: h.APIVersion, Kind: h.Kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
}

// metaOf is the metadata of a record, without its place in a segment. h is the header of its object.
func metaOf(r Record, h header) (Meta, error) {
	if err := h.check(); err != nil {
		return Meta{}, err
	}
	m := Meta{Object: h.object(), Labels: h.Metadata.Labels, Policy: r.Policy, Rule: r.Rule, Due: r.Due, Reason: r.Reason,
		Outcome: r.Outcome, ArchivedAt: r.ArchivedAt}
	for i, dependent := range r.Dependents {
		d, err := readHeader(dependent)
		if err = errors.Join(err, d.check()); err != nil {
			return m, fmt.Errorf("dependent %d: %w", i, err)
		}
		m.Dependents = append(m.Dependents, d.object().GroupKind().String()+"/"+d.Metadata.Name)
	}
	return m, nil
}
