package load

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Check compares a policy with what is known of kinds, and gives what may be wrong in the words of the webhook. A rule of a
// RetentionPolicy about a kind that is in no namespace is wrong in every cluster, and becomes a problem of the policy.
func (k *KnownKinds) Check(p *policy.Policy, programs map[string]*engine.Program) (warnings []policy.Problem) {
	for _, r := range p.Rules {
		if r.Kind.Kind == "" || r.OnNodes() {
			continue // said already; and images are of no API server
		}
		path := fmt.Sprintf("spec.rules[%d].target.kind", r.Index)
		switch found := k.find(r.Kind); {
		case found == nil:
			warnings = append(warnings, k.unknown(path, r.Kind)...)
		case p.Namespace != "" && !found.Namespaced:
			p.AddProblems(policy.InNoNamespace(path, r.Kind))
		case !r.Invalid() && programs[r.Key] != nil:
			for _, problem := range programs[r.Key].Check(k.schemas[r.Kind]()) {
				if !slices.Contains(warnings, problem) { // variables are of several rules
					warnings = append(warnings, problem)
				}
			}
		}
	}
	for i, reference := range p.References {
		if reference.From.Kind != "" && k.find(reference.From) == nil {
			warnings = append(warnings, k.unknown(fmt.Sprintf("spec.references[%d].from.kind", i), reference.From)...)
		}
	}
	return warnings
}

// unknown warns of a kind that is not known if it is probably a slip: there is a suggestion, and the group is a known one, or nearly
// one that has the kind. Other kinds may come from a CustomResourceDefinition, and many operators have a Job or Service of their own.
func (k *KnownKinds) unknown(path string, kind schema.GroupVersionKind) []policy.Problem {
	problem, guessed := policy.UnknownKind(path, kind, k.served)
	var groups []string
	for _, list := range k.served {
		gv, _ := schema.ParseGroupVersion(list.GroupVersion)
		if gv.Group == kind.Group || k.find(gv.WithKind(kind.Kind)) != nil {
			groups = append(groups, plain(gv.Group))
		}
	}
	if !guessed || policy.Closest(plain(kind.Group), groups) == "" {
		return nil
	}
	return []policy.Problem{problem}
}

// plain is a group as people remember it.
func plain(group string) string {
	if group == "" {
		return "core"
	}
	return strings.TrimSuffix(group, ".k8s.io")
}
