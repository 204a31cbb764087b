// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"fmt"
	"regexp"
	"strings"
)

// Path is a parsed path. It is immutable. The zero Path matches nothing.
type Path struct {
	text  string
	steps []step
}

// step leads from a value to some of its children.
type step struct {
	any  bool   // all fields of an object, or all elements of a list
	name string // of a field, or [N] for an element
}

// identity are the fields without which a record does not say of which object it is.
var identity = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion"}

// Copies are the paths of fields with copies of the values of others: managedFields has the values of sets and the keys of lists. If
// anything is redacted, they are too. Do not change it.
var Copies = []string{"metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']", "metadata.managedFields"}

// steps match the forms of a step: .NAME, .*, [*], [N], ['NAME'] and ["NAME"].
var steps = regexp.MustCompile(`^(?:\.([^.\[\]*?@$()"'{}\\]+)|(\.\*|\[\*\])|(\[\d+\])|\['([^']+)'\]|\["([^"]+)"\])`)

// Parse reads a path. The error says what is not supported.
func Parse(text string) (Path, error) {
	p := Path{text: text}
	rest := text
	if !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "[") {
		rest = "." + rest
	}
	for rest != "" {
		m := steps.FindStringSubmatch(rest)
		if m == nil {
			return Path{}, fmt.Errorf("path %q: %q is not supported; write .NAME, .*, [*], [0] or ['NAME'] for each step", text, rest)
		}
		p.steps = append(p.steps, step{any: m[2] != "", name: m[1] + m[3] + m[4] + m[5]})
		rest = rest[len(m[0]):]
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
		if !s.matches(fields[i]) {
			return false
		}
	}
	return true
}

func (s step) matches(name string) bool { return s.any || s.name == name }
