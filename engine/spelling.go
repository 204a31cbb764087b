package engine

import (
	"math"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
)

func (v *view) textOf(e ast.Expr) string { return asWritten(e, v.tree.SourceInfo()) }

// asWritten gives an expression on one line, as its author did but for spaces and parentheses.
func asWritten(e ast.Expr, info *ast.SourceInfo) string {
	text, err := parser.Unparse(e, info, parser.WrapOnColumn(math.MaxInt))
	if err != nil {
		return "..."
	}
	if !strings.ContainsAny(text, `'\`) {
		text = strings.ReplaceAll(text, `"`, `'`) // every one of them begins or ends a literal then
	}
	return text
}

// start is where an expression begins.
func (v *view) start(e ast.Expr) common.Location {
	info := v.tree.SourceInfo()
	first := int32(math.MaxInt32)
	var look func(ast.Expr)
	look = func(e ast.Expr) {
		if r, ok := info.GetOffsetRange(e.ID()); ok {
			first = min(first, r.Start)
		}
		if call, ok := info.GetMacroCall(e.ID()); ok {
			ast.PreOrderVisit(call, ast.NewExprVisitor(look))
		}
	}
	ast.PreOrderVisit(e, ast.NewExprVisitor(look))
	return info.GetLocationByOffset(v.nameBefore(first))
}

// nameBefore is where the name begins that stands before an opening parenthesis or a dot: cel-go has calls and variables
// begin there.
func (v *view) nameBefore(offset int32) int32 {
	text := []rune(v.text)
	at := int(offset)
	if at >= len(text) || text[at] != '(' && text[at] != '.' {
		return offset
	}
	for at > 0 && isNameRune(text[at-1]) {
		at--
	}
	return int32(at)
}
