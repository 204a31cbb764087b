package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	imageFieldsHint = "object has metadata.name, spec.tags, .digests, .sizeBytes, .pinned, .runtimeHandler and status.firstSeen, " +
		".lastUsed, .unusedSince, .inUse; node has name, labels and imageFs.usedBytes, .capacityBytes, .usedPercent"
	imageClockHint = "omit startTime and write ttl: 24h: the age of an image starts when it was last used, or else first seen"
)

// unanswerable are the functions that do not apply to images. Without these findings they would always return the same
// value.
var unanswerable = map[string]finding{
	"finished":      endless,
	"succeeded":     endless,
	"failed":        endless,
	"finishedAt":    endless,
	"condition":     {message: "images have no conditions", hint: imageFieldsHint},
	"conditionTime": {message: "images have no conditions", hint: imageFieldsHint},
	"controllerOf":  {message: "images have no owner", hint: imageFieldsHint},
}

var endless = finding{message: "images do not finish", hint: `omit startTime: ttl counts from the last use of the image; eligible: "true" selects all images`}

// unanswered returns a finding for each call of such a function.
func (c *Compiler) unanswered(text string) []finding {
	parsed, issues := c.base.Parse(text)
	if issues.Err() != nil {
		return nil // reported already
	}
	d, tree := diagnosis{text: text}, parsed.NativeRep()
	var findings []finding
	for e := range syntax.All(tree.Expr()) {
		if e.Kind() != ast.CallKind || e.AsCall().IsMemberFunction() {
			continue
		}
		if f, ok := unanswerable[strings.TrimPrefix(e.AsCall().FunctionName(), ".")]; ok {
			at := tree.SourceInfo().GetStartLocation(e.ID())
			f.line, f.column = at.Line(), d.nameStart(complaint{line: at.Line(), column: at.Column()})+1
			findings = append(findings, f)
		}
	}
	return findings
}

// findings returns the findings of an expression, with the hints for its target.
func (r *Program) findings(c *compiled) []finding {
	if !r.images {
		return c.findings
	}
	findings := slices.Clone(c.findings)
	for i := range findings {
		if findings[i].hint == clockHint {
			findings[i].hint = imageClockHint
		}
	}
	return findings
}

var unknownField = regexp.MustCompile(`the schema has no field "([^"]*)".*$`)

// aboutImageField adds to a finding about a missing field which field to read instead.
func aboutImageField(f finding) finding {
	at := unknownField.FindStringSubmatchIndex(f.message)
	if at == nil {
		return f
	}
	where, name := f.message[:at[0]], f.message[at[2]:at[3]]
	variable, _, _ := strings.Cut(f.field, ".")
	f.message, f.hint = where+fmt.Sprintf("unknown field %q", name), imageFieldsHint
	switch meant := closestImageField(variable, name); {
	case variable == syntax.ObjectVariable && name == "labels":
		f.message, f.hint = where+"images have no labels", "read the labels of the node with node.labels"
	case name == "creationTimestamp":
		f.hint = "an image has object.status.firstSeen; without startTime its age starts when it was last used, or else first seen"
	case meant != "":
		f.hint = fmt.Sprintf("did you mean %s?", meant)
	}
	return f
}

// closestImageField returns the path of the field that the author probably meant. Fields of the variable that was read
// are preferred. It is empty if no name is similar.
func closestImageField(variable, name string) string {
	paths, others := pathsIn(imageSchema(), syntax.ObjectVariable), pathsIn(nodeSchema(), syntax.NodeVariable)
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

// pathsIn returns the paths of all fields of a schema, including nested fields.
func pathsIn(s *spec.Schema, path string) []string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		paths = append(paths, path+"."+name)
		paths = append(paths, pathsIn(&field, path+"."+name)...)
	}
	return paths
}
