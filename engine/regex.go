package engine

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync/atomic"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/sunset-k8s/sunset/engine/cost"
)

// guardRegex makes a call of matches(), find() or findAll() pay for the text it searches, and bounds the regular
// expression. It does without cel-go's own bound (cel.RegexProgramSizeLimit), which in v0.31.0 covers matches() alone,
// panics at a repetition such as a{3}, and evaluates a regular expression that is no literal twice, so that thirty of
// them inside each other never end.
func guardRegex(g *guarded) (interpreter.InterpretableV2, error) {
	if g.function == cost.FindAllFunction {
		g.after = func(found ref.Val) int { return foundPrice * cost.LengthOf(found) }
	}
	literal, ok := g.args[1].(interpreter.InterpretableConst)
	if !ok {
		g.price = priceOfPattern
		var last atomic.Pointer[regexp.Regexp] // most often it is the same again
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

// compileRegex compiles a regular expression and gives its size. It is measured before it is compiled, because
// repetitions are short to write and long when compiled.
func compileRegex(v ref.Val) (*regexp.Regexp, int, error) {
	pattern, ok := v.(types.String)
	switch {
	case !ok:
		return nil, 0, fmt.Errorf("no such overload: a regular expression of %s", v.Type().TypeName())
	case len(pattern) > MaxExpressionSize:
		return nil, 0, fmt.Errorf("the regular expression is longer than %d characters", MaxExpressionSize)
	}
	tree, err := syntax.Parse(string(pattern), syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	size := instructions(tree)
	if size > MaxRegexSize {
		return nil, 0, fmt.Errorf("the regular expression takes %d instructions, and %d is the limit", size, MaxRegexSize)
	}
	re, err := regexp.Compile(string(pattern))
	return re, size, err
}

// instructions is about how many a regular expression takes when compiled. The parser bounds repetitions of repetitions.
func instructions(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// instructionsIn are those of all regular expressions that an expression has as literals.
func instructionsIn(tree ast.Expr) int {
	sum := 0
	ast.PreOrderVisit(tree, ast.NewExprVisitor(func(e ast.Expr) {
		switch functionOf(e) {
		case cost.MatchesFunction, cost.FindFunction, cost.FindAllFunction:
		default:
			return
		}
		for _, arg := range e.AsCall().Args() {
			if arg.Kind() != ast.LiteralKind {
				continue
			}
			if pattern, ok := arg.AsLiteral().(types.String); ok {
				if re, err := syntax.Parse(string(pattern), syntax.Perl); err == nil {
					sum += instructions(re)
				}
			}
		}
	}))
	return sum
}

// weightOf is how many steps a regular expression may take for a character: up to one for each of its instructions.
func weightOf(size int) int { return 1 + size/4 }

const (
	patternPrice     = 512 // bytes for each character of a regular expression; \pL has some hundred ranges
	instructionPrice = 128 // bytes
)

// priceOfPattern is that of a regular expression which has to be compiled first.
func priceOfPattern(args cost.Operands, most int) int {
	pattern, _ := args[1].(types.String)
	price := patternPrice * len(pattern)
	if price > most || len(pattern) > MaxExpressionSize {
		return price
	}
	tree, err := syntax.Parse(string(pattern), syntax.Perl)
	if err != nil {
		return price
	}
	size := min(instructions(tree), MaxRegexSize)
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
	// mostFound bounds the list that findAll() gives: what it will find is not known before.
	mostFound  = MaxRange
	foundPrice = 512 // bytes: regexp makes two lists of places on the way, and now and then a machine that matches
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
