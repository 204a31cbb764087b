// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Check compares a policy with the known kinds and returns warnings in the words of the webhook. A rule of a RetentionPolicy
// for a cluster-scoped kind is wrong in every cluster, so Check adds a problem to the policy.
func (k *KnownKinds) Check(p *policy.Policy, programs map[string]*engine.Program) (warnings []policy.Problem) {
	for _, r := range p.Rules {
		if r.Kind.Kind == "" || r.OnNodes() {
			continue // a problem already; and the API server does not serve images
		}
		path := fmt.Sprintf("spec.rules[%d].target.kind", r.Index)
		switch found := k.find(r.Kind); {
		case found == nil:
			warnings = append(warnings, k.unknown(path, r.Kind)...)
		case p.Namespace != "" && !found.Namespaced:
			p.AddProblems(policy.InNoNamespace(path, r.Kind))
		case !r.Invalid() && programs[r.Key] != nil:
			for _, problem := range programs[r.Key].Check(k.schemas[r.Kind]()) {
				if !slices.Contains(warnings, problem) { // several rules use the same variables
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

// unknown warns of an unknown kind if it is probably a typing error. That needs a suggestion, and a group that is known or
// similar to a group with this kind. Other kinds may come from a CustomResourceDefinition, and many operators define their own
// Job or Service.
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

// plain returns a group in its common short form.
func plain(group string) string {
	if group == "" {
		return "core"
	}
	return strings.TrimSuffix(group, ".k8s.io")
}
