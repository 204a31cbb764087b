// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/engine/openapi"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	imageFieldsHint = "object has metadata.name, spec.tags, .digests, .sizeBytes, .pinned, .runtimeHandler and status.firstSeen, " +
		".lastUsed, .unusedSince, .inUse; node has name, labels and imageFs.usedBytes, .capacityBytes, .usedPercent"
	imageClockHint = "omit startTime and write ttl: 24h: the age of an image starts when it was last used, or else first seen"
)

// notForImages are the functions that do not apply to images. Without these findings they would always return the same
// value.
var notForImages = map[string]Finding{
	"finished":      endless,
	"succeeded":     endless,
	"failed":        endless,
	"finishedAt":    endless,
	"condition":     {Message: "images have no conditions", Hint: imageFieldsHint},
	"conditionTime": {Message: "images have no conditions", Hint: imageFieldsHint},
	"controllerOf":  {Message: "images have no owner", Hint: imageFieldsHint},
}

var endless = Finding{Message: "images do not finish", Hint: `omit startTime: ttl counts from the last use of the image; eligible: "true" selects all images`}

// ImageFunctions returns a finding for each call of a function that does not apply to images. env only parses the text.
func ImageFunctions(env *cel.Env, text string) []Finding {
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil // reported already
	}
	d := diagnosis{text: text, tree: parsed.NativeRep()}
	var findings []Finding
	for e := range syntax.All(d.tree.Expr()) {
		if e.Kind() != ast.CallKind || e.AsCall().IsMemberFunction() {
			continue
		}
		if f, ok := notForImages[strings.TrimPrefix(e.AsCall().FunctionName(), ".")]; ok {
			f = f.At(d.tree, e)
			f.Column = d.nameStart(celError{line: f.Line, column: f.Column - 1}) + 1
			findings = append(findings, f)
		}
	}
	return findings
}

var unknownField = regexp.MustCompile(`the schema has no field "([^"]*)".*$`)

// AboutImages returns findings with the hints for rules about images.
func AboutImages(findings []Finding) []Finding {
	all := slices.Clone(findings)
	for i, f := range all {
		if all[i] = aboutImageField(f); f.Hint == clockHint {
			all[i].Hint = imageClockHint
		}
	}
	return all
}

// aboutImageField adds to a finding about a missing field which field to read instead.
func aboutImageField(f Finding) Finding {
	at := unknownField.FindStringSubmatchIndex(f.Message)
	if at == nil {
		return f
	}
	where, name := f.Message[:at[0]], f.Message[at[2]:at[3]]
	variable, _, _ := strings.Cut(f.Field, ".")
	f.Message, f.Hint = where+fmt.Sprintf("unknown field %q", name), imageFieldsHint
	switch meant := closestImageField(variable, name); {
	case variable == syntax.ObjectVariable && name == "labels":
		f.Message, f.Hint = where+"images have no labels", "read the labels of the node with node.labels"
	case name == "creationTimestamp":
		f.Hint = "an image has object.status.firstSeen; without startTime its age starts when it was last used, or else first seen"
	case meant != "":
		f.Hint = fmt.Sprintf("did you mean %s?", meant)
	}
	return f
}

// closestImageField returns the path of the field that the author probably meant. Fields of the variable that was read
// are preferred. It is empty if no name is similar.
func closestImageField(variable, name string) string {
	paths, others := openapi.Paths(imageSchema(), syntax.ObjectVariable), openapi.Paths(nodeSchema(), syntax.NodeVariable)
	if variable == syntax.NodeVariable {
		paths, others = others, paths
	}
	paths = append(paths, others...)
	var names []string
	for _, path := range paths {
		names = append(names, path[strings.LastIndexByte(path, '.')+1:])
	}
	at := slices.Index(names, policy.Closest(name, names))
	if at < 0 {
		return ""
	}
	return paths[at]
}

// ImageVariables declares the variables of a rule about images, with the types of object and node.
func ImageVariables(types *openapi.Types) []cel.EnvOption {
	all := []cel.EnvOption{
		cel.Variable(syntax.ObjectVariable, types.TypeOf(imageSchema(), syntax.ObjectVariable)),
		cel.Variable(syntax.NodeVariable, types.TypeOf(nodeSchema(), syntax.NodeVariable)),
	}
	for _, name := range relationNames() {
		all = append(all, cel.Variable(name, cel.DynType))
	}
	return all
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
