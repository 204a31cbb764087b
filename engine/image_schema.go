package engine

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// aboutImages reports whether a target is images of nodes, at any version.
func aboutImages(target v1alpha1.Target) bool {
	return target.Kind == v1alpha1.ImageKind.Kind && groupOf(target.APIVersion) == v1alpha1.ImageKind.Group
}

// imageSchema has all fields of an image. Unlike the schema of a kind in a cluster it is never out of date: no image
// has a field that it does not have.
func imageSchema() *spec.Schema {
	text, flag, number := *spec.StringProperty(), *spec.BooleanProperty(), *spec.Int64Property()
	texts := *spec.ArrayProperty(&text)
	schema := record(map[string]spec.Schema{
		"apiVersion": text, "kind": text,
		"metadata": record(map[string]spec.Schema{"name": text}),
		"spec":     record(map[string]spec.Schema{"tags": texts, "digests": texts, "sizeBytes": number, "pinned": flag, "runtimeHandler": text}),
		"status":   record(map[string]spec.Schema{"firstSeen": text, "lastUsed": text, "unusedSince": text, "inUse": flag}),
	})
	return &schema
}

// nodeSchema has all fields of the variable node.
func nodeSchema() *spec.Schema {
	text, number := *spec.StringProperty(), *spec.Int64Property()
	schema := record(map[string]spec.Schema{
		"name": text, "labels": *spec.MapProperty(&text),
		"imageFs": record(map[string]spec.Schema{"usedBytes": number, "capacityBytes": number, "usedPercent": number}),
	})
	return &schema
}

func record(fields map[string]spec.Schema) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: fields}}
}

// misfits returns the problems of a rule about images: fields that no image or node has, fields that are read as
// another type, and functions that do not apply to images. The problems of a variable are reported where the rule uses
// it, because the variable may be valid in other rules.
func (r *Program) misfits(d *declared) []policy.Problem {
	typed := d.under("images", func(provider *schemaTypes) []cel.EnvOption {
		return []cel.EnvOption{
			cel.Variable(syntax.ObjectVariable, provider.typeOf(imageSchema(), syntax.ObjectVariable)),
			cel.Variable(syntax.NodeVariable, provider.typeOf(nodeSchema(), syntax.NodeVariable)),
			cel.Variable(syntax.ReferencesVariable, cel.DynType),
		}
	})
	if typed.err != nil {
		return []policy.Problem{{Path: r.source.path, Message: fmt.Sprintf("the schema of images cannot be used: %v", typed.err)}}
	}
	var problems []policy.Problem
	for _, e := range r.source.expressions() {
		_, findings := r.compiler.checked(e.text, e.wants, typed.scope)
		findings = append(r.compiler.unanswered(e.text), findings...)
		for _, v := range r.source.uses(e.text) {
			for _, f := range append(r.compiler.unanswered(v.Expression), typed.findings[v.Name]...) {
				findings = append(findings, finding{message: "variables." + v.Name + ": " + f.message, hint: f.hint, field: f.field, line: 1, column: 1})
			}
		}
		for i := range findings {
			findings[i] = aboutImageField(findings[i])
		}
		problems = append(problems, problemsAt(e.path(r.source.path), e.text, findings)...)
	}
	return problems
}

// uses returns the variables that a text uses, directly or through other variables, in the order of the policy.
func (s *source) uses(text string) []v1alpha1.Variable {
	var all []v1alpha1.Variable
	for _, v := range slices.Backward(s.variables) {
		if slices.Contains(syntax.VariablesIn(text), v.Name) {
			all = append(all, v)
			text += "\n" + v.Expression
		}
	}
	slices.Reverse(all)
	return all
}
