package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsjson "sigs.k8s.io/json"
)

// LineOf is the line in the file of a field of the item's object, such as spec.rules[0].ttl, or of the nearest field around
// it that is there. Of a field with lines of its own, such as an expression, line is the one that is asked for, or 0.
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

// node is the item as written; nil for JSON, and where it cannot be read.
func (i Item) node() *yaml.Node {
	var document yaml.Node
	if i.isJSON || yaml.Unmarshal(i.raw, &document) != nil || len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// step goes to the field or element with which a path starts. Of several fields that may be it, as a name can have dots,
// it is the longest, and of repeated ones the last.
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

// fields are the keys and values of a mapping, in the order of the file.
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

// Ambiguity is what decoding lets pass and whoever must understand every word asks for.
type Ambiguity struct {
	Path    string
	Tag     string // a value that starts with ! is not a value for YAML but a tag
	Comment string // what follows a value without quotes on its line, with its #; without a Tag or Comment the field stands twice
}

// Ambiguities finds fields that stand twice in one mapping, the later hiding the earlier, values that are tags, and values that a comment follows.
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
