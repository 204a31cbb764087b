package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sunset-k8s/sunset/policy"
)

// Extractor is a compiled expression that names what an object refers to. It is immutable and safe for concurrent use.
type Extractor struct {
	key     string
	program *program
	lenient bool // of what is in no policy
}

// Reference is what an object refers to by name.
type Reference struct {
	Namespace string // empty means that of the object
	Name      string
}

// MaxReferences is how many references one object may have by one Extractor, unless that is lenient.
const MaxReferences = 1000

// Extractor compiles an expression that gives a list of names, or of maps with name and namespace. The path is where its
// problems are reported; it is nil if there are any.
func (c *Compiler) Extractor(names, path string) (*Extractor, []policy.Problem) {
	if strings.TrimSpace(names) == "" {
		return nil, []policy.Problem{{Path: path, Message: "missing", Hint: naming.example()}}
	}
	compiled := c.expression(names, naming, c.scope(nil))
	if compiled.program == nil {
		return nil, problemsAt(path, names, compiled.findings)
	}
	for _, at := range compiled.program.at {
		if at != nil {
			return nil, problemsAt(path, names, []finding{*at})
		}
	}
	return &Extractor{key: digest("references", names), program: compiled.program}, nil
}

// Lenient gives an Extractor for fields that Kubernetes knows. There the size of an object is bound enough, and a name that
// nothing can have is one that somebody may write and nobody can use: it refers to nothing. Of any other Extractor that is
// an error: whoever declared it may have meant another part of the text.
func (x *Extractor) Lenient() *Extractor {
	return &Extractor{key: x.key, program: x.program, lenient: true}
}

// Key names what the Extractor gives: two with equal keys give the same of every object.
func (x *Extractor) Key() string { return x.key }

// Reads lists the fields of the object that it reads, as Rule.Reads does.
func (x *Extractor) Reads() []string { return x.program.fields.paths() }

// MetadataOnly reports whether it reads no more than metadata, apiVersion and kind, as Rule.MetadataOnly does.
func (x *Extractor) MetadataOnly() bool {
	return x.program.fields.within("metadata", "apiVersion", "kind")
}

// References says what an object refers to, by one Extractor. The object is not changed and not held on to. An error means
// that nobody knows what it refers to.
func (e *Evaluator) References(x *Extractor, object map[string]any) ([]Reference, error) {
	e.input.object, e.input.built, e.input.steps = visible(object), 0, 0
	defer func() { e.input.object = nil }()
	if err := e.begin(x.program.loops); err != nil {
		return nil, e.shared(err)
	}
	if x.program.loops {
		defer e.end()
	}
	read := func(v ref.Val) ([]Reference, error) { return e.toReferences(x, v) }
	found, err := ask(e, x.program, naming, read)
	if err != nil {
		return nil, e.shared(err)
	}
	return found, nil
}

// toReferences reads what names gave.
func (e *Evaluator) toReferences(x *Extractor, v ref.Val) ([]Reference, error) {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, unexpected(naming, v)
	}
	size, _ := list.Size().(types.Int)
	if size > MaxReferences && !x.lenient {
		return nil, fmt.Errorf("gave %d references; an object has at most %d", size, MaxReferences)
	}
	found := make([]Reference, 0, size)
	for i := range size {
		r, err := toReference(list.Get(i))
		if err == nil && r.Name != "" && !x.lenient {
			err = r.check()
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("element %d: %w", i, err)
		case r.Name == "", x.lenient && r.check() != nil:
		default:
			found = append(found, Reference{Namespace: e.intern(r.Namespace), Name: e.intern(r.Name)})
		}
	}
	return found, nil
}

// check says why nothing can be called so. The length comes first: fields of built-in kinds may have names of a megabyte, and a regular
// expression takes its time.
func (r Reference) check() error {
	switch {
	case len(r.Name) > validation.DNS1123SubdomainMaxLength || len(validation.IsDNS1123Subdomain(r.Name)) > 0:
		return fmt.Errorf("nothing can be called %q", shorten(r.Name))
	case r.Namespace != "" && (len(r.Namespace) > validation.DNS1123LabelMaxLength || len(validation.IsDNS1123Label(r.Namespace)) > 0):
		return fmt.Errorf("no namespace can be called %q", shorten(r.Namespace))
	}
	return nil
}

// toReference reads one element: a name, or a map with name and perhaps namespace. An empty name refers to nothing. The texts may belong to
// the object.
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

// errNameless is not what an empty name is: another key may have been meant.
var errNameless = errors.New("a map without name; what refers to nothing has an empty one")

// textIn reads a text of a map; what is absent or null is empty.
func textIn(m traits.Mapper, key string) (string, error) {
	switch v, _ := m.Find(types.String(key)); x := v.(type) {
	case nil, types.Null:
		return "", nil
	case types.String:
		return string(x), nil
	default:
		return "", fmt.Errorf("%s is %s, wants string", key, typeName(x.Type().TypeName()))
	}
}
