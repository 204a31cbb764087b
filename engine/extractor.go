// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

// Extractor is a compiled expression about how an object relates to others: its references by name, its label selector, or its
// labels. It is immutable and safe for concurrent use.
type Extractor struct {
	key     string
	program *program
	lenient bool // for built-in fields, which no policy declares
	anyName bool // the names are those of objects of RBAC, such as system:node
}

// Reference is a reference by name to another object.
type Reference struct {
	Namespace string // empty means the namespace of the referring object
	Name      string
}

// MaxReferences is how many references one Extractor may find in one object, unless it is lenient.
const MaxReferences = 1000

// Extractor compiles an expression that returns a list of names, or of maps with name and namespace. The problems are
// reported at path. The Extractor is nil if there are any.
func (c *Compiler) Extractor(names, path string) (*Extractor, []policy.Problem) {
	return c.extractor(names, naming, path)
}

// SelectorExtractor compiles an expression that returns a LabelSelector, as Extractor does.
func (c *Compiler) SelectorExtractor(selector, path string) (*Extractor, []policy.Problem) {
	return c.extractor(selector, selecting, path)
}

// LabelsExtractor compiles an expression that returns labels, as Extractor does.
func (c *Compiler) LabelsExtractor(labels, path string) (*Extractor, []policy.Problem) {
	return c.extractor(labels, labelling, path)
}

func (c *Compiler) extractor(text string, wants result, path string) (*Extractor, []policy.Problem) {
	if strings.TrimSpace(text) == "" {
		return nil, []policy.Problem{{Path: path, Message: "missing", Hint: wants.example()}}
	}
	compiled := c.expression(text, wants, c.scope(nil))
	if compiled.program == nil {
		return nil, diagnose.Problems(path, text, compiled.findings)
	}
	for _, at := range compiled.program.at {
		if at != nil {
			return nil, diagnose.Problems(path, text, []diagnose.Finding{at.onlyIn("rules", "expressions of references can read only object")})
		}
	}
	return &Extractor{key: digest("references", wants.field(), text), program: compiled.program}, nil
}

// Lenient returns an Extractor for built-in fields of Kubernetes. It has no limit on the number of references, because
// the size of the object limits it. It ignores invalid names: Kubernetes accepts them in these fields, but no object
// can have such a name. For any other Extractor an invalid name is an error, because the author of the declaration may
// have meant another part of the string.
func (x *Extractor) Lenient() *Extractor {
	lenient := *x
	lenient.lenient = true
	return &lenient
}

// AnyName returns an Extractor of names that are only segments of a path, as objects of RBAC have them: system:node, Admin.
func (x *Extractor) AnyName() *Extractor {
	own := *x
	own.anyName = true
	return &own
}

// Key identifies what the Extractor returns: Extractors with equal keys return the same references for every object.
func (x *Extractor) Key() string { return x.key }

// Reads lists the fields of the object that the Extractor reads, as Program.Reads does.
func (x *Extractor) Reads() []string { return x.program.fields.paths() }

// MetadataOnly reports whether the Extractor reads only metadata, apiVersion and kind, as Program.MetadataOnly does.
func (x *Extractor) MetadataOnly() bool {
	return x.program.fields.within("metadata", "apiVersion", "kind")
}

// References returns the references that one Extractor finds in an object. It neither changes the object nor keeps a
// reference to it. After an error the references of the object are unknown.
func (e *Evaluator) References(x *Extractor, object map[string]any) ([]Reference, error) {
	return extract(e, x, object, naming, func(v ref.Val) ([]Reference, error) { return e.toReferences(x, v) })
}

func extract[T any](e *Evaluator, x *Extractor, object map[string]any, wants result, read func(ref.Val) (T, error)) (found T, err error) {
	e.input.object, e.input.built, e.input.steps = visible(object), 0, 0
	defer func() { e.input.object = nil }()
	if err = e.begin(x.program.loops); err != nil {
		return found, e.shared(err)
	}
	if x.program.loops {
		defer e.end()
	}
	if found, err = evalAs(e, x.program, wants, read); err != nil {
		return found, e.shared(err)
	}
	return found, nil
}

// toReferences converts the result of names.
func (e *Evaluator) toReferences(x *Extractor, v ref.Val) ([]Reference, error) {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, unexpected(naming, v)
	}
	size, _ := list.Size().(types.Int)
	if size > MaxReferences && !x.lenient {
		return nil, fmt.Errorf("returned %d references; the limit is %d per object", size, MaxReferences)
	}
	found := make([]Reference, 0, size)
	for i := range size {
		r, err := toReference(list.Get(i))
		if err == nil && r.Name != "" && !x.lenient {
			err = r.check(x.anyName)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("element %d: %w", i, err)
		case r.Name == "", x.lenient && r.check(x.anyName) != nil:
		default:
			found = append(found, Reference{Namespace: e.intern(r.Namespace), Name: e.intern(r.Name)})
		}
	}
	return found, nil
}

// check returns an error if no object can have this name. It checks the length first: fields of built-in kinds may hold
// names of a megabyte, and regular expressions are slow.
func (r Reference) check(anyName bool) error {
	isName := func(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }
	if anyName {
		isName = func(name string) bool { return len(content.IsPathSegmentName(name)) == 0 }
	}
	switch {
	case len(r.Name) > validation.DNS1123SubdomainMaxLength || !isName(r.Name):
		return fmt.Errorf("no object can have the name %q", shorten(r.Name))
	case r.Namespace != "" && (len(r.Namespace) > validation.DNS1123LabelMaxLength || len(validation.IsDNS1123Label(r.Namespace)) > 0):
		return fmt.Errorf("no namespace can have the name %q", shorten(r.Namespace))
	}
	return nil
}

// toReference reads one element: a name, or a map with name and optionally namespace. An empty name refers to nothing.
// The strings may share memory with the object.
func toReference(v ref.Val) (r Reference, err error) {
	switch x := v.(type) {
	case types.String:
		return Reference{Name: string(x)}, nil
	case traits.Mapper:
		if x.Contains(types.String("name")) != types.True {
			return Reference{}, errNameless
		}
		if r.Name, err = textIn(x, "name"); err != nil {
			return Reference{}, err
		}
		r.Namespace, err = textIn(x, "namespace")
		return r, err
	}
	return Reference{}, unexpected(naming, v)
}

// errNameless is an error, unlike an empty name: the author may have meant another key.
var errNameless = errors.New("a map has no key name; for no reference, set name to ''")

// textIn reads a string of a map. An absent or null value is empty.
func textIn(m traits.Mapper, key string) (string, error) {
	switch v, _ := m.Find(types.String(key)); x := v.(type) {
	case nil, types.Null:
		return "", nil
	case types.String:
		return string(x), nil
	default:
		return "", fmt.Errorf("%s is %s, must be string", key, syntax.TypeName(x.Type().TypeName()))
	}
}
