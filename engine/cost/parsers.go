// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"math"
	"strings"

	"github.com/google/cel-go/common/types"
)

// Parsers has every function that parses a string, for example as a number, a time or an IP address. Strings of the
// usual length are free. The price of a longer string is the work to report that it is invalid, which is more than the
// work to parse it.
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
	"getDate":         priceOfParse, // these parse the name of a time zone
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
	parsePrice = 16 // bytes for each byte of the string
)

// LongestText returns the length of the longest string among the operands of a call.
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

// longestExponent is the maximum number of digits of the exponent of a quantity. quantity('1e2147483647') is parsed
// quickly, but then a comparison writes two billion zeros.
const longestExponent = 3

// priceOfQuantity also applies to isQuantity(). Calculations use all digits of a quantity, in quadratic time.
func priceOfQuantity(args Operands, _ int) int {
	s, _ := args[0].(types.String)
	if i := strings.LastIndexAny(string(s), "eE"); i >= 0 {
		if digits := strings.TrimLeft(string(s[i+1:]), "+-0"); len(digits) > longestExponent {
			return math.MaxInt
		}
	}
	return len(s) + Times(len(s), len(s))/16
}
