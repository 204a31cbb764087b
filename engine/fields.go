// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"regexp"
	"slices"
	"strings"
)

// fields is the part of an object that an expression reads: a tree of paths. An expression may test whether a field in
// the tree is present. If the field is a list or a map, it may also read the fields below it. The length of a list is
// always readable.
type fields struct {
	below map[string]*fields // by name; anyField means every element of a list and every key of a map
	whole bool               // the field and everything below it
}

const anyField = "*"

// at returns the node of a field below f. It adds the node if it is missing.
func (f *fields) at(name string) *fields {
	if f.below == nil {
		f.below = map[string]*fields{}
	}
	n := f.below[name]
	if n == nil {
		n = &fields{}
		f.below[name] = n
	}
	return n
}

// path returns the node at the end of a path such as status.conditions.*.type.
func (f *fields) path(path string) *fields {
	for name := range strings.SplitSeq(path, ".") {
		f = f.at(name)
	}
	return f
}

// add makes f the union of both.
func (f *fields) add(other *fields) {
	f.whole = f.whole || other.whole
	for name, n := range other.below {
		f.at(name).add(n)
	}
}

// isEmpty reports whether the expression reads nothing.
func (f *fields) isEmpty() bool { return !f.whole && len(f.below) == 0 }

// count returns the size of the tree. It grows with every addition.
func (f *fields) count() int {
	n := 1
	if f.whole {
		n++
	}
	for _, below := range f.below {
		n += below.count()
	}
	return n
}

// within reports whether the expression reads only the named fields of the object.
func (f *fields) within(names ...string) bool { return !f.whole && len(f.outside(names...)) == 0 }

// outside returns the fields that the expression reads besides the named ones, sorted.
func (f *fields) outside(names ...string) []string {
	var others []string
	for name := range f.below {
		if !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return others
}

// paths lists the fields, sorted: "status.phase", "metadata.labels['app.kubernetes.io/name']"; "*" is the whole object.
func (f *fields) paths() []string {
	var out []string
	f.collect("", &out)
	slices.Sort(out)
	return out
}

func (f *fields) collect(prefix string, out *[]string) {
	switch {
	case f.whole && prefix == "":
		*out = append(*out, anyField)
	case f.whole, len(f.below) == 0 && prefix != "":
		*out = append(*out, prefix)
	default:
		for name, n := range f.below {
			n.collect(join(prefix, name), out)
		}
	}
}

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func join(prefix, name string) string {
	switch {
	case name != anyField && !identifier.MatchString(name):
		return prefix + "['" + name + "']"
	case prefix == "":
		return name
	default:
		return prefix + "." + name
	}
}
