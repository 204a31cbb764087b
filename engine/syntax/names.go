// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"regexp"
	"strings"
)

// The variables that expressions can read.
const (
	ObjectVariable     = "object"
	NodeVariable       = "node"
	ReferencesVariable = "references"
	TargetsVariable    = "targets"
	SelectedVariable   = "selected"
	VariablesVariable  = "variables"
	RecordVariable     = "record"
)

// VariableName returns the name of a variable of a policy in CEL: variables.NAME.
func VariableName(name string) string { return VariablesVariable + "." + name }

// CutVariable returns NAME of a name variables.NAME; false for any other name.
func CutVariable(name string) (string, bool) { return strings.CutPrefix(name, VariablesVariable+".") }

var variableUse = regexp.MustCompile(`\b` + VariablesVariable + "\\s*\\.\\s*`?([a-zA-Z_][a-zA-Z0-9_]*)")

// VariablesIn returns each NAME that a text uses as variables.NAME, in the order of the text. It also finds uses inside
// strings, but none with a comment before or after the dot.
func VariablesIn(text string) []string {
	var names []string
	for _, match := range variableUse.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// NameStart returns where the name that ends at a position of a text begins. cel-go reports the parenthesis or the dot
// after a name as the position of a call or of a variable.
func NameStart(text []rune, at int) int {
	for at > 0 && isNameRune(text[at-1]) {
		at--
	}
	return at
}

func isNameRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// typeNames replaces names of CEL types with those in docs/reference/cel.md.
var typeNames = strings.NewReplacer("optional_type", "optional", "google.protobuf.Timestamp", "timestamp",
	"google.protobuf.Duration", "duration", "null_type", "null")

// dynamic matches the name of a type that is known only at run time. schemaPath matches the type of a part of an
// object.
var (
	dynamic    = regexp.MustCompile(`\bdyn\b`)
	schemaPath = regexp.MustCompile(`\b(?:object|node)(?:/[\w\[\]]+)+`)
)

// TypeName translates a CEL type, or a text of cel-go that contains types, to the names in docs/reference/cel.md.
func TypeName(s string) string {
	s = schemaPath.ReplaceAllStringFunc(typeNames.Replace(s), func(path string) string { return strings.ReplaceAll(path, "/", ".") })
	return dynamic.ReplaceAllString(s, "any")
}
