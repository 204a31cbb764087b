// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

// Reference says how objects of a kind refer to objects of another kind: with Names or with Selector. It has the same form as the
// declarations of administrators for their own kinds.
type Reference struct {
	From schema.GroupVersionKind
	To   schema.GroupKind
	// Names is CEL -> list of names in the object's namespace, or of maps with name and namespace.
	Names string
	// Selector is CEL -> LabelSelector for objects in the object's namespace, or null to select nothing.
	Selector string
	// Possible says that the named objects need not exist.
	Possible bool
}

// Labels says which labels a selector for objects of the kind As finds in objects of the kind Of. Selectors for Pods also find
// Pod templates: a workload that is scaled to zero has no Pods for now.
type Labels struct {
	Of     schema.GroupVersionKind
	As     schema.GroupKind
	Labels string // CEL -> map of labels
}

// file is the form of references.yaml, which describes it.
type file struct {
	PodSpecs      []struct{ From, Spec, Labels string }
	ClusterScoped []string
	References    []entry
}

type entry struct {
	From, To                                 []string
	Names, Spec, Selector, List, At, Default string
	Possible                                 bool
}

//go:embed references.yaml
var text []byte

var table = func() (f file) {
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		panic(err) // a bug
	}
	return f
}()

var references = table.all()

// all returns each reference of the file.
func (f *file) all() (all []Reference) {
	for _, e := range f.References {
		for _, from := range e.From {
			for _, to := range e.To {
				if from != "PodSpec" {
					all = append(all, e.reference(from, to, e.Spec))
					continue
				}
				for _, in := range f.PodSpecs {
					all = append(all, e.reference(in.From, to, in.Spec))
				}
			}
		}
	}
	return all
}

func (e *entry) reference(from, to, spec string) Reference {
	r := Reference{From: kind(from), To: schema.ParseGroupKind(to), Selector: e.Selector, Possible: e.Possible}
	names := e.Names
	if e.List != "" {
		const named = `(%[1]s).map(r, r.?%[2]skind.orValue('%[3]s') == 'KIND', {'name': r.?%[2]sname.orValue(''), 'namespace': r.?%[2]snamespace.orValue('')})`
		names = fmt.Sprintf(named, e.List, e.At, e.Default)
	}
	r.Names = strings.NewReplacer("SPEC", spec, "KIND", r.To.Kind).Replace(names)
	return r
}

// kind parses an apiVersion and a kind.
func kind(text string) schema.GroupVersionKind {
	apiVersion, name, _ := strings.Cut(text, " ")
	return schema.FromAPIVersionAndKind(apiVersion, name)
}

// References returns all references. The slice is the caller's.
func References() []Reference { return slices.Clone(references) }

// Pod is the kind that the selectors of Kubernetes select.
var Pod = schema.GroupKind{Kind: "Pod"}

// PodLabels returns which labels a selector for Pods finds. The slice is the caller's.
func PodLabels() (all []Labels) {
	for _, of := range table.PodSpecs {
		if of.Labels != "" {
			all = append(all, Labels{kind(of.From), Pod, of.Labels})
		}
	}
	return all
}

// The kinds to which objects of Kubernetes refer by name, the kinds that refer to others by name, and the kinds with a label selector.
// Callers must not change them.
var Referred, Referring, Selecting = kindsOf(references)

func kindsOf(all []Reference) (referred, referring, selecting sets.Set[schema.GroupKind]) {
	referred, referring, selecting = sets.New[schema.GroupKind](), sets.New[schema.GroupKind](), sets.New[schema.GroupKind]()
	for _, r := range all {
		if r.Selector != "" {
			selecting.Insert(r.From.GroupKind())
			continue
		}
		referred.Insert(r.To)
		referring.Insert(r.From.GroupKind())
	}
	return referred, referring, selecting
}

var possible = func() map[schema.GroupKind]sets.Set[schema.GroupKind] {
	all := map[schema.GroupKind]sets.Set[schema.GroupKind]{}
	for _, r := range references {
		if from := r.From.GroupKind(); r.Possible {
			all[from] = all[from].Union(sets.New(r.To))
		}
	}
	return all
}()

// Possible returns the kinds of which objects of a kind name some that need not exist. Callers must not change it.
func Possible(from schema.GroupKind) sets.Set[schema.GroupKind] { return possible[from] }

// IsClusterScoped reports whether objects of a kind of Referred have no namespace.
func IsClusterScoped(kind schema.GroupKind) bool {
	return slices.Contains(table.ClusterScoped, kind.String())
}

// HasAnyName reports whether names of objects of a kind need not be domain names, as for objects of RBAC.
func HasAnyName(kind schema.GroupKind) bool { return kind.Group == "rbac.authorization.k8s.io" }

// Has reports whether some references from or to a kind are built in.
func Has(kind schema.GroupKind) bool {
	return Referred.Has(kind) || Referring.Has(kind) || Selecting.Has(kind)
}

// Names returns kinds as Kind or Kind.group, sorted.
func Names(kinds sets.Set[schema.GroupKind]) (names []string) {
	for kind := range kinds {
		names = append(names, kind.String())
	}
	slices.Sort(names)
	return names
}

// VersionOf returns the version at which objects of a kind are read; empty if it may be any.
func VersionOf(kind schema.GroupKind) string {
	for _, r := range references {
		if r.From.GroupKind() == kind {
			return r.From.Version
		}
	}
	if Referred.Has(kind) {
		return "v1"
	}
	return ""
}
