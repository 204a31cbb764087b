// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/engine/builtin"
	"github.com/sunset-k8s/sunset/policy"
)

// Table says what to read of the objects of each kind to answer what rules ask: with the built-in references and with the
// declarations of policies. It is immutable and safe for concurrent use. The zero value has no kinds.
type Table struct {
	kinds      []schema.GroupVersionKind
	rows       map[schema.GroupVersionKind]*Row
	undeclared references.Asked
}

// Refused is a declaration that cannot be used, and why. The declared references are unknown.
type Refused struct {
	references.Declared
	Err error
}

// UnknownAbout returns the kinds about which rules ask something that is unknown because the declaration was refused, sorted.
func (r Refused) UnknownAbout(asked references.Asked) []references.Kind {
	return references.InvalidReference{Of: references.KindOf(r.From.GroupKind()), To: r.To}.About(asked)
}

// NewTable compiles what rules ask about. The Table does not contain refused declarations.
func NewTable(c *engine.Compiler, declared []references.Declared, asked references.Asked) (*Table, []Refused) {
	t := &Table{rows: map[schema.GroupVersionKind]*Row{}, undeclared: references.Asked{}}
	var refused []Refused
	all := references.BuiltIn()
	builtIn := len(all)
	all = append(all, declared...)
	for i, d := range all {
		if err := t.add(c, d, asked, i >= builtIn); err != nil {
			refused = append(refused, Refused{Declared: d, Err: err})
		}
	}
	for _, d := range all {
		t.addSubjects(d, asked)
	}
	for _, d := range all {
		t.addTargets(c, d, asked)
	}
	t.kinds = slices.SortedFunc(maps.Keys(t.rows), func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	for _, r := range t.rows {
		r.sort()
	}
	known := references.Answered(all)
	for kind, relations := range asked {
		if missing := relations &^ known[kind]; missing != 0 {
			t.undeclared[kind] = missing
		}
	}
	return t, refused
}

var errShape = errors.New("from needs a version and a kind")

// add adds the column of a reference to the row of its kind.
func (t *Table) add(c *engine.Compiler, d references.Declared, asked references.Asked, declared bool) error {
	about := d.About(asked)
	if len(about) == 0 && !declared {
		return nil // declarations are compiled anyway, to report their errors
	}
	if d.From.Version == "" || d.From.Kind == "" {
		return errShape
	}
	to := d.To.GroupKind()
	column := column{use: names, kind: d.To, about: about, builtIn: !declared, scope: scopeOf(to)}
	field := "names"
	var problems []policy.Problem
	if d.Selector != "" {
		field, column.use = "selector", selects
		column.extractor, problems = c.SelectorExtractor(d.Selector, field)
	} else {
		column.extractor, problems = c.Extractor(d.Names, field)
	}
	if column.extractor == nil {
		return fmt.Errorf("%s", problems[0])
	}
	if isSecret(d.From) && !column.extractor.MetadataOnly() {
		return fmt.Errorf("%s reads more of a Secret than its metadata: %s", field, strings.Join(column.extractor.Reads(), ", "))
	}
	if !declared {
		column.extractor = column.extractor.Lenient()
	}
	if builtin.HasAnyName(to) {
		column.extractor = column.extractor.AnyName()
	}
	if len(about) > 0 {
		r := t.row(d.From)
		r.add(column)
		r.Declared = r.Declared || declared
	}
	return nil
}

func isSecret(kind schema.GroupVersionKind) bool { return kind.Group == "" && kind.Kind == "Secret" }

// addSubjects records that rules ask what the objects of a kind refer to or select.
func (t *Table) addSubjects(d references.Declared, asked references.Asked) {
	from := references.KindOf(d.From.GroupKind())
	if r := t.rows[d.From]; r != nil && slices.Contains(d.About(references.Asked{from: asked[from] &^ policy.AsksReferences}), from) {
		r.isSubject = true
		r.exists(from)
	}
}

// addTargets adds what rules need to know about the other objects: whether the targets of asked kinds exist, and the labels in
// which their selectors find objects.
func (t *Table) addTargets(c *engine.Compiler, d references.Declared, asked references.Asked) {
	from := references.KindOf(d.From.GroupKind())
	switch relations := asked[from]; {
	case t.rows[d.From] == nil: // refused, or nothing is asked
	case d.Selector == "" && !d.Possible && relations.Has(policy.AsksTargets):
		t.existing(d.To.GroupKind()).exists(from)
	case d.Selector != "" && relations.Has(policy.AsksSelected):
		t.addLabels(c, d.To.GroupKind(), from)
	}
}

// addLabels adds the labels in which selectors for a kind find objects.
func (t *Table) addLabels(c *engine.Compiler, of schema.GroupKind, about references.Kind) {
	all := []builtin.Labels{{Of: t.existing(of).Kind, As: of, Labels: "object.metadata.?labels.orValue({})"}}
	if of == builtin.Pod {
		all = builtin.PodLabels()
	}
	for _, l := range all {
		extractor, problems := c.LabelsExtractor(l.Labels, "labels")
		if extractor == nil {
			panic(problems[0]) // a bug: they are constants
		}
		t.row(l.Of).add(column{use: labelled, kind: references.KindOf(l.As), about: []references.Kind{about}, extractor: extractor.Lenient(), builtIn: true})
	}
}

func (t *Table) row(kind schema.GroupVersionKind) *Row {
	r := t.rows[kind]
	if r == nil {
		r = &Row{Kind: kind}
		t.rows[kind] = r
	}
	return r
}

// existing returns the row of all objects of a kind: the row that tells what they refer to, the built-in row, or one that is read at
// any version. Of several rows it is always the same.
func (t *Table) existing(kind schema.GroupKind) *Row {
	var subjects []*Row
	for _, r := range t.rows {
		if r.isSubject && r.Kind.GroupKind() == kind {
			subjects = append(subjects, r)
		}
	}
	builtIn := kind.WithVersion(builtin.VersionOf(kind))
	if len(subjects) == 0 || slices.ContainsFunc(subjects, func(r *Row) bool { return r.Kind == builtIn }) {
		return t.row(builtIn)
	}
	return slices.MinFunc(subjects, func(a, b *Row) int { return cmp.Compare(a.Kind.Version, b.Kind.Version) })
}

// Kinds returns the kinds to read, sorted. The slice is the caller's.
func (t *Table) Kinds() []schema.GroupVersionKind { return slices.Clone(t.kinds) }

// Row returns what to read of objects of a kind; nil if the kind is not in the Table.
func (t *Table) Row(kind schema.GroupVersionKind) *Row { return t.rows[kind] }

// Rows returns what to read of all kinds. Rows that read the same in the same way have the same key.
func (t *Table) Rows() map[string]*Row {
	rows := make(map[string]*Row, len(t.rows))
	for _, r := range t.rows {
		rows[r.key()] = r
	}
	return rows
}

// About returns the kinds that depend on the objects of a kind, sorted; nil if the kind is not in the Table.
func (t *Table) About(kind schema.GroupVersionKind) []references.Kind {
	if r := t.rows[kind]; r != nil {
		return r.About()
	}
	return nil
}

// Undeclared returns what is asked although neither Kubernetes nor a declaration tells it, refused declarations included. Callers must
// not change it.
func (t *Table) Undeclared() references.Asked { return t.undeclared }

// AnyVersion reports whether a kind can be read at any version. Built-in references are the same in all versions. A policy declares
// the references of one version.
func (t *Table) AnyVersion(kind schema.GroupVersionKind) bool {
	r := t.rows[kind]
	return r != nil && !r.Declared
}

// NewDecoder returns a Decoder of objects of a kind. It decodes what Read needs, or only the identity if the kind is not in the
// Table. It is for one goroutine at a time.
func (t *Table) NewDecoder(kind schema.GroupVersionKind) *engine.Decoder {
	if r := t.rows[kind]; r != nil {
		return r.NewDecoder()
	}
	return engine.NewReferrerDecoder()
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
