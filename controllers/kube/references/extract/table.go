// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/engine"
)

// Table says how objects of each kind refer to ConfigMaps and Secrets: with the built-in references and with the declarations of
// policies. It is immutable and safe for concurrent use. The zero value has no kinds.
type Table struct {
	kinds []schema.GroupVersionKind
	rows  map[schema.GroupVersionKind]*Row
}

// Row says how objects of one kind refer to ConfigMaps and Secrets.
type Row struct {
	Kind     schema.GroupVersionKind
	Declared bool // a policy declares some of its references; otherwise all are built in

	columns []column
}

// column is one expression that reads references.
type column struct {
	to        references.Kind
	extractor *engine.Extractor
	builtIn   bool
}

// Refused is a declaration that cannot be used, and why. The declared references are unknown.
type Refused struct {
	references.Declared
	Err error
}

// NewTable compiles the built-in referrers and the declared ones. The Table does not contain refused declarations.
func NewTable(c *engine.Compiler, declared []references.Declared) (*Table, []Refused) {
	t := &Table{rows: map[schema.GroupVersionKind]*Row{}}
	var refused []Refused
	builtIn := references.BuiltIn()
	for i, d := range slices.Concat(builtIn, declared) {
		if err := t.add(c, d, i >= len(builtIn)); err != nil {
			refused = append(refused, Refused{Declared: d, Err: err})
		}
	}
	slices.SortFunc(t.kinds, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	for _, r := range t.rows {
		slices.SortFunc(r.columns, func(a, b column) int {
			return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.extractor.Key(), b.extractor.Key()))
		})
	}
	return t, refused
}

var errShape = errors.New("from needs a version and a kind")

func (t *Table) add(c *engine.Compiler, d references.Declared, declared bool) error {
	switch {
	case d.From.Version == "" || d.From.Kind == "":
		return errShape
	case d.To != references.ConfigMap && d.To != references.Secret:
		return fmt.Errorf("to is %q, but must be ConfigMap or Secret", d.To)
	}
	extractor, problems := c.Extractor(d.Names, "names")
	if extractor == nil {
		return fmt.Errorf("%s", problems[0])
	}
	if isSecret(d.From) && !extractor.MetadataOnly() {
		return fmt.Errorf("names reads more of a Secret than its metadata: %s", strings.Join(extractor.Reads(), ", "))
	}
	if !declared {
		extractor = extractor.Lenient()
	}
	r := t.rows[d.From]
	if r == nil {
		r = &Row{Kind: d.From}
		t.rows[d.From] = r
		t.kinds = append(t.kinds, d.From)
	}
	same := func(have column) bool { return have.to == d.To && have.extractor.Key() == extractor.Key() }
	if !slices.ContainsFunc(r.columns, same) {
		r.columns = append(r.columns, column{d.To, extractor, !declared})
		r.Declared = r.Declared || declared
	}
	return nil
}

func isSecret(kind schema.GroupVersionKind) bool { return kind.Group == "" && kind.Kind == "Secret" }

// Kinds returns the kinds of referrers, sorted. The slice is the caller's.
func (t *Table) Kinds() []schema.GroupVersionKind { return slices.Clone(t.kinds) }

// To returns the kinds that objects of a kind may refer to, sorted; nil if the kind is not in the Table.
func (t *Table) To(kind schema.GroupVersionKind) []references.Kind {
	r := t.rows[kind]
	if r == nil {
		return nil
	}
	return r.To()
}

// To returns the kinds that objects of the kind may refer to.
func (r *Row) To() []references.Kind {
	var all []references.Kind
	for _, c := range r.columns {
		if !slices.Contains(all, c.to) {
			all = append(all, c.to)
		}
	}
	return all
}

// Rows returns how objects refer to some kinds. Rows that read the same references in the same way have the same key.
func (t *Table) Rows(kinds []references.Kind) map[string]*Row {
	rows := map[string]*Row{}
	for _, r := range t.rows {
		asked := &Row{Kind: r.Kind, Declared: r.Declared}
		key := []string{r.Kind.String(), strconv.FormatBool(r.Declared)}
		for _, c := range r.columns {
			if slices.Contains(kinds, c.to) {
				asked.columns = append(asked.columns, c)
				key = append(key, string(c.to), c.extractor.Key())
			}
		}
		if len(asked.columns) > 0 {
			rows[strings.Join(key, "\n")] = asked
		}
	}
	return rows
}

