// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Redacted replaces strings. Values of other types are removed.
const Redacted = "REDACTED"

// lastApplied leads to the annotation in which kubectl apply stores a copy of the object, as a string.
var lastApplied = []string{"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"}

// Apply redacts a document by all paths. It returns the texts of the paths that selected something, in the order of paths.
// Everything else keeps its bytes, except white space between tokens. The error is that document is not valid JSON; the caller must
// not let it leave the process then. The document is not changed.
func Apply(document json.RawMessage, paths []Path) (redacted json.RawMessage, matched []string, err error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, document); err != nil {
		return nil, nil, fmt.Errorf("redact: %w", err)
	}
	if len(paths) == 0 {
		return compact.Bytes(), nil, nil
	}
	w := &walker{in: compact.Bytes(), paths: paths, matched: make([]bool, len(paths))}
	start := make([]position, len(paths))
	for i := range start {
		start[i].path = i
	}
	w.value(start, 0)
	for i, p := range paths {
		if w.matched[i] {
			matched = append(matched, p.text)
		}
	}
	return w.out.Bytes(), matched, nil
}

// position says that the first steps of a path lead to a value.
type position struct{ path, steps int }

// walker copies a document that is valid and has no white space, without what paths select.
type walker struct {
	in      []byte
	at      int
	out     bytes.Buffer
	paths   []Path
	matched []bool
}

// value copies the value at w.at. applied is the number of fields of lastApplied that lead to it; -1 if other fields do.
func (w *walker) value(at []position, applied int) {
	switch c := w.in[w.at]; {
	case c == '{':
		w.object(at, applied)
	case c == '[':
		w.list(at)
	case c == '"' && applied == len(lastApplied):
		w.document(w.scalar())
	default:
		w.out.Write(w.scalar())
	}
}

func (w *walker) object(at []position, applied int) {
	w.token()
	for w.in[w.at] != '}' {
		w.skip(',')
		key := w.scalar()
		w.skip(':')
		var name string
		_ = json.Unmarshal(key, &name) // valid, as everything is
		next, selected := w.follow(at, func(s step) bool { return s.matchesField(name) })
		below := -1
		if 0 <= applied && applied < len(lastApplied) && lastApplied[applied] == name {
			below = applied + 1
		}
		w.member(key, next, selected, below)
	}
	w.token()
}

func (w *walker) list(at []position) {
	w.token()
	for i := 0; w.in[w.at] != ']'; i++ {
		w.skip(',')
		next, selected := w.follow(at, func(s step) bool { return s.matchesIndex(i) })
		w.member(nil, next, selected, -1)
	}
	w.token()
}

// member copies a field with its key, or an element of a list. If it is selected, a string is replaced, and another value is left
// out together with its key.
func (w *walker) member(key []byte, next []position, selected bool, applied int) {
	if selected && w.in[w.at] != '"' {
		w.ignore()
		return
	}
	if last := w.out.Bytes()[w.out.Len()-1]; last != '{' && last != '[' {
		w.out.WriteByte(',')
	}
	if key != nil {
		w.out.Write(key)
		w.out.WriteByte(':')
	}
	if selected {
		w.ignore()
		w.out.WriteString(`"` + Redacted + `"`)
		return
	}
	w.value(next, applied)
}

// follow returns the positions of paths at a child. selected is true if one of the paths ends there.
func (w *walker) follow(at []position, matches func(step) bool) (next []position, selected bool) {
	for _, p := range at {
		steps := w.paths[p.path].steps
		if p.steps >= len(steps) || !matches(steps[p.steps]) {
			continue
		}
		if p.steps+1 == len(steps) {
			selected, w.matched[p.path] = true, true
		}
		next = append(next, position{p.path, p.steps + 1})
	}
	return next, selected
}

// document redacts a document in a string. If it is not valid JSON, all of it is replaced.
func (w *walker) document(text []byte) {
	var document string
	_ = json.Unmarshal(text, &document) // valid, as everything is
	redacted, matched, err := Apply(json.RawMessage(document), w.paths)
	switch {
	case err != nil:
		w.out.WriteString(`"` + Redacted + `"`)
	case len(matched) == 0:
		w.out.Write(text)
	default:
		for i, p := range w.paths {
			w.matched[i] = w.matched[i] || slices.Contains(matched, p.text)
		}
		w.out.Write(quote(string(redacted)))
	}
}

func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string is always valid
	return bytes.TrimSpace(b.Bytes())
}

// token copies one byte.
func (w *walker) token() {
	w.out.WriteByte(w.in[w.at])
	w.at++
}

func (w *walker) skip(c byte) {
	if w.in[w.at] == c {
		w.at++
	}
}

// scalar returns the string, number or word at w.at, and moves behind it.
func (w *walker) scalar() []byte {
	start := w.at
	if w.in[start] != '"' {
		for w.at < len(w.in) && !bytes.ContainsRune([]byte(",]}"), rune(w.in[w.at])) {
			w.at++
		}
		return w.in[start:w.at]
	}
	for w.at++; w.in[w.at] != '"'; w.at++ {
		if w.in[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.in[start:w.at]
}

// ignore moves behind the value at w.at.
func (w *walker) ignore() {
	for depth := 0; ; {
		switch w.in[w.at] {
		case '{', '[':
			depth++
			w.at++
		case '}', ']':
			depth--
			w.at++
		case ',', ':':
			w.at++
		default:
			w.scalar()
		}
		if depth == 0 {
			return
		}
	}
}
