// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// section is a list in the output.
type section struct {
	name    string
	len     int
	element func(i int) any
}

// sections returns the lists of a result. It has a diff only if a comparison was made.
func sections(r *Result) []section {
	all := []section{
		{"verdicts", len(r.Rows), func(i int) any { return r.Rows[i].Record() }},
		{"errors", len(r.Failures), func(i int) any { return r.Failures[i] }},
	}
	if r.Compared {
		all = append(all, section{"diff", len(r.Changes), func(i int) any { return r.Changes[i] }})
	}
	return all
}

// WriteJSON writes a result as one JSON object of kind Preview, with one decision on each line.
func WriteJSON(w io.Writer, r *Result) error {
	e := &encoder{w: w}
	kind := TypeMeta("Preview")
	e.printf("{\"apiVersion\": %q, \"kind\": %q, \"at\": %q", kind.APIVersion, kind.Kind, FormatTime(r.At))
	if r.Prices != nil {
		e.printf(", \"currency\": %q", r.Prices.Currency())
	}
	for _, s := range sections(r) {
		e.printf(", %q: [", s.name)
		for i := range s.len {
			e.element(i, s.element(i))
		}
		e.printf("%s]", e.end(s.len))
	}
	e.printf("}\n")
	return e.err
}

// encoder writes until the first error, and keeps that error.
type encoder struct {
	w   io.Writer
	err error
}

func (e *encoder) printf(format string, args ...any) {
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.w, format, args...)
	}
}

func (e *encoder) element(i int, value any) {
	data, err := marshal(value)
	if e.err == nil {
		e.err = err
	}
	separator := ",\n  "
	if i == 0 {
		separator = "\n  "
	}
	e.printf("%s%s", separator, data)
}

// marshal encodes JSON on one line. It does not escape < and >, which are common in expressions and messages.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSpace(b.Bytes()), err
}

// end returns the line end after the last element, if there is one.
func (e *encoder) end(elements int) string {
	if elements == 0 {
		return ""
	}
	return "\n"
}

// WriteYAML writes a result as one YAML document of kind Preview.
func WriteYAML(w io.Writer, r *Result) error {
	e := &encoder{w: w}
	kind := TypeMeta("Preview")
	e.printf("apiVersion: %s\nkind: %s\nat: %q\n", kind.APIVersion, kind.Kind, FormatTime(r.At))
	if r.Prices != nil {
		e.printf("currency: %q\n", r.Prices.Currency())
	}
	for _, s := range sections(r) {
		if s.len == 0 {
			e.printf("%s: []\n", s.name)
			continue
		}
		e.printf("%s:\n", s.name)
		for i := range s.len {
			e.item(s.element(i))
		}
	}
	return e.err
}

func (e *encoder) item(value any) {
	data, err := yaml.Marshal([]any{value})
	if e.err == nil {
		e.err = err
	}
	e.printf("%s", data)
}
