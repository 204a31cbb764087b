package extract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/engine"
)

// Table is how objects of each kind refer to others: what Kubernetes has, and what policies declare. It is immutable and
// safe for concurrent use. The zero value is of no kind.
type Table struct {
	kinds []schema.GroupVersionKind
	rows  map[schema.GroupVersionKind]*Row
}

// Row is how objects of one kind refer to others.
type Row struct {
	Kind     schema.GroupVersionKind
	Declared bool // by some policy; otherwise it is Kubernetes that has it

	columns []column
}

// column is one way in which they do.
type column struct {
	to        references.Kind
	extractor *engine.Extractor
	builtIn   bool
}

// Refused is a declaration that cannot be used, and why. What it would name nobody knows.
type Refused struct {
	references.Declared
	Err error
}

// NewTable compiles the built-in referrers and what is declared beside them. Of what is refused the Table has nothing.
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

var errShape = errors.New("from has no version and kind")

func (t *Table) add(c *engine.Compiler, d references.Declared, declared bool) error {
	switch {
	case d.From.Version == "" || d.From.Kind == "":
		return errShape
	case d.To != references.ConfigMap && d.To != references.Secret:
		return fmt.Errorf("to is %q; only ConfigMaps and Secrets can be referred to", d.To)
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

// Kinds are the referring kinds, sorted. The slice is the caller's.
func (t *Table) Kinds() []schema.GroupVersionKind { return slices.Clone(t.kinds) }

// To is what objects of a kind may refer to, sorted; nil of a kind that is not in the Table.
func (t *Table) To(kind schema.GroupVersionKind) []references.Kind {
	r := t.rows[kind]
	if r == nil {
		return nil
	}
	return r.To()
}

// To is what objects of the kind may refer to.
func (r *Row) To() []references.Kind {
	var all []references.Kind
	for _, c := range r.columns {
		if !slices.Contains(all, c.to) {
			all = append(all, c.to)
		}
	}
	return all
}

// Rows gives how objects refer to some kinds, by a key that is the same for what is read in the same way.
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

// MetadataOnly reports whether the metadata of an object is enough to read what it refers to. More of a Secret is never read.
func (r *Row) MetadataOnly() bool {
	return !slices.ContainsFunc(r.columns, func(c column) bool { return !c.extractor.MetadataOnly() })
}

// NewDecoder makes a Decoder of objects of a kind, which reads of them what Read needs; of a kind that is not in the Table,
// who they are. It is for one goroutine at a time.
func (t *Table) NewDecoder(kind schema.GroupVersionKind) *engine.Decoder {
	if r := t.rows[kind]; r != nil {
		return r.NewDecoder()
	}
	return engine.NewReferrerDecoder()
}

// NewDecoder makes a Decoder of objects of the kind. It is for one goroutine at a time.
func (r *Row) NewDecoder() *engine.Decoder {
	extractors := make([]*engine.Extractor, len(r.columns))
	for i, c := range r.columns {
		extractors[i] = c.extractor
	}
	return engine.NewReferrerDecoder(extractors...)
}

// Read says what an object of a kind refers to; of a kind that is not in the Table, to nothing. The object is not changed and
// not held on to.
func (t *Table) Read(e *engine.Evaluator, kind schema.GroupVersionKind, object map[string]any) references.Referrer {
	r := t.rows[kind]
	if r == nil {
		return Identify(kind, object)
	}
	return r.Read(e, object)
}

// Identify gives an object of a kind, and nothing that it refers to.
func Identify(kind schema.GroupVersionKind, object map[string]any) references.Referrer {
	metadata, _ := object["metadata"].(map[string]any)
	name := references.Name{Kind: kind.Kind, Namespace: text(metadata, "namespace"), Name: text(metadata, "name")}
	return references.Referrer{UID: types.UID(text(metadata, "uid")), Name: name}
}

func text(metadata map[string]any, field string) string {
	s, _ := metadata[field].(string)
	return s
}

// Read says what an object refers to. One error is enough for nobody to know which objects of a kind.
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

// read says what an object in a namespace refers to in this way. A name without a namespace is an error, but in fields that
// Kubernetes knows: there it is nothing that anybody could find by it.
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
			return nil, fmt.Errorf("it names %s %q without a namespace, and has none itself", c.to, n.Name)
		}
	}
	return targets, nil
}

// unread notes that nobody knows which objects of a kind somebody refers to. Of several errors the first is told, but for a
// deadline: that may be met another time.
func unread(r references.Referrer, to references.Kind, err error) references.Referrer {
	if r.Err == nil || errors.Is(err, engine.ErrDeadline) {
		r.Err = err
	}
	if !slices.Contains(r.Unread, to) {
		r.Unread = append(r.Unread, to)
	}
	return r
}

// AnyVersion reports whether what objects of a kind refer to is read at any version: where it is Kubernetes that has the
// kind, it is the same in all. What a policy declares it declares of one version.
func (t *Table) AnyVersion(kind schema.GroupVersionKind) bool {
	r := t.rows[kind]
	return r != nil && !r.Declared
}

// Row is how objects of a kind refer to others; nil of a kind that is not in the Table.
func (t *Table) Row(kind schema.GroupVersionKind) *Row { return t.rows[kind] }

// About is the Table of what refers to some kinds.
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
