// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Referrers finds the references between objects for rules that read them.
type Referrers struct {
	compiler *engine.Compiler
	table    *extract.Table
	asked    references.Asked
	versions map[schema.GroupKind][]schema.GroupVersionKind // the versions at which kinds are read
	mixed    bool                                           // the feed contains other versions too
	unknown  []unknownSource
}

// Referrers returns nil if none of the rules reads references. References are those that Kubernetes defines, and those that the
// policies of the input declare.
func (in *Input) Referrers(rules []*policy.Rule) *Referrers {
	r := &Referrers{compiler: in.Compiler, asked: references.Asked{}, versions: map[schema.GroupKind][]schema.GroupVersionKind{}}
	for _, rule := range rules {
		if program := in.Programs[rule.Key]; program != nil && program.ReadsReferences() {
			r.asked[references.KindOf(rule.Kind.GroupKind())] |= program.Relations()
		}
	}
	if len(r.asked) == 0 {
		return nil
	}
	table, refused := extract.NewTable(in.Compiler, declared(in.Policies, references.ValidReferences), r.asked)
	for _, d := range refused {
		r.doubt(d.UnknownAbout(r.asked), fmt.Sprintf("the references of %s are unknown: %v", d.From.Kind, d.Err))
	}
	for _, m := range declared(in.Policies, references.InvalidReferences) {
		r.doubt(m.About(r.asked), fmt.Sprintf("%s is invalid: %s", m.From, m.Why))
	}
	r.table = table
	r.noteUndeclared(in.Policies)
	for _, kind := range r.table.Kinds() {
		stored := policy.StoredAs(kind)
		r.versions[stored] = append(r.versions[stored], kind)
	}
	return r
}

// noteUndeclared records what rules of some policies ask although nothing declares it.
func (r *Referrers) noteUndeclared(policies []*policy.Policy) {
	asked := references.Asked{}
	for _, p := range policies {
		asked.Add(p.Rules)
	}
	for _, kind := range r.table.Undeclared().Kinds() {
		missing := r.table.Undeclared()[kind] & asked[kind]
		isDoubted := func(s unknownSource) bool { return slices.Contains(s.about, kind) }
		if missing != 0 && !slices.ContainsFunc(r.unknown, isDoubted) {
			r.unknown = append(r.unknown, unknownSource{nil, Failure{Message: fmt.Sprintf("%s: %v", kind, missing.Undeclared())}})
		}
	}
}

// doubt records that the references about some kinds are unknown, and why.
func (r *Referrers) doubt(about []references.Kind, why string) {
	if len(about) > 0 {
		r.unknown = append(r.unknown, unknownSource{about, Failure{Message: why}})
	}
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
	r.doubt(r.table.About(kind), why.Error()+"; its references are unknown")
}

// Read reads the references of all objects of the feed. It returns an error of the feed, or of a batch that cannot be decoded.
// NoteUnreadable may be called until it returns.
func (r *Referrers) Read(ctx context.Context, feed Feed) (*Referred, error) {
	var readers []*reader
	err := distribute(ctx, r.compiler, feed, func(e *engine.Evaluator) objectFunc {
		one := &reader{Referrers: r, evaluator: e, found: map[references.SourceID]map[types.UID]references.Referrer{}, seen: sets.New[schema.GroupVersionKind]()}
		readers = append(readers, one)
		return one.read
	})
	if err != nil {
		return nil, err
	}
	known, unknown := &Referred{asked: r.asked, known: references.New(stopped{})}, slices.Clone(r.unknown)
	known.known.SetUndeclared(r.table.Undeclared())
	all := map[references.SourceID]map[types.UID]references.Referrer{}
	for _, one := range readers {
		unknown = append(unknown, one.unknown...)
		for source, found := range one.found {
			for _, referrer := range found {
				add(all, source, referrer)
			}
		}
	}
	for source, found := range all {
		known.known.Expect(source)
		known.known.Replace(source, slices.Collect(maps.Values(found)))
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
	found     map[references.SourceID]map[types.UID]references.Referrer
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
			found.Err, found.Unread = fmt.Errorf("the object is at version %s, but it is read at %s", is.GroupVersion(), kind.GroupVersion()), r.table.About(kind)
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
	found.Err = nil // it is among the unknown
	add(r.found, references.SourceID(kind.GroupKind().String()), found)
}

// add adds an object to those of its kind. Objects in files may have no UID. If an object is read at several versions, or is in the
// files twice, everything counts that was read of it.
func add(all map[references.SourceID]map[types.UID]references.Referrer, source references.SourceID, found references.Referrer) {
	if all[source] == nil {
		all[source] = map[types.UID]references.Referrer{}
	}
	found.UID = types.UID(found.Name.Namespace + "/" + found.Name.Name)
	before := all[source][found.UID]
	found.Targets = append(found.Targets, before.Targets...)
	found.Object = both(found.Object, before.Object)
	all[source][found.UID] = found
}

// both returns what two readings of an object say besides its references.
func both(a, b *references.Object) *references.Object {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	all := references.Object{
		Kind: cmp.Or(a.Kind, b.Kind), Version: cmp.Or(a.Version, b.Version),
		Selectors: slices.Clone(a.Selectors), Labels: slices.Clone(a.Labels),
	}
	for _, s := range b.Selectors {
		same := func(o references.Selector) bool { return o.To == s.To && o.Labels.String() == s.Labels.String() }
		if !slices.ContainsFunc(all.Selectors, same) {
			all.Selectors = append(all.Selectors, s)
		}
	}
	for _, l := range b.Labels {
		if !slices.Contains(all.Labels, l) {
			all.Labels = append(all.Labels, l)
		}
	}
	return &all
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
