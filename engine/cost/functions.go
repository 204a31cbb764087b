// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"math"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// The functions that are used in more than one place.
const (
	RangeFunction   = "lists.range"
	stringFunction  = "string"
	bytesFunction   = "bytes"
	MatchesFunction = "matches"
	FindFunction    = "find"
	FindAllFunction = "findAll"
)

const (
	elementPrice = 24 // bytes: an interface and a number in it
	runePrice    = 5  // bytes: most string functions copy the string to runes and back
)

// Functions has every function of the environment that can return, allocate, read or compare more than a constant amount.
// TestEveryFunctionHasAPrice compares it with the environment.
var Functions = map[string]Price{
	operators.Add:           priceOfSum,
	"replace":               priceOfReplace,
	"join":                  priceOfJoin,
	"format":                priceOfFormat,
	"split":                 priceOfSplit,
	"lowerAscii":            priceOfRunes,
	"upperAscii":            priceOfRunes,
	"charAt":                priceOfRunes,
	"substring":             priceOfRunes,
	"strings.quote":         priceOfRunes,
	"reverse":               priceOfRunes,
	"indexOf":               priceOfSearch,
	"lastIndexOf":           priceOfSearch,
	stringFunction:          priceOfRunes,
	bytesFunction:           priceOfRunes,
	MatchesFunction:         nil, // guardRegex sets the price: it depends on the regular expression
	FindFunction:            nil,
	FindAllFunction:         nil,
	"quantity":              priceOfQuantity,
	"isQuantity":            priceOfQuantity,
	RangeFunction:           priceOfRange,
	"flatten":               priceOfFlatten,
	"slice":                 priceOfList,
	"sort":                  priceOfList,
	"@sortByAssociatedKeys": priceOfList,
	"optional.unwrap":       priceOfList,
	"unwrapOpt":             priceOfList,
	"isSorted":              priceOfElements,
	"includes":              priceOfIncludes,
	"sum":                   priceOfElements,
	"min":                   priceOfElements,
	"max":                   priceOfElements,
	"math.@min":             priceOfElements,
	"math.@max":             priceOfElements,
	"conditionTime":         priceOfConditions,
	"condition":             priceOfObject,
	"finished":              priceOfObject,
	"finishedAt":            priceOfObject,
	"succeeded":             priceOfObject,
	"failed":                priceOfObject,
	"controllerOf":          priceOfObject,
	"configMapsIn":          priceOfReferences,
	"secretsIn":             priceOfReferences,
	"cel.@mapInsert":        priceOfInsert,
	"distinct":              priceOfDistinct,
	"sets.contains":         priceOfSets,
	"sets.equivalent":       priceOfSets,
	"sets.intersects":       priceOfSets,
	operators.In:            priceOfMembership,
	operators.Equals:        priceOfEqual,
	operators.NotEquals:     priceOfEqual,
	operators.Less:          priceOfPrefix,
	operators.LessEquals:    priceOfPrefix,
	operators.Greater:       priceOfPrefix,
	operators.GreaterEquals: priceOfPrefix,
	"startsWith":            priceOfPrefix,
	"endsWith":              priceOfPrefix,
	"contains":              priceOfScan,
	"size":                  priceOfScan,
	"trim":                  priceOfScan,
	"imageRepository":       priceOfScan,
	"imageTag":              priceOfScan,
	"url":                   priceOfURL,
	"getEscapedPath":        priceOfPath,
	"getQuery":              priceOfQuery,
}

// LengthOf returns the length of a string in bytes, or of a list in elements.
func LengthOf(v ref.Val) int {
	switch x := v.(type) {
	case types.String:
		return len(x)
	case types.Bytes:
		return len(x)
	case traits.Lister:
		n, _ := x.Size().(types.Int)
		return int(n)
	}
	return 0
}

// priceOfScan is the price of reading a whole string.
func priceOfScan(args Operands, _ int) int {
	if _, isText := args[0].(types.String); isText {
		return LengthOf(args[0]) / 4
	}
	return 0
}

// priceOfPrefix is the price of comparing two strings up to the first difference.
func priceOfPrefix(args Operands, _ int) int { return priceOfScan(args, 0) / 4 }

// Times multiplies two numbers that are not negative. It returns math.MaxInt instead of an overflow.
func Times(a, b int) int {
	if a != 0 && b > math.MaxInt/a {
		return math.MaxInt
	}
	return a * b
}

