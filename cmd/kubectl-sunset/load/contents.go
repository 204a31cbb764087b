// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Contents holds the objects of the files.
type Contents struct {
	Policies      []Policy
	Digests       []Policy                      // the RetentionDigests: names and problems only
	Archives      []Policy                      // the RetentionArchives: names and problems only
	Namespaces    map[string]policy.Namespace   // the Namespace objects
	Nodes         []engine.Node                 // the Node objects
	Images        bool                          // the other objects include images of nodes
	Others        int                           // number of objects that are not policies, without files of kustomize
	WithoutPolicy []string                      // arguments of validate that contain no policy; FindWithoutPolicy sets it
	Names         map[schema.GroupKind][]string // resources and short names of the kinds that CustomResourceDefinitions define

	// Unreadable is the errors of Read; a file that cannot be parsed further has one.
	Unreadable []*Error

	definitions []definition    // the CustomResourceDefinitions
	relevant    map[string]bool // files with a policy or a CustomResourceDefinition
}

// Read reads the files once and decodes every object, so that it finds every decoding error. It reports them in Unreadable, and
// continues.
func Read(files *Files, loader *Loader) (*Contents, error) {
	in := newContents()
	read := files.counted(func(item Item) error { return in.note(in.read(item, loader)) })
	for _, file := range files.files {
		if err := in.note(file.each(read)); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// note adds an error of parsing to Unreadable, and returns any other error.
func (in *Contents) note(err error) error {
	var at *Error
	if !errors.As(err, &at) {
		return err
	}
	in.Unreadable, in.relevant[at.File] = append(in.Unreadable, at), true
	return nil
}

// Skim reads the files once and decodes only objects that may be a policy or context of one: Namespaces, Nodes, ResourceQuotas
// and CustomResourceDefinitions. It decodes other items only until it has found an object; from then on, each counts as one. It
// returns the first error.
func Skim(files *Files, loader *Loader) (*Contents, error) {
	in := newContents()
	wanted := slices.Concat(mayBeNode, []string{v1alpha1.GroupVersion.Group + "/v", "RetentionPolicy", "Namespace", "ResourceQuota", "CustomResourceDefinition"})
	return in, files.Each(func(item Item) error {
		if item.Mentions(wanted...) {
			return in.read(item, loader)
		}
		if in.Others > 0 || item.mayHaveObject() {
			in.Others++
		}
		return nil
	})
}

func newContents() *Contents {
	return &Contents{Namespaces: map[string]policy.Namespace{}, Names: map[schema.GroupKind][]string{}, relevant: map[string]bool{}}
}

func (in *Contents) read(item Item, loader *Loader) error {
	objects, err := item.Objects()
	for _, object := range objects {
		in.add(item, object, loader)
	}
	return err
}

func (in *Contents) add(item Item, object map[string]any, loader *Loader) {
	if !IsPolicy(object) || isApprovalOrLedger(object) {
		if isObject(object) {
			in.Others++
		}
		in.addContext(object)
		if IsDefinition(object) {
			d := newDefinition(object)
			in.definitions, in.relevant[item.File] = append(in.definitions, d), true
			names := d.Spec.Names
			in.Names[schema.GroupKind{Group: d.Spec.Group, Kind: names.Kind}] = append(names.ShortNames, names.Plural, names.Singular)
		}
		return
	}
	in.relevant[item.File] = true
	p := Policy{File: item.File, Document: item.Document, Object: object, item: item}
	switch preview.KindOf(object) {
	case v1alpha1.RetentionDigestKind:
		p.Policy = loadDocument(object, checkDigest)
		in.Digests = append(in.Digests, p)
	case v1alpha1.RetentionArchiveKind:
		p.Policy = loadDocument(object, checkArchive)
		in.Archives = append(in.Archives, p)
	default:
		p.Policy, p.ignored = loader.Load(object), outsideNamespace(object)
		for _, slip := range item.Ambiguities() {
			p.addAmbiguity(slip)
		}
		in.Policies = append(in.Policies, p)
	}
}

// Documents returns everything that validate checks: policies, digests and archives.
func (in *Contents) Documents() []Policy {
	return slices.Concat(in.Policies, in.Digests, in.Archives)
}

// CheckNames adds a problem to each policy that has the name of an earlier policy: in any file, or only in its own file. Files
// that are alternatives may use the same names.
func (in *Contents) CheckNames(anyFile bool) {
	for i, p := range in.Policies {
		for _, before := range in.Policies[:i] {
			if before.Name == p.Name && p.Name != "" && (anyFile || before.File == p.File) {
				p.AddProblems(policy.Problem{Path: "metadata.name", Message: "the policy in " + before.Where() + " has the same name"})
				break
			}
		}
	}
}

// addContext stores what policies need of Namespaces, ResourceQuotas and Nodes, and notes whether there are images.
func (in *Contents) addContext(object map[string]any) {
	switch object["apiVersion"] {
	case "v1":
	case v1alpha1.ImageKind.GroupVersion().String():
		in.Images = true
		return
	default:
		return
	}
	switch object["kind"] {
	case "Namespace":
		name := NameOf(object)
		meta := preview.MetadataOf(object)
		set := preview.NameLabel(name)
		maps.Copy(set, textsOf(meta["labels"]))
		described := policy.NamespaceOf(set, textsOf(meta["annotations"]))
		described.Quotas = in.Namespaces[name].Quotas
		in.Namespaces[name] = described
	case "ResourceQuota":
		in.addQuota(object)
	case "Node":
		in.addNode(object)
	}
}

// addQuota stores the limits of a ResourceQuota for its namespace. A quota that cannot be read, or that has scopes, sets no
// limit.
func (in *Contents) addQuota(object map[string]any) {
	var quota struct {
		Metadata struct{ Namespace string }
		Spec     struct {
			Hard          map[string]resource.Quantity
			Scopes        []string
			ScopeSelector *struct{}
		}
	}
	data, err := json.Marshal(object)
	if err != nil || json.Unmarshal(data, &quota) != nil || len(quota.Spec.Scopes) > 0 || quota.Spec.ScopeSelector != nil {
		return
	}
	namespace := quota.Metadata.Namespace
	described, known := in.Namespaces[namespace]
	if !known {
		described.Labels = preview.NameLabel(namespace)
	}
	described.Quotas = policy.AddQuota(described.Quotas, quota.Spec.Hard)
	in.Namespaces[namespace] = described
}

// textsOf returns the string values of a map. It leaves out all others.
func textsOf(written any) map[string]string {
	texts := map[string]string{}
	fields, _ := written.(map[string]any)
	for key, value := range fields {
		if text, ok := value.(string); ok {
			texts[key] = text
		}
	}
	return texts
}

// Problems returns the number of problems of all policies and files.
func (in *Contents) Problems() int {
	n := len(in.Unreadable) + len(in.WithoutPolicy)
	for _, p := range in.Documents() {
		n += len(p.Problems)
	}
	return n
}

// Warnings returns the number of warnings of all policies.
func (in *Contents) Warnings() int {
	n := 0
	for _, p := range in.Policies {
		n += len(p.Warnings())
	}
	return n
}

// Enforce makes every policy act as if it were enforced, as preview does. Suspended policies stay suspended.
func (in *Contents) Enforce() {
	for i := range in.Policies {
		p := &in.Policies[i]
		if p.Mode == v1alpha1.Suspend {
			continue
		}
		p.WrittenAsDryRun = p.Mode == v1alpha1.DryRun || p.Mode == ""
		p.Mode = v1alpha1.Enforce
		for _, rule := range p.Rules {
			rule.Mode = v1alpha1.Enforce
		}
		for _, override := range p.Overrides {
			override.InForce = true
		}
	}
}

// Rules returns the policies without their positions in files.
func (in *Contents) Rules() []*policy.Policy {
	var all []*policy.Policy
	for _, p := range in.Policies {
		all = append(all, p.Policy)
	}
	return all
}

// KeepAbout removes the policies of the cluster that do not concern these kinds, together with their problems.
func (in *Contents) KeepAbout(kinds sets.Set[schema.GroupKind]) {
	about := in.about()
	in.Policies = slices.DeleteFunc(in.Policies, func(p Policy) bool {
		return p.File == "" && !about(p).HasAny(kinds.UnsortedList()...)
	})
}

// InFilesAbout returns the policies in files that concern a kind, and those whose kinds are unknown because they cannot be
// read.
func (in *Contents) InFilesAbout(kind schema.GroupKind) []Policy {
	about := in.about()
	return slices.DeleteFunc(slices.Clone(in.Policies), func(p Policy) bool {
		kinds := about(p)
		return p.File == "" || kinds.Len() > 0 && !kinds.HasAny(kind, schema.GroupKind{})
	})
}

// about returns the kinds that a policy concerns: the kinds of its rules, and of the rules that it overrides in its namespace.
func (in *Contents) about() func(Policy) sets.Set[schema.GroupKind] {
	targets := map[string]sets.Set[schema.GroupKind]{}
	for _, p := range in.Policies {
		targets[p.Name] = KindsOf(p.Policy)
	}
	return func(p Policy) sets.Set[schema.GroupKind] {
		kinds := KindsOf(p.Policy)
		for _, o := range p.Overrides {
			kinds = kinds.Union(targets[o.Policy])
		}
		return kinds
	}
}

// KindsOf returns the kinds of a policy's rules. For a policy that only declares references, it returns the kinds on both sides: rules
// about either may read the references.
func KindsOf(p *policy.Policy) sets.Set[schema.GroupKind] {
	kinds := sets.New[schema.GroupKind]()
	for _, rule := range p.Rules {
		kinds.Insert(policy.StoredAs(rule.Kind))
	}
	if len(p.Rules) > 0 {
		return kinds
	}
	for _, reference := range p.References {
		kinds.Insert(schema.ParseGroupKind(string(reference.To)), reference.From.GroupKind())
	}
	return kinds
}

// Namespaced returns a function that reports whether objects of a kind are in namespaces: of Kubernetes, or of a
// CustomResourceDefinition in the files. It reports false for other kinds.
func (in *Contents) Namespaced() func(schema.GroupKind) bool {
	namespaced := sets.New[schema.GroupKind]()
	for _, b := range builtins().kinds {
		if b.resource.Namespaced {
			namespaced.Insert(policy.StoredAs(b.GroupVersionKind))
		}
	}
	for _, d := range in.definitions {
		if d.Spec.Scope == "Namespaced" {
			namespaced.Insert(schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind})
		}
	}
	return namespaced.Has
}
