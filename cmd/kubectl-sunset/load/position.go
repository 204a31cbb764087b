// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsjson "sigs.k8s.io/json"
)

// LineOf returns the line in the file of a field of the item's object, such as spec.rules[0].ttl. If the field is missing, it
// returns the line of the nearest parent field. For a field with several lines, such as an expression, line is the line within
// it, or 0.
func (i Item) LineOf(path string, line int) int {
	at := i.node()
	if at == nil || child(at, "items") != nil {
		return i.Line
	}
	last := at.Line
	for at != nil && path != "" {
		var begins *yaml.Node
		if begins, at, path = step(at, path); begins != nil {
			last = begins.Line
		}
	}
	if at != nil && at.Style == yaml.LiteralStyle && line > 0 {
		last = at.Line + line
	}
	return i.Line + last - 1
}

// node returns the parsed item; nil for JSON, or if parsing fails.
func (i Item) node() *yaml.Node {
	var document yaml.Node
	if i.isJSON || yaml.Unmarshal(i.raw, &document) != nil || len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// step goes to the field or element at the beginning of a path. Because a name can contain dots, several fields may match: it
// takes the longest name, and of repeated fields the last.
func step(at *yaml.Node, path string) (begins, value *yaml.Node, rest string) {
	path = strings.TrimPrefix(path, ".")
	if at.Kind == yaml.SequenceNode {
		text, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if n, err := strconv.Atoi(text); err == nil && n < len(at.Content) {
			return at.Content[n], at.Content[n], rest
		}
		return nil, nil, ""
	}
	for key, of := range fields(at) {
		after, found := strings.CutPrefix(path, key.Value)
		if found && (after == "" || after[0] == '.' || after[0] == '[') && (begins == nil || len(key.Value) >= len(begins.Value)) {
			begins, value, rest = key, of, after
		}
	}
	return begins, value, rest
}

// fields iterates over the keys and values of a mapping, in the order of the file.
func fields(mapping *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if mapping.Kind != yaml.MappingNode {
			return
		}
		for pair := range slices.Chunk(mapping.Content, 2) {
			if !yield(pair[0], pair[1]) {
				return
			}
		}
	}
}

func child(mapping *yaml.Node, name string) *yaml.Node {
	for key, value := range fields(mapping) {
		if key.Value == name {
			return value
		}
	}
	return nil
}

// Ambiguity is a part of a file that the decoder accepts but that a strict reader must report.
type Ambiguity struct {
	Path    string
	Tag     string // the YAML tag, for a value that starts with !
	Comment string // the comment, with its #, after an unquoted value; without Tag and Comment, the field is repeated
}

// Ambiguities finds repeated fields, where the last value hides the others; values that are YAML tags; and values before a
// comment.
func (i Item) Ambiguities() []Ambiguity {
	var found []Ambiguity
	if i.isJSON {
		var value any
		strict, _ := sigsjson.UnmarshalStrict(i.raw, &value) // decoded already
		for _, err := range strict {
			if field, ok := err.(sigsjson.FieldError); ok {
				found = append(found, Ambiguity{Path: field.FieldPath()})
			}
		}
		return found
	}
	var walk func(at *yaml.Node, path string)
	walk = func(at *yaml.Node, path string) {
		if strings.HasPrefix(at.Tag, "!") && !strings.HasPrefix(at.Tag, "!!") {
			found = append(found, Ambiguity{Path: path, Tag: strings.TrimSpace(at.Tag + " " + at.Value)})
		}
		if at.Kind == yaml.ScalarNode && at.Style == 0 && at.LineComment != "" {
			found = append(found, Ambiguity{Path: path, Comment: at.LineComment})
		}
		seen := map[string]bool{}
		for key, value := range fields(at) {
			below := strings.TrimPrefix(path+"."+key.Value, ".")
			if seen[key.Value] {
				found = append(found, Ambiguity{Path: below})
			}
			seen[key.Value] = true
			walk(value, below)
		}
		if at.Kind == yaml.SequenceNode {
			for n, element := range at.Content {
				walk(element, fmt.Sprintf("%s[%d]", path, n))
			}
		}
	}
	if at := i.node(); at != nil {
		walk(at, "")
	}
	return found
}
