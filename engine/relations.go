// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/engine/builtin"
	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// relations has the context variables about other objects, and the kinds of Kubernetes that they are about.
var relations = map[contextVar]struct {
	asks  policy.Relations
	kinds sets.Set[schema.GroupKind]
}{
	referencesVar: {policy.AsksReferences, builtin.Referred},
	targetsVar:    {policy.AsksTargets, builtin.Referring},
	selectedVar:   {policy.AsksSelected, builtin.Selecting},
}

// isAbout reports whether rules about the target can read a variable about other objects: if Kubernetes has such references, or the
// policy declares them. Other policies may declare them for custom resources; if none does, the references are unknown.
func (r *Program) isAbout(x contextVar, declared []*policy.Reference) bool {
	target := r.source.rule.Target
	kind := schema.GroupKind{Group: groupOf(target.APIVersion), Kind: target.Kind}
	switch {
	case r.images || kind.Group == "" && target.APIVersion != "v1":
		return false
	case !isOfKubernetes(kind.Group), slices.ContainsFunc(declared, func(d *policy.Reference) bool { return declares(d, x, kind) }):
		return true
	}
	return relations[x].kinds.Has(kind)
}

// declares reports whether a declaration gives rules about a kind a variable.
func declares(d *policy.Reference, x contextVar, kind schema.GroupKind) bool {
	of := d.From.GroupKind()
	if x == referencesVar {
		of = schema.ParseGroupKind(string(d.To))
	}
	return of == kind && (d.Selector != "") == (x == selectedVar)
}

// isOfKubernetes reports whether a group belongs to Kubernetes, so that package builtin knows its references. The groups of projects
// such as kueue.x-k8s.io do not.
func isOfKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// misplaced returns the finding about a contextVar that the target does not have, with a hint what to write instead.
func (r *Program) misplaced(x contextVar, at *contextVarUse) diagnose.Finding {
	target, where, hint := r.source.rule.Target, contextVarInfo[x].where, contextVarInfo[x].hint
	switch {
	case x == nodeVar:
		return at.onlyIn(where, hint)
	case x == selectedVar:
		hint = "these are " + strings.Join(builtin.Names(builtin.Selecting), ", ") + hint
	}
	if kind := nearly(target); kind != "" {
		hint = fmt.Sprintf("write target: {apiVersion: v1, kind: %s}", kind)
	}
	return at.onlyIn(fmt.Sprintf("%s, not about %s %s", where, target.APIVersion, target.Kind), hint)
}

// nearly returns the kind of the core group that a target was probably meant to be; empty for none.
func nearly(target v1alpha1.Target) string {
	if !slices.Contains([]string{"", "core"}, groupOf(target.APIVersion)) {
		return ""
	}
	isGrouped := func(name string) bool { return strings.Contains(name, ".") }
	return policy.Closest(target.Kind, slices.DeleteFunc(builtin.Names(builtin.Referred), isGrouped))
}
