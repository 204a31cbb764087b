// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Referrers finds the references to ConfigMaps and Secrets for rules that read them.
type Referrers struct {
	compiler *engine.Compiler
	table    *extract.Table
	of       []references.Kind
	versions map[schema.GroupKind][]schema.GroupVersionKind // the versions at which referring kinds are read
	mixed    bool                                           // the feed contains other versions too
	unknown  []unknownSource
}

// Referrers returns nil if none of the rules reads references. References are those that Kubernetes defines, and those that the
// policies of the input declare.
func (in *Input) Referrers(rules []*policy.Rule) *Referrers {
	r := &Referrers{compiler: in.Compiler, versions: map[schema.GroupKind][]schema.GroupVersionKind{}}
	for _, rule := range rules {
		of := references.Kind(rule.Kind.Kind)
		if program := in.Programs[rule.Key]; program != nil && program.ReadsReferences() && !slices.Contains(r.of, of) {
			r.of = append(r.of, of)
		}
	}
	if len(r.of) == 0 {
		return nil
	}
	whole, refused := extract.NewTable(in.Compiler, declared(in.Policies, references.ValidReferences))
	for _, d := range refused {
		if slices.Contains(r.of, d.To) {
			r.unknown = append(r.unknown, unknownSource{[]references.Kind{d.To}, Failure{Message: fmt.Sprintf("the references of %s are unknown: %v", d.From.Kind, d.Err)}})
		}
	}
	for _, m := range declared(in.Policies, references.InvalidReferences) {
		if slices.ContainsFunc(m.Kinds(), func(k references.Kind) bool { return slices.Contains(r.of, k) }) {
			r.unknown = append(r.unknown, unknownSource{m.Kinds(), Failure{Message: fmt.Sprintf("%s is invalid: %s", m.From, m.Why)}})
		}
	}
	r.table = whole.About(r.of)
	for _, kind := range r.table.Kinds() {
		stored := policy.StoredAs(kind)
		r.versions[stored] = append(r.versions[stored], kind)
	}
	return r
}

// FindReferred finds the references in all objects of the feed, if rules of the input read them.
func (in *Input) FindReferred(ctx context.Context, feed Feed) error {
	r := in.Referrers(in.rules())
	if r == nil {
		return nil
	}
	r.mixed = true
	known, err := r.Read(ctx, feed)
	in.Referred = known
	return err
}

// rules returns the rules for the kinds of the input.
func (in *Input) rules() []*policy.Rule {
	var rules []*policy.Rule
	for _, p := range in.Policies {
		for _, rule := range p.Rules {
			if in.Kinds == nil || in.Kinds.Has(policy.StoredAs(rule.Kind)) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// Table describes where referring kinds contain references.
func (r *Referrers) Table() *extract.Table { return r.table }

// NoteUnreadable records that the objects of a kind are unknown, and why.
func (r *Referrers) NoteUnreadable(kind schema.GroupVersionKind, why error) {
	r.unknown = append(r.unknown, unknownSource{r.table.To(kind), Failure{Message: why.Error() + "; its references are unknown"}})
}

// Read reads the references of all objects of the feed. It returns an error of the feed, or of a batch that cannot be decoded.
// NoteUnreadable may be called until it returns.
func (r *Referrers) Read(ctx context.Context, feed Feed) (*Referred, error) {
	var readers []*reader
	err := distribute(ctx, r.compiler, feed, func(e *engine.Evaluator) objectFunc {
		one := &reader{Referrers: r, evaluator: e, by: map[references.Target][]Referrer{}, seen: sets.New[schema.GroupVersionKind]()}
		readers = append(readers, one)
		return one.read
	})
	if err != nil {
		return nil, err
	}
	known, unknown := &Referred{of: r.of, by: map[references.Target][]Referrer{}}, slices.Clone(r.unknown)
	for _, one := range readers {
		unknown = append(unknown, one.unknown...)
		for target, by := range one.by {
			known.by[target] = append(known.by[target], by...)
		}
	}
	for target, by := range known.by {
		slices.SortFunc(by, Referrer.compare)
		known.by[target] = slices.Compact(by)
	}
	known.summarize(unknown)
	for _, kind := range r.table.Kinds() {
		isSeen := slices.ContainsFunc(readers, func(one *reader) bool { return one.seen.Has(kind) })
		if !isSeen && !r.table.AnyVersion(kind) {
			known.unseen = append(known.unseen, kind)
		}
	}
	return known, nil
}

// reader reads references in one goroutine.
type reader struct {
	*Referrers
	evaluator *engine.Evaluator
	by        map[references.Target][]Referrer
	unknown   []unknownSource
	seen      sets.Set[schema.GroupVersionKind]
}

// read records the references of an object.
func (r *reader) read(object map[string]any) {
	is := KindOf(object)
	for _, kind := range r.versions[policy.StoredAs(is)] {
		if is != kind && !r.mixed {
			continue
		}
		r.seen.Insert(kind)
		found := r.table.Read(r.evaluator, kind, object)
		if is != kind && !r.table.AnyVersion(kind) {
			found.Err, found.Unread = fmt.Errorf("the object is at version %s, but it is read at %s", is.GroupVersion(), kind.GroupVersion()), r.table.To(kind)
			found.Targets = nil
		}
		r.note(kind, found)
	}
}

// note records the references of one object.
func (r *reader) note(kind schema.GroupVersionKind, found references.Referrer) {
	if found.Err != nil {
		r.unknown = append(r.unknown, unknownSource{found.Unread, Failure{
			Namespace: found.Name.Namespace, Name: found.Name.Name,
			Message: fmt.Sprintf("the references of this %s are unknown: %v", kind.Kind, found.Err),
		}})
	}
	from := Referrer{Kind: kind.GroupKind(), Namespace: found.Name.Namespace, Name: found.Name.Name}
	for _, target := range found.Targets {
		r.by[target] = append(r.by[target], from)
	}
}

// SameDeclarations reports whether two sets of policies declare the same references.
func SameDeclarations(some, others []*policy.Policy) bool {
	return sets.New(declared(some, references.ValidReferences)...).Equal(sets.New(declared(others, references.ValidReferences)...)) &&
		sets.New(declared(some, references.InvalidReferences)...).Equal(sets.New(declared(others, references.InvalidReferences)...))
}

// declared returns the declarations of all policies.
func declared[T any](policies []*policy.Policy, by func(*policy.Policy) []T) (all []T) {
	for _, p := range policies {
		all = append(all, by(p)...)
	}
	return all
}
