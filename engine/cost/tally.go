// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// cost returns the cost of one value without the values in it. level is the number of lists and maps around it.
type cost func(v any, level int) int

// tally adds up the cost of a value and of all values in it, and stops above most. The limit is necessary, and every
// value must have a cost. With a bound to [x, x], b to [a, a] and so on, a short expression builds a list of a few bytes
// that has too many elements to count.
func tally(v any, level, most int, of cost) int {
	sum := of(v, level)
	add := func(child any) bool {
		if sum <= most {
			sum += tally(child, level+1, most-sum, of)
		}
		return sum <= most
	}
	switch x := v.(type) {
	case map[string]any:
		tallyMap(x, add)
	case []any:
		tallyList(x, add)
	case Map:
		tallyMap(x.Fields(), add)
	case List:
		tallyList(x.Elements(), add)
	case *types.Optional:
		if x.HasValue() {
			add(x.GetValue())
		}
	case traits.Lister:
		for i, n := types.Int(0), types.Int(LengthOf(x)); i < n && add(x.Get(i)); i++ {
		}
	case traits.Mapper:
		for it := x.Iterator(); it.HasNext() == types.True; {
			if key := it.Next(); !add(key) || !add(x.Get(key)) {
				break
			}
		}
	}
	return sum
}

func tallyMap(m map[string]any, add func(any) bool) {
	for key, v := range m {
		if !add(key) || !add(v) {
			return
		}
	}
}

func tallyList(l []any, add func(any) bool) {
	for _, v := range l {
		if !add(v) {
			return
		}
	}
}

// textLength returns the length of a string, and 0 for any other value.
func textLength(v any) int {
	switch x := v.(type) {
	case string:
		return len(x)
	case ref.Val:
		if _, isList := x.(traits.Lister); !isList {
			return LengthOf(x)
		}
	}
	return 0
}

const (
	nodePrice  = 8                  // steps: to visit a value and compare it
	digitsMost = 310 + MaxPrecision // characters of the longest number that format() writes
)

// costOfElement is for join(), which joins strings and quotes other values in an error.
func costOfElement(v any, level int) int {
	if level <= 1 {
		return nodePrice + textLength(v)
	}
	return costOfQuote(v, level)
}

// costOfFormat is for format(), which makes three copies of a string and two more for every map around it. %x writes
// two characters for each byte.
func costOfFormat(v any, level int) int {
	return digitsMost + 6*Times(textLength(v), level+1)
}

// costOfQuote is for an error that quotes a value. The value is copied for every list and map around it.
func costOfQuote(v any, level int) int {
	return nodePrice*nodePrice*level + 6*Times(textLength(v), level)
}

// costOfNode is for a comparison. Equal strings compare quickly.
func costOfNode(v any, _ int) int { return nodePrice + textLength(v)/32 }

func priceOfFormat(args Operands, most int) int {
	return 3*LengthOf(args[0]) + tally(args[1], 0, most, costOfFormat)
}

// priceOfFlatten counts the elements of the result. Each counts again for every list around it, because it is copied
// through them.
func priceOfFlatten(args Operands, most int) int {
	depth := 1
	if n, ok := args[1].(types.Int); ok {
		depth = int(min(max(n, 0), math.MaxInt32))
	}
	return tallyFlat(args[0], 1, depth, most)
}

func tallyFlat(v ref.Val, level, depth, most int) int {
	list, isList := v.(traits.Lister)
	if !isList || level > depth+1 {
		return 3 * elementPrice * level
	}
	sum := 3 * elementPrice * level
	for i, n := types.Int(0), types.Int(LengthOf(list)); i < n && sum <= most; i++ {
		sum += tallyFlat(list.Get(i), level+1, depth, most-sum)
	}
	return sum
}

// priceOfElements is the price of comparing or adding all elements of a list, each with the one before it.
func priceOfElements(args Operands, most int) int {
	if _, isList := args[0].(traits.Lister); !isList {
		return 0
	}
	return tally(args[0], 0, most, costOfNode)
}

// priceOfEqual is the cost of the smaller operand, because a comparison ends with it.
func priceOfEqual(args Operands, most int) int {
	a := tally(args[0], 0, most, costOfNode)
	if a <= nodePrice {
		return a
	}
	return min(a, tally(args[1], 0, min(a, most), costOfNode))
}

// priceOfMembership is the price of comparing one value with every element.
func priceOfMembership(args Operands, most int) int {
	if _, isMap := args[1].(traits.Mapper); isMap {
		return 0
	}
	return comparisons(args[0], LengthOf(args[1]), most)
}

// priceOfIncludes is the price of comparing one value with every element of a list, or with another value.
func priceOfIncludes(args Operands, most int) int {
	if _, isList := args[0].(traits.Lister); isList {
		return priceOfMembership(Operands{args[1], args[0]}, most)
	}
	return priceOfEqual(args, most)
}

// priceOfSets is the price of comparing every element with every other, twice for sets.equivalent().
func priceOfSets(args Operands, most int) int {
	return 2 * comparisons(args[0], LengthOf(args[1]), most/2)
}

func priceOfDistinct(args Operands, most int) int {
	return priceOfList(args, most) + comparisons(args[0], LengthOf(args[0]), most)/2
}

// comparisons is the cost of comparing a value, or each value in it, n times. Comparing a number allocates it.
func comparisons(v ref.Val, n, most int) int {
	once := tally(v, 0, most, costOfNode)
	if once > most {
		return math.MaxInt / 2 // the count is incomplete
	}
	return Times(n, once) / 2
}