// MetadataOnly reports whether the metadata of an object is enough to read its references. For Secrets it always is.
func (r *Row) MetadataOnly() bool {
	return !slices.ContainsFunc(r.columns, func(c column) bool { return !c.extractor.MetadataOnly() })
}

// NewDecoder returns a Decoder of objects of a kind. It decodes what Read needs, or only the identity if the kind is not in the
// Table. It is for one goroutine at a time.
func (t *Table) NewDecoder(kind schema.GroupVersionKind) *engine.Decoder {
	if r := t.rows[kind]; r != nil {
		return r.NewDecoder()
	}
	return engine.NewReferrerDecoder()
}

// NewDecoder returns a Decoder of objects of the kind. It is for one goroutine at a time.
func (r *Row) NewDecoder() *engine.Decoder {
	extractors := make([]*engine.Extractor, len(r.columns))
	for i, c := range r.columns {
		extractors[i] = c.extractor
	}
	return engine.NewReferrerDecoder(extractors...)
}

// Read returns an object of a kind with its references, or without any if the kind is not in the Table. It does not change or
// keep the object.
func (t *Table) Read(e *engine.Evaluator, kind schema.GroupVersionKind, object map[string]any) references.Referrer {
	r := t.rows[kind]
	if r == nil {
		return Identify(kind, object)
	}
	return r.Read(e, object)
}

// Identify returns an object of a kind without its references.
func Identify(kind schema.GroupVersionKind, object map[string]any) references.Referrer {
	o := unstructured.Unstructured{Object: object}
	return references.Referrer{UID: o.GetUID(), Name: references.Name{Kind: kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}}
}

// Read returns an object with its references. After one error, all references to the kind are unknown.
func (r *Row) Read(e *engine.Evaluator, object map[string]any) references.Referrer {
	found := Identify(r.Kind, object)
	for _, c := range r.columns {
		targets, err := c.read(e, object, found.Name.Namespace)
		if err != nil {
			found = unread(found, c.to, err)
		}
		found.Targets = append(found.Targets, targets...)
	}
	if found.Err != nil {
		found.Targets = slices.DeleteFunc(found.Targets, func(t references.Target) bool { return slices.Contains(found.Unread, t.Kind) })
	}
	return found
}

// read returns the targets of an object in a namespace. If neither a reference nor the object has a namespace, a declared
// reference is an error. A built-in one counts as none, because it does not identify an object.
func (c *column) read(e *engine.Evaluator, object map[string]any, namespace string) ([]references.Target, error) {
	named, err := e.References(c.extractor, object)
	if err != nil {
		return nil, err
	}
	var targets []references.Target
	for _, n := range named {
		to := references.Target{Kind: c.to, Namespace: cmp.Or(n.Namespace, namespace), Name: n.Name}
		switch {
		case to.Namespace != "":
			targets = append(targets, to)
		case !c.builtIn:
			return nil, fmt.Errorf("the reference to %s %q has no namespace, and the referring object is cluster-scoped", c.to, n.Name)
		}
	}
	return targets, nil
}

// unread records that the references to a kind are unknown. Of several errors it keeps the first, but prefers a deadline, which a
// retry may meet.
func unread(r references.Referrer, to references.Kind, err error) references.Referrer {
	if r.Err == nil || errors.Is(err, engine.ErrDeadline) {
		r.Err = err
	}
	if !slices.Contains(r.Unread, to) {
		r.Unread = append(r.Unread, to)
	}
	return r
}

// AnyVersion reports whether the references of a kind can be read at any version. Built-in references are the same in all
// versions. A policy declares the references of one version.
func (t *Table) AnyVersion(kind schema.GroupVersionKind) bool {
	r := t.rows[kind]
	return r != nil && !r.Declared
}

// Row returns how objects of a kind refer to others; nil if the kind is not in the Table.
func (t *Table) Row(kind schema.GroupVersionKind) *Row { return t.rows[kind] }

// About returns the Table of the references to some kinds.
func (t *Table) About(kinds []references.Kind) *Table {
	narrow := &Table{rows: map[schema.GroupVersionKind]*Row{}}
	for _, r := range t.Rows(kinds) {
		narrow.rows[r.Kind] = r
	}
	for _, kind := range t.kinds {
		if narrow.rows[kind] != nil {
			narrow.kinds = append(narrow.kinds, kind)
		}
	}
	return narrow
}
