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
	"github.com/sunset-k8s/sunset/engine/builtin"
)

// Row says what to read of the objects of one kind.
type Row struct {
	Kind     schema.GroupVersionKind
	Declared bool // a policy declares some of its references; otherwise all are built in

	isSubject bool              // rules ask what the objects refer to or select
	existsFor []references.Kind // kinds about which rules ask whether these objects exist, or what they refer to
	columns   []column
}

// column is one expression that is read of each object.
type column struct {
	use       use
	kind      references.Kind   // to which the names refer, that the selector selects, or as which the labels are found
	about     []references.Kind // kinds about which rules ask something that depends on it
	extractor *engine.Extractor
	builtIn   bool
	scope     scope
}

// scope says whether the objects of a kind have a namespace.
type scope int

const (
	anyScope scope = iota // it is unknown
	namespaced
	clusterScoped
)

func scopeOf(kind schema.GroupKind) scope {
	switch {
	case builtin.IsClusterScoped(kind):
		return clusterScoped
	case builtin.Referred.Has(kind):
		return namespaced
	}
	return anyScope
}

// use is what an expression returns.
type use int

const (
	names use = iota
	selects
	labelled
)

// add adds a column, or what depends on it if the row has the column.
func (r *Row) add(c column) {
	for i, have := range r.columns {
		if have.use == c.use && have.kind == c.kind && have.extractor.Key() == c.extractor.Key() {
			r.columns[i].about = union(have.about, c.about)
			return
		}
	}
	r.columns = append(r.columns, c)
}

// exists records that rules about a kind ask whether these objects exist.
func (r *Row) exists(about references.Kind) {
	r.existsFor = union(r.existsFor, []references.Kind{about})
}

func union(a, b []references.Kind) []references.Kind {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *Row) sort() {
	slices.SortFunc(r.columns, func(a, b column) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.use, b.use), cmp.Compare(a.extractor.Key(), b.extractor.Key()))
	})
}

// About returns the kinds that depend on the objects of the row, sorted.
func (r *Row) About() []references.Kind {
	all := r.existsFor
	for _, c := range r.columns {
		all = union(all, c.about)
	}
	return all
}

// key identifies what is read of which objects.
func (r *Row) key() string {
	parts := []string{r.Kind.String(), strconv.FormatBool(r.Declared), strconv.FormatBool(r.isSubject)}
	for _, kind := range r.About() {
		parts = append(parts, r.keyAbout(kind))
	}
	return strings.Join(parts, "\n")
}

// keyAbout identifies what is read because of rules about a kind.
func (r *Row) keyAbout(kind references.Kind) string {
	parts := []string{string(kind), strconv.FormatBool(slices.Contains(r.existsFor, kind))}
	for _, c := range r.columns {
		if slices.Contains(c.about, kind) {
			parts = append(parts, strconv.Itoa(int(c.use)), string(c.kind), c.extractor.Key())
		}
	}
	return strings.Join(parts, "\n")
}

// Since returns the kinds about which the row reads something else than an earlier row, sorted.
func (r *Row) Since(before *Row) (all []references.Kind) {
	for _, kind := range union(r.About(), before.About()) {
		if r.keyAbout(kind) != before.keyAbout(kind) {
			all = append(all, kind)
		}
	}
	return all
}

// MetadataOnly reports whether the metadata of an object is enough to read it. For Secrets it always is.
func (r *Row) MetadataOnly() bool {
	return !slices.ContainsFunc(r.columns, func(c column) bool { return !c.extractor.MetadataOnly() })
}

// NewDecoder returns a Decoder of objects of the kind. It is for one goroutine at a time.
func (r *Row) NewDecoder() *engine.Decoder {
	extractors := make([]*engine.Extractor, len(r.columns))
	for i, c := range r.columns {
		extractors[i] = c.extractor
	}
	return engine.NewReferrerDecoder(extractors...)
}

