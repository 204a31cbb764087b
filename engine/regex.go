// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"regexp"
	regexsyntax "regexp/syntax"
	"sync/atomic"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/sunset-k8s/sunset/engine/cost"
	"github.com/sunset-k8s/sunset/engine/syntax"
)

// guardRegex charges a call of matches(), find() or findAll() for the text that it searches, and limits the regular
// expression. It does not use cel-go's own limit (cel.RegexProgramSizeLimit). In v0.31.0 that limit covers only
// matches(), and panics for a repetition such as a{3}. It also evaluates a regular expression that is not a literal
// twice, so that thirty nested calls never end.
func guardRegex(g *guarded) (interpreter.InterpretableV2, error) {
	if g.function == cost.FindAllFunction {
		g.after = func(found ref.Val) int { return foundPrice * cost.LengthOf(found) }
	}
	literal, ok := g.args[1].(interpreter.InterpretableConst)
	if !ok {
		g.price = priceOfPattern
		var last atomic.Pointer[regexp.Regexp] // most calls use the same expression as the one before
		g.impl = &functions.Overload{Function: func(args ...ref.Val) ref.Val {
			re := last.Load()
			if pattern, ok := args[1].(types.String); re == nil || !ok || re.String() != string(pattern) {
				var err error
				if re, _, err = compileRegex(args[1]); err != nil {
					return types.WrapErr(err)
				}
				last.Store(re)
			}
			return search(g.function, re, args)
		}}
		return g, nil
	}
	re, size, err := compileRegex(literal.Value())
	if err != nil {
		return nil, err
	}
	g.price = func(args cost.Operands, _ int) int { return cost.Times(cost.LengthOf(args[0]), weightOf(size)) }
	g.impl = &functions.Overload{Function: func(args ...ref.Val) ref.Val { return search(g.function, re, args) }}
	return g, nil
}

// compileRegex compiles a regular expression and returns its size. It computes the size before it compiles, because a
// short repetition can compile to many instructions.
func compileRegex(v ref.Val) (*regexp.Regexp, int, error) {
	pattern, ok := v.(types.String)
	switch {
	case !ok:
		return nil, 0, fmt.Errorf("no such overload: a regular expression of %s", v.Type().TypeName())
	case len(pattern) > MaxExpressionSize:
		return nil, 0, fmt.Errorf("the regular expression is longer than %d characters", MaxExpressionSize)
	}
	size, err := sizeOfRegex(string(pattern))
	if err != nil {
		return nil, 0, err
	}
	if size > MaxRegexSize {
		return nil, 0, fmt.Errorf("the regular expression has %d instructions; the limit is %d", size, MaxRegexSize)
	}
	re, err := regexp.Compile(string(pattern))
	return re, size, err
}

// sizeOfRegex estimates how many instructions a compiled regular expression has. The parser limits nested repetitions.
func sizeOfRegex(pattern string) (int, error) {
	re, err := regexsyntax.Parse(pattern, regexsyntax.Perl)
	if err != nil {
		return 0, err
	}
	return instructions(re), nil
}

func instructions(re *regexsyntax.Regexp) int {
	n := 1
	if re.Op == regexsyntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == regexsyntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// instructionsIn returns the sum of the instructions of all regular expressions that are literals in an expression.
func instructionsIn(tree ast.Expr) int {
	sum := 0
	for e := range syntax.All(tree) {
		switch syntax.Function(e) {
		case cost.MatchesFunction, cost.FindFunction, cost.FindAllFunction:
		default:
			continue
		}
		for _, arg := range e.AsCall().Args() {
			if pattern, ok := syntax.StringLiteral(arg); ok {
				size, _ := sizeOfRegex(pattern)
				sum += size
			}
		}
	}
	return sum
}

// weightOf returns how many steps a regular expression may take for each character: up to one for each of its
// instructions.
func weightOf(size int) int { return 1 + size/4 }

const (
	patternPrice     = 512 // bytes for each character of a regular expression; \pL has some hundred ranges
	instructionPrice = 128 // bytes
)

// priceOfPattern is the price of a call whose regular expression has to be compiled first.
func priceOfPattern(args cost.Operands, most int) int {
	pattern, _ := args[1].(types.String)
	price := patternPrice * len(pattern)
	if price > most || len(pattern) > MaxExpressionSize {
		return price
	}
	size, err := sizeOfRegex(string(pattern))
	if err != nil {
		return price
	}
	size = min(size, MaxRegexSize)
	return price + size*instructionPrice + cost.Times(cost.LengthOf(args[0]), weightOf(size))
}

func search(function string, re *regexp.Regexp, args []ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	switch function {
	case cost.MatchesFunction:
		return types.Bool(re.MatchString(string(text)))
	case cost.FindFunction:
		return types.String(re.FindString(string(text)))
	}
	limit := types.Int(-1)
	if len(args) == 3 {
		if limit, ok = args[2].(types.Int); !ok {
			return types.MaybeNoSuchOverloadErr(args[2])
		}
	}
	return findAll(re, string(text), limit)
}

const (
	// mostFound limits the list that findAll() returns: its length is unknown before the call.
	mostFound  = MaxRange
	foundPrice = 512 // bytes: regexp allocates two lists of positions, and occasionally a matcher
)

func findAll(re *regexp.Regexp, text string, limit types.Int) ref.Val {
	if limit < 0 || limit > mostFound {
		limit = mostFound + 1
	}
	found := re.FindAllString(text, int(limit))
	if len(found) > mostFound {
		return types.WrapErr(errBuilds)
	}
	return types.NewStringList(types.DefaultTypeAdapter, found)
}