func priceOfList(args Operands, _ int) int { return 3 * elementPrice * LengthOf(args[0]) }

// priceOfReferences is the price of finding no names in a Pod specification.
func priceOfReferences(args Operands, most int) int {
	return elementPrice + tally(args[0], 0, most, costOfNode)
}

// OfFound is the price of the list of names and of the set that removes duplicates. The object limits the number of
// names.
func OfFound(result ref.Val) int { return 4 * elementPrice * LengthOf(result) }

// priceOfRunes also applies to reverse(), of a string and of a list.
func priceOfRunes(args Operands, most int) int {
	if _, isList := args[0].(traits.Lister); isList {
		return priceOfList(args, most)
	}
	return runePrice * LengthOf(args[0])
}

func priceOfSum(args Operands, _ int) int {
	n := LengthOf(args[0]) + LengthOf(args[1])
	if _, isList := args[0].(traits.Lister); isList {
		return elementPrice * n // cel-go only links the two lists, but every read of the sum copies it
	}
	return n
}

func priceOfReplace(args Operands, _ int) int {
	s, old, replacement, ok := threeTexts(args)
	if !ok {
		return 0
	}
	n := strings.Count(s, old)
	if limit, ok := args[3].(types.Int); ok && limit >= 0 {
		n = int(min(int64(n), int64(limit)))
	}
	return len(s) + Times(n, max(0, len(replacement)-len(old)))
}

func threeTexts(args Operands) (a, b, c string, ok bool) {
	x, isText := args[0].(types.String)
	y, isTextToo := args[1].(types.String)
	z, isTextAsWell := args[2].(types.String)
	return string(x), string(y), string(z), isText && isTextToo && isTextAsWell
}

func priceOfSplit(args Operands, _ int) int {
	s, ok := args[0].(types.String)
	separator, isText := args[1].(types.String)
	if !ok || !isText {
		return 0
	}
	return elementPrice * (strings.Count(string(s), string(separator)) + 1)
}

// priceOfJoin counts the elements, because all elements of a list with a million elements can be the same long string.
// The buffer doubles when it grows.
func priceOfJoin(args Operands, most int) int {
	separator := 0
	if args[1] != nil {
		separator = LengthOf(args[1])
	}
	return 3*Times(LengthOf(args[0]), separator) + 3*tally(args[0], 0, most/3, costOfElement)
}

// priceOfSearch is the price of a search in a string, in which cel-go compares at every position, or in a list.
func priceOfSearch(args Operands, most int) int {
	if _, isList := args[0].(traits.Lister); isList {
		return priceOfMembership(Operands{args[1], args[0]}, most)
	}
	n, m := LengthOf(args[0]), LengthOf(args[1])
	return runePrice*(n+m) + Times(n, m)/16
}

func priceOfRange(args Operands, _ int) int {
	n, _ := args[0].(types.Int)
	return elementPrice * int(min(max(n, 0), MaxRange))
}

// priceOfConditions is the price of copying the types, and of reading the conditions once for each of them.
func priceOfConditions(args Operands, most int) int {
	if _, isList := args[1].(traits.Lister); !isList {
		return priceOfObject(args, most)
	}
	return priceOfList(Operands{args[1]}, most) + Times(LengthOf(args[1]), priceOfObject(args, most))
}

// priceOfObject is the price of reading the conditions, the containers and the owners of an object.
func priceOfObject(args Operands, _ int) int {
	object, isMap := args[0].(Map)
	if !isMap {
		return 0 // a map that an expression writes
	}
	status, _ := object.Fields()["status"].(map[string]any)
	metadata, _ := object.Fields()["metadata"].(map[string]any)
	n := 0
	for _, list := range [...]any{status["conditions"], status["containerStatuses"], status["initContainerStatuses"], metadata["ownerReferences"]} {
		all, _ := list.([]any)
		n += len(all)
	}
	return nodePrice * n
}

// priceOfInsert is the price of transformMapEntry(), which inserts a map and, for a duplicate key, quotes it in the
// error.
func priceOfInsert(args Operands, most int) int {
	entries, ok := args[1].(traits.Mapper)
	if !ok || args[2] != nil {
		return 0 // one entry, in place
	}
	sum := 0
	for it := entries.Iterator(); it.HasNext() == types.True && sum <= most; {
		sum += 2*elementPrice + tally(it.Next(), 0, most-sum, costOfQuote)
	}
	return sum
}
