// SPDX-License-Identifier: Apache-2.0

package load

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// builtinText lists the kinds of Kubernetes that can be listed, and the fields of their types. TestBuiltinKindsAreGenerated
// writes it, so that programs need not link the client library for it.
//
//go:embed builtin.txt
var builtinText string

// builtinTable is the parsed builtinText.
type builtinTable struct {
	version string // of Kubernetes, such as 1.37
	kinds   []builtinKind
	fields  map[string]string // the fields of each Go type, as NAME=TYPE
}

type builtinKind struct {
	schema.GroupVersionKind
	resource metav1.APIResource
	goType   string
}

// Types in builtinText that do not name a Go type.
const (
	anything     = "any"
	listOf       = "[]"
	mapOf        = "{}"
	withFormat   = ":" // between a type and its format, as in string:date-time
	metadataType = "meta/v1.ObjectMeta"
)

var builtins = sync.OnceValue(func() builtinTable {
	table := builtinTable{fields: map[string]string{}}
	for line := range strings.Lines(builtinText) {
		switch words := strings.Fields(line); words[0] {
		case "kubernetes":
			table.version = words[1]
		case "kind":
			gv, _ := schema.ParseGroupVersion(words[1])
			resource := metav1.APIResource{Name: words[3], Namespaced: words[4] == "namespaced", ShortNames: words[6:]}
			table.kinds = append(table.kinds, builtinKind{gv.WithKind(words[2]), resource, words[5]})
		case "type":
			_, rest, _ := strings.Cut(line, " ")
			name, fields, _ := strings.Cut(strings.TrimSpace(rest), " ")
			table.fields[name] = fields
		}
	}
	return table
})

// KubernetesVersion returns the Kubernetes version whose kinds BuiltinKinds knows, such as 1.37.
func KubernetesVersion() string { return builtins().version }

// schemaOf returns the JSON schema of a type: its fields and their types, as the API server publishes them. It accepts any
// value for a type that contains itself. within lists the types around the type.
func (b builtinTable) schemaOf(name string, within ...string) *spec.Schema {
	if element, ok := strings.CutPrefix(name, listOf); ok {
		return spec.ArrayProperty(b.schemaOf(element, within...))
	}
	if element, ok := strings.CutPrefix(name, mapOf); ok {
		return spec.MapProperty(b.schemaOf(element, within...))
	}
	fields, isStruct := b.fields[name]
	if name == anything || slices.Contains(within, name) {
		return &spec.Schema{}
	}
	if !isStruct {
		scalar, format, _ := strings.Cut(name, withFormat)
		s := typed(scalar)
		s.Format = format
		return &s
	}
	s := typed("object")
	s.Properties = map[string]spec.Schema{}
	within = append(slices.Clone(within), name)
	for field := range strings.FieldsSeq(fields) {
		name, of, _ := strings.Cut(field, "=")
		s.Properties[name] = *b.schemaOf(of, within...)
	}
	return &s
}

func typed(name string) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{name}}}
}
