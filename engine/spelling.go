package engine

import (
	"math"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

func (v *view) textOf(e ast.Expr) string { return syntax.Format(e, v.tree.SourceInfo()) }

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
	if at := int(offset); at < len(text) && (text[at] == '(' || text[at] == '.') {
		return int32(syntax.NameStart(text, at))
	}
	return offset
}
