package engine

import (
	"math"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
)

func (v *view) textOf(e ast.Expr) string { return asWritten(e, v.tree.SourceInfo()) }

// asWritten returns an expression on one line, as written except for spaces and parentheses.
func asWritten(e ast.Expr, info *ast.SourceInfo) string {
	text, err := parser.Unparse(e, info, parser.WrapOnColumn(math.MaxInt))
	if err != nil {
		return "..."
	}
	if !strings.ContainsAny(text, `'\`) {
		text = strings.ReplaceAll(text, `"`, `'`) // every " begins or ends a literal
	}
	return text
}

// start returns where an expression begins.
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

// nameBefore returns where the name before an opening parenthesis or a dot begins. cel-go reports the parenthesis or
// dot as the start of calls and variables.
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
