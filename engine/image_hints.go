package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/policy"
)

const (
	imageFieldsHint = "object has metadata.name, spec.tags, .digests, .sizeBytes, .pinned, .runtimeHandler and status.firstSeen, " +
		".lastUsed, .unusedSince, .inUse; node has name, labels and imageFs.usedBytes, .capacityBytes, .usedPercent"
	imageClockHint = "leave startTime out and write ttl: 24h: an image ages from when it was last used, or else first seen"
)

// unanswerable are the functions that ask what nothing can answer about an image: without a word they would always give the same.
var unanswerable = map[string]finding{
	"finished":      endless,
	"succeeded":     endless,
	"failed":        endless,
	"finishedAt":    endless,
	"condition":     {message: "images have no conditions", hint: imageFieldsHint},
	"conditionTime": {message: "images have no conditions", hint: imageFieldsHint},
	"controllerOf":  {message: "images have no owner", hint: imageFieldsHint},
}

var endless = finding{message: "images do not finish", hint: `their age is ttl, from their last use: leave startTime out; eligible: "true" is all images`}

// unanswered are the calls of such functions in a text.
func (c *Compiler) unanswered(text string) []finding {
	parsed, issues := c.base.Parse(text)
	if issues.Err() != nil {
		return nil // said already
	}
	d, tree := diagnosis{text: text}, parsed.NativeRep()
	var findings []finding
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().IsMemberFunction() {
			return
		}
		if f, ok := unanswerable[strings.TrimPrefix(e.AsCall().FunctionName(), ".")]; ok {
			at := tree.SourceInfo().GetStartLocation(e.ID())
			f.line, f.column = at.Line(), d.nameStart(complaint{line: at.Line(), column: at.Column()})+1
			findings = append(findings, f)
		}
	}))
	return findings
}

// findings are those of an expression, with the hints that are right for the target.
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

// aboutImageField says of a field that is not there what to read instead.
func aboutImageField(f finding) finding {
	at := unknownField.FindStringSubmatchIndex(f.message)
	if at == nil {
		return f
	}
	where, name := f.message[:at[0]], f.message[at[2]:at[3]]
	variable, _, _ := strings.Cut(f.field, ".")
	f.message, f.hint = where+fmt.Sprintf("there is no field %q", name), imageFieldsHint
	switch meant := closestImageField(variable, name); {
	case variable == objectVariable && name == "labels":
		f.message, f.hint = where+"images have no labels", "node.labels are those of the node"
	case name == "creationTimestamp":
		f.hint = "an image has object.status.firstSeen; without startTime it ages from when it was last used, or else first seen"
	case meant != "":
		f.hint = fmt.Sprintf("did you mean %s?", meant)
	}
	return f
}

// closestImageField is the path of the field that was probably meant, of the variable that was read rather than the other;
// empty when none is near.
func closestImageField(variable, name string) string {
	paths, others := pathsIn(imageSchema(), objectVariable), pathsIn(nodeSchema(), nodeVariable)
	if variable == nodeVariable {
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

// pathsIn are the fields of a schema, and those below them.
func pathsIn(s *spec.Schema, path string) []string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		paths = append(paths, path+"."+name)
		paths = append(paths, pathsIn(&field, path+"."+name)...)
	}
	return paths
}
