// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine/builtin"
	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// relations has the context variables about other objects.
var relations = map[contextVar]policy.Relations{
	referencesVar: policy.AsksReferences, targetsVar: policy.AsksTargets, selectedVar: policy.AsksSelected,
}

// isAbout reports whether rules about the target can read a variable about other objects: if Kubernetes has such references, or the
// policy declares them. Other policies may declare them for custom resources; if none does, the references are unknown.
func (r *Program) isAbout(x contextVar, declared []*policy.Reference) bool {
	kind := kindOf(r.source.rule.Target)
	switch {
	case r.images || kind.Group == "" && r.source.rule.Target.APIVersion != "v1":
		return false
	case !isOfKubernetes(kind.Group), slices.ContainsFunc(declared, func(d *policy.Reference) bool { return declares(d, x, kind) }):
		return true
	}
	return map[contextVar]func(schema.GroupKind) bool{referencesVar: builtin.IsReferred, targetsVar: builtin.Refers, selectedVar: builtin.Selects}[x](kind)
}

func declares(d *policy.Reference, x contextVar, kind schema.GroupKind) bool {
	switch x {
	case referencesVar:
		return d.Selector == "" && schema.ParseGroupKind(string(d.To)) == kind
	case targetsVar:
		return d.Selector == "" && d.From.GroupKind() == kind
	default:
		return d.Selector != "" && d.From.GroupKind() == kind
	}
}

func kindOf(t v1alpha1.Target) schema.GroupKind {
	return schema.GroupKind{Group: groupOf(t.APIVersion), Kind: t.Kind}
}

// isOfKubernetes reports whether a group belongs to Kubernetes, so that package builtin knows its references.
func isOfKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// misplaced returns the finding about a contextVar that the target does not have, with a hint what to write instead.
func (r *Program) misplaced(x contextVar, f diagnose.Finding) diagnose.Finding {
	const declare = "; to declare references of custom resources, write spec.references in this policy"
	target := r.source.rule.Target
	about := fmt.Sprintf(", not about %s %s", target.APIVersion, target.Kind)
	switch x {
	case nodeVar:
		f.Message, f.Hint = f.Message+"rules about images of nodes", "rules about other objects can read only the object"
		return f
	case referencesVar:
		f.Message, f.Hint = f.Message+"rules about objects that others refer to by name", "metadata.ownerReferences names the owners of an object"+declare
	case targetsVar:
		f.Message, f.Hint = f.Message+"rules about objects that refer to others by name", "metadata.ownerReferences names the owners of an object"+declare
	default:
		var kinds []string
		for _, kind := range builtin.SelectingKinds() {
			kinds = append(kinds, kind.String())
		}
		f.Message, f.Hint = f.Message+"rules about objects with a label selector", "these are "+strings.Join(kinds, ", ")+declare
	}
	f.Message += about
	if kind := r.nearly(); kind != "" {
		f.Hint = fmt.Sprintf("write target: {apiVersion: v1, kind: %s}", kind)
	}
	return f
}

// nearly returns the kind of the core group that the target was probably meant to be; empty for none.
func (r *Program) nearly() string {
	target := r.source.rule.Target
	if !slices.Contains([]string{"", "core"}, groupOf(target.APIVersion)) {
		return ""
	}
	var kinds []string
	for _, kind := range builtin.ReferredKinds() {
		if kind.Group == "" {
			kinds = append(kinds, kind.Kind)
		}
	}
	return policy.Closest(target.Kind, kinds)
}
