// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"math"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// start returns where an expression begins.
func (s *source) start(e ast.Expr) common.Location {
	info := s.tree.SourceInfo()
	first := int32(math.MaxInt32)
	var visit func(ast.Expr)
	visit = func(e ast.Expr) {
		for part := range syntax.All(e) {
			if r, ok := info.GetOffsetRange(part.ID()); ok {
				first = min(first, r.Start)
			}
			if call, ok := info.GetMacroCall(part.ID()); ok {
				visit(call)
			}
		}
	}
	visit(e)
	return info.GetLocationByOffset(s.nameBefore(first))
}

// nameBefore returns where the name before an opening parenthesis or a dot begins. cel-go reports the parenthesis or
// dot as the start of calls and variables.
func (s *source) nameBefore(offset int32) int32 {
	text := []rune(s.text)
	if at := int(offset); at < len(text) && (text[at] == '(' || text[at] == '.') {
		return int32(syntax.NameStart(text, at))
	}
	return offset
}