// Identify returns an object of a kind without its references.
func Identify(kind schema.GroupVersionKind, object map[string]any) references.Referrer {
	o := unstructured.Unstructured{Object: object}
	return references.Referrer{UID: o.GetUID(), Name: references.Name{Kind: kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}}
}

// Read returns an object with its references, and with what rules ask about the object itself. After one error, everything about
// the kinds that depend on it is unknown.
func (r *Row) Read(e *engine.Evaluator, object map[string]any) references.Referrer {
	found := Identify(r.Kind, object)
	var about references.Object
	if len(r.existsFor) > 0 {
		about.Kind = references.KindOf(r.Kind.GroupKind())
	}
	if r.isSubject {
		about.Version = cmp.Or((&unstructured.Unstructured{Object: object}).GetResourceVersion(), "none") // objects in files may have none
	}
	for _, c := range r.columns {
		if err := c.read(e, object, &found, &about); err != nil {
			found = unread(found, c.about, err)
		}
	}
	if found.Err != nil {
		found.Targets = slices.DeleteFunc(found.Targets, func(t references.Target) bool { return slices.Contains(found.Unread, t.Kind) })
	}
	if about.Kind != "" || len(about.Labels) > 0 {
		object := about // a copy, so that most objects need no memory for it
		found.Object = &object
	}
	return found
}

func (c *column) read(e *engine.Evaluator, object map[string]any, found *references.Referrer, about *references.Object) error {
	switch c.use {
	case selects:
		s, err := e.Selector(c.extractor, object)
		if err != nil || s == nil {
			return err
		}
		if found.Name.Namespace == "" {
			return errors.New("the selector of a cluster-scoped object cannot be evaluated")
		}
		about.Selectors = append(about.Selectors, references.Selector{To: c.kind, Labels: s})
	case labelled:
		labels, err := e.Labels(c.extractor, object)
		if err != nil {
			return err
		}
		about.Labels = append(about.Labels, references.Labels{As: c.kind, Text: labels.String()})
	default:
		targets, err := c.targets(e, object, found.Name.Namespace)
		found.Targets = append(found.Targets, targets...)
		return err
	}
	return nil
}

// targets returns the targets of an object in a namespace. If neither a reference nor the object has a namespace, a declared
// reference to a namespaced object is an error. A built-in one counts as none, because it does not identify an object.
func (c *column) targets(e *engine.Evaluator, object map[string]any, namespace string) ([]references.Target, error) {
	named, err := e.References(c.extractor, object)
	if err != nil {
		return nil, err
	}
	var targets []references.Target
	for _, n := range named {
		to := references.Target{Kind: c.kind, Namespace: cmp.Or(n.Namespace, namespace), Name: n.Name}
		switch {
		case c.scope == clusterScoped:
			to.Namespace = ""
		case c.scope == anyScope && n.Namespace == "" && namespace != "":
			targets = append(targets, references.Target{Kind: c.kind, Name: n.Name}) // the kind may be cluster-scoped
		case c.scope == namespaced && to.Namespace == "" && c.builtIn:
			continue
		case c.scope == namespaced && to.Namespace == "":
			return nil, fmt.Errorf("the reference to %s %q has no namespace, and the referring object is cluster-scoped", c.kind, n.Name)
		}
		targets = append(targets, to)
	}
	return targets, nil
}

// unread records that everything about some kinds is unknown. Of several errors it keeps the first, but prefers a deadline, which a
// retry may meet.
func unread(r references.Referrer, about []references.Kind, err error) references.Referrer {
	if r.Err == nil || errors.Is(err, engine.ErrDeadline) {
		r.Err = err
	}
	r.Unread = union(r.Unread, about)
	return r
}

// Referrers returns objects as rules see them. The slice is the caller's.
func Referrers(names []references.Name) []engine.Referrer {
	all := make([]engine.Referrer, len(names))
	for i, name := range names {
		all[i] = engine.Referrer(name)
	}
	return all
}
