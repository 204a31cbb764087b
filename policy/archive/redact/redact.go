// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Redacted replaces strings. Values of other types are removed.
const Redacted = "REDACTED"

// Apply redacts a document by all paths. It returns the texts of the paths that selected something, in the order of paths.
// Everything else keeps its bytes, except white space between tokens. The error is that document is not valid JSON; the caller must
// not let it leave the process then. The document is not changed.
func Apply(document json.RawMessage, paths []Path) (redacted json.RawMessage, matched []string, err error) {
	if !json.Valid(document) {
		return nil, nil, errors.New("redact: the document is not valid JSON")
	}
	as := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true)}
	var out bytes.Buffer
	r := &redaction{in: jsontext.NewDecoder(bytes.NewReader(document), as...), out: jsontext.NewEncoder(&out, as...), matched: map[string]bool{}}
	if err := r.value(paths); err != nil {
		return nil, nil, fmt.Errorf("redact: %w", err)
	}
	for _, p := range paths {
		if r.matched[p.text] {
			matched = append(matched, p.text)
		}
	}
	return bytes.TrimSpace(out.Bytes()), matched, nil
}

// redaction copies a document without what paths select.
type redaction struct {
	in      *jsontext.Decoder
	out     *jsontext.Encoder
	matched map[string]bool // texts of paths
}

// value copies a value. paths lead from it to what is selected.
func (r *redaction) value(paths []Path) error {
	kind := r.in.PeekKind()
	if len(paths) == 0 || kind != jsontext.KindBeginObject && kind != jsontext.KindBeginArray {
		value, err := r.in.ReadValue()
		if err != nil {
			return err
		}
		return r.out.WriteValue(value)
	}
	if err := r.token(); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if end := r.in.PeekKind(); end == jsontext.KindEndObject || end == jsontext.KindEndArray {
			return r.token()
		}
		if err := r.child(paths, i, kind == jsontext.KindBeginObject); err != nil {
			return err
		}
	}
}

// token copies the begin or the end of an object or a list.
func (r *redaction) token() error {
	token, err := r.in.ReadToken()
	if err != nil {
		return err
	}
	return r.out.WriteToken(token)
}

// child copies a field with its name, or element i of a list. A path that selects it replaces a string, and leaves out another value
// together with its name.
func (r *redaction) child(paths []Path, i int, isField bool) error {
	name, key := fmt.Sprintf("[%d]", i), jsontext.Token{}
	if isField {
		token, err := r.in.ReadToken()
		if err != nil {
			return err
		}
		name, key = token.String(), token.Clone()
	}
	below, selected := r.follow(paths, name)
	if selected && r.in.PeekKind() != jsontext.KindString {
		return r.in.SkipValue()
	}
	if isField {
		if err := r.out.WriteToken(key); err != nil {
			return err
		}
	}
	if selected {
		return errors.Join(r.in.SkipValue(), r.out.WriteToken(jsontext.String(Redacted)))
	}
	return r.value(below)
}

// follow returns the rest of the paths that lead through a child. selected is true if one of them ends there.
func (r *redaction) follow(paths []Path, name string) (below []Path, selected bool) {
	for _, p := range paths {
		if len(p.steps) == 0 || !p.steps[0].matches(name) {
			continue
		}
		if len(p.steps) == 1 {
			selected, r.matched[p.text] = true, true
		}
		below = append(below, Path{text: p.text, steps: p.steps[1:]})
	}
	return below, selected
}
