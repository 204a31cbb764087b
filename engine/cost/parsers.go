// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"math"
	"net/url"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Parsers are the functions that parse a string, for example as a number, a time or an IP address. Strings of the usual
// length are free. The price of a longer string is PriceOfParse.
var Parsers = []string{
	"timestamp", "duration", "int", "uint", "double", "bool",
	"ip", "isIP", "ip.isCanonical", "cidr", "isCIDR", "containsIP", "containsCIDR",
	"isURL", "semver", "isSemver", "validate", "format.named",

	// These parse the name of a time zone.
	"getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear",
	"getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds",
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

// PriceOfParse returns the work to report that a string is invalid, which is more than the work to parse it.
func PriceOfParse(args Operands, _ int) int { return parsePrice * LongestText(args) }

const (
	pathPrice  = 4  // bytes for each byte of a path: escaped, a byte has three
	queryPrice = 64 // bytes for each byte of a query: an entry of a map and a list for each parameter
)

// priceOfURL is quadratic, so that no URL is longer than about 30 KB: a comparison of URLs writes both as text, and has the price of short
// values.
func priceOfURL(args Operands, most int) int {
	n := LongestText(args)
	if n <= FreeText {
		return 0
	}
	return PriceOfParse(args, most) + Times(n, n)/64
}

// priceOfPath is the price of escaping the path of a URL, which each call does again.
func priceOfPath(args Operands, _ int) int {
	if u := urlOf(args[0]); u != nil {
		return pathPrice * (len(u.Path) + len(u.RawPath))
	}
	return 0
}

// priceOfQuery is the price of parsing the query of a URL, which each call does again.
func priceOfQuery(args Operands, _ int) int {
	if u := urlOf(args[0]); u != nil {
		return queryPrice * len(u.RawQuery)
	}
	return 0
}

// urlOf returns the URL that a value is; nil for other values.
func urlOf(v ref.Val) *url.URL {
	if v.Type().TypeName() != "kubernetes.URL" {
		return nil
	}
	u, _ := v.Value().(*url.URL)
	return u
}

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
