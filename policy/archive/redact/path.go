// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Path is a parsed path. It is immutable. The zero Path matches nothing.
type Path struct {
	text  string
	steps []step
}

// step leads from a value to some of its children: fields of an object or elements of a list.
type step struct {
	field string // if it is neither any nor an index
	any   bool
	index int // -1: no index
}

// identity are the fields without which a record does not say of which object it is.
var identity = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion"}

// Parse reads a path. The error says what is not supported.
func Parse(text string) (Path, error) {
	rest := strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(rest, "{"); ok {
		if rest, ok = strings.CutSuffix(inner, "}"); !ok {
			return Path{}, fmt.Errorf("path %q begins with { and does not end with }", text)
		}
	}
	rest = strings.TrimPrefix(rest, "$")
	p := Path{text: text}
	for rest != "" {
		s, tail, err := parseStep(rest, len(p.steps) == 0)
		if err != nil {
			return Path{}, fmt.Errorf("path %q: %w", text, err)
		}
		p.steps, rest = append(p.steps, s), tail
	}
	if len(p.steps) == 0 {
		return Path{}, fmt.Errorf("path %q selects the whole object; name a field, such as spec.containers[*].env[*].value", text)
	}
	for _, field := range identity {
		if p.covers(strings.Split(field, ".")) {
			return Path{}, fmt.Errorf("path %q selects %s, which a record needs to identify the object", text, field)
		}
	}
	return p, nil
}

// String is the text that was parsed.
func (p Path) String() string { return p.text }

// covers reports whether the path selects a field or one above it.
func (p Path) covers(fields []string) bool {
	if len(p.steps) > len(fields) {
		return false
	}
	for i, s := range p.steps {
		if !s.matchesField(fields[i]) {
			return false
		}
	}
	return true
}

func (s step) matchesField(name string) bool { return s.any || s.index < 0 && s.field == name }

func (s step) matchesIndex(i int) bool { return s.any || s.index == i }

func parseStep(text string, first bool) (s step, rest string, err error) {
	switch {
	case strings.HasPrefix(text, ".."):
		return s, "", errors.New(".. is not supported; name each field")
	case strings.HasPrefix(text, "["):
		return parseBracket(text[1:])
	case strings.HasPrefix(text, "."):
		text = text[1:]
	case !first:
		return s, "", fmt.Errorf("a dot or a bracket is missing before %q", text)
	}
	name, rest := cutName(text)
	switch {
	case name == "":
		return s, "", errors.New("a name is missing after a dot")
	case name == "*":
		return step{any: true, index: -1}, rest, nil
	case strings.ContainsAny(name, `*?@()"'{}]`):
		return s, "", fmt.Errorf("%q is not a name of a field; write ['NAME'] for one with special characters", name)
	}
	return step{field: name, index: -1}, rest, nil
}

// cutName cuts a name at the next dot or bracket. A backslash escapes a dot, as in kubectl.
func cutName(text string) (name, rest string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '.':
			i++
			b.WriteByte('.')
		case text[i] == '.' || text[i] == '[':
			return b.String(), text[i:]
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), ""
}

// parseBracket reads *], 3], 'name'] or "name"].
func parseBracket(text string) (s step, rest string, err error) {
	if text != "" && (text[0] == '\'' || text[0] == '"') {
		name, tail, ok := strings.Cut(text[1:], text[:1])
		if rest, closed := strings.CutPrefix(tail, "]"); ok && closed && name != "" {
			return step{field: name, index: -1}, rest, nil
		}
		return s, "", fmt.Errorf("the quoted name in [%s is empty or has no end", text)
	}
	inner, rest, ok := strings.Cut(text, "]")
	if !ok {
		return s, "", fmt.Errorf("[%s has no closing bracket", text)
	}
	if inner == "*" {
		return step{any: true, index: -1}, rest, nil
	}
	i, err := strconv.Atoi(inner)
	if err != nil || i < 0 {
		return s, "", fmt.Errorf("[%s] is not supported; write [*], [0] or ['name']", inner)
	}
	return step{index: i}, rest, nil
}

// ParseAll reads paths. The error names the first that is not valid.
func ParseAll(texts []string) ([]Path, error) {
	var paths []Path
	for _, text := range texts {
		p, err := Parse(text)
		if err != nil {
			return nil, err
		}
		paths = append(paths, p)
	}
	return slices.Clip(paths), nil
}
