package cost

import (
	"math"
	"strings"

	"github.com/google/cel-go/common/types"
)

// Parsers have every function that reads a text into a number, a time or the like. They cost nothing of a text of the
// length that such texts have, and of a long one what it takes to say that it is wrong, which is more than it takes to
// read it.
var Parsers = map[string]Price{
	"timestamp":       priceOfParse,
	"int":             priceOfParse,
	"uint":            priceOfParse,
	"double":          priceOfParse,
	"bool":            priceOfParse,
	"duration":        priceOfParse,
	"ip":              priceOfParse,
	"isIP":            priceOfParse,
	"ip.isCanonical":  priceOfParse,
	"cidr":            priceOfParse,
	"isCIDR":          priceOfParse,
	"containsIP":      priceOfParse,
	"containsCIDR":    priceOfParse,
	"url":             priceOfParse,
	"isURL":           priceOfParse,
	"semver":          priceOfParse,
	"isSemver":        priceOfParse,
	"validate":        priceOfParse,
	"format.named":    priceOfParse,
	"getDate":         priceOfParse, // these read the name of a time zone
	"getDayOfMonth":   priceOfParse,
	"getDayOfWeek":    priceOfParse,
	"getDayOfYear":    priceOfParse,
	"getFullYear":     priceOfParse,
	"getHours":        priceOfParse,
	"getMilliseconds": priceOfParse,
	"getMinutes":      priceOfParse,
	"getMonth":        priceOfParse,
	"getSeconds":      priceOfParse,
}

const (
	FreeText   = 64 // bytes
	parsePrice = 16 // bytes for each of the text
)

// LongestText is the length of the longest text among the arguments of a call.
func LongestText(args Operands) int {
	n := 0
	for _, arg := range args {
		if s, ok := arg.(types.String); ok {
			n = max(n, len(s))
		}
	}
	return n
}

func priceOfParse(args Operands, _ int) int { return parsePrice * LongestText(args) }

// longestExponent is that of a quantity, in digits. quantity('1e2147483647') is read at once, and then a comparison
// writes out two thousand million zeros.
const longestExponent = 3

// priceOfQuantity also serves isQuantity(). Quantities are calculated with all of their digits, in quadratic time.
func priceOfQuantity(args Operands, _ int) int {
	s, _ := args[0].(types.String)
	if i := strings.LastIndexAny(string(s), "eE"); i >= 0 {
		if digits := strings.TrimLeft(string(s[i+1:]), "+-0"); len(digits) > longestExponent {
			return math.MaxInt
		}
	}
	return len(s) + Times(len(s), len(s))/16
}
