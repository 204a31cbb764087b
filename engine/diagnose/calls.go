// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// expression returns the part that an error is about; nil if there is none.
func (d *diagnosis) expression(c celError) ast.Expr {
	if d.tree == nil {
		return nil
	}
	for e := range syntax.All(d.tree.Expr()) {
		if e.ID() == c.expression {
			return e
		}
	}
	return nil
}

// loopVariable returns the variable of the innermost loop around the part that an error is about; empty if there is
// none.
func (d *diagnosis) loopVariable(c celError) (name string) {
	for e := range syntax.All(d.tree.Expr()) {
		if e.Kind() != ast.ComprehensionKind || !syntax.Iterates(e.AsComprehension()) {
			continue
		}
		for inner := range syntax.All(e.AsComprehension().LoopStep()) {
			if inner.ID() == c.expression {
				name = e.AsComprehension().IterVar()
			}
		}
	}
	return name
}

// call returns the call that an error is about; nil if there is none.
func (d *diagnosis) call(c celError) ast.Expr {
	if e := d.expression(c); e != nil && e.Kind() == ast.CallKind {
		return e
	}
	return nil
}

// maxHintLength is the maximum number of characters of an expression that a hint repeats.
const maxHintLength = 100

// textsOf returns the receiver and the arguments of a call as written; nil if they are too long to repeat.
func (d *diagnosis) textsOf(call ast.Expr) (texts []any) {
	if call == nil {
		return nil
	}
	size := 0
	for _, arg := range syntax.Operands(call.AsCall()) {
		text := syntax.Format(arg, d.tree.SourceInfo())
		texts, size = append(texts, text), size+len(text)
	}
	if size > maxHintLength {
		return nil
	}
	return texts
}

// fieldCalled returns the path of a field that is called as a function without arguments; empty for anything else.
func (d *diagnosis) fieldCalled(name string, c celError) string {
	call := d.call(c)
	if call == nil || !call.AsCall().IsMemberFunction() || len(call.AsCall().Args()) > 0 {
		return ""
	}
	if parent := syntax.Path(call.AsCall().Target()); parent != "" {
		return parent + "." + name
	}
	return ""
}

// renamed returns a call as written, but with another function name.
func (d *diagnosis) renamed(c celError, function string) string {
	call := d.call(c)
	texts := d.textsOf(call)
	if texts == nil {
		return function + "()"
	}
	return callOf(function, call.AsCall().IsMemberFunction(), texts)
}

func callOf(function string, ofMember bool, texts []any) string {
	var args []string
	for _, text := range texts {
		args = append(args, text.(string))
	}
	if ofMember {
		return args[0] + "." + function + "(" + strings.Join(args[1:], ", ") + ")"
	}
	return function + "(" + strings.Join(args, ", ") + ")"
}

// used returns how to call a function of a library that was called in another way.
func (d *diagnosis) used(function string, c celError) string {
	declared := d.scope.Env.Functions()[function]
	call := d.call(c)
	if declared == nil || call == nil {
		return ""
	}
	if receiver := call.AsCall().Target(); function == "orValue" && receiver.Kind() == ast.SelectKind && len(d.textsOf(call)) == 2 {
		s := receiver.AsSelect()
		return fmt.Sprintf("read a field that may be missing with .?: write %s.?%s.orValue(%s)", syntax.Format(s.Operand(), d.tree.SourceInfo()), s.FieldName(), d.textsOf(call)[1])
	}
	const shown = 2
	var signatures []string
	for i, overload := range declared.OverloadDecls() {
		if texts := d.textsOf(call); len(texts) == len(overload.ArgTypes()) && overload.IsMemberFunction() != call.AsCall().IsMemberFunction() {
			return "write " + callOf(function, overload.IsMemberFunction(), texts)
		}
		if len(signatures) < shown {
			signatures = append(signatures, syntax.TypeName(declared.Documentation().Children[i].Signature))
		}
	}
	return "call it as " + strings.Join(signatures, ", or ")
}
