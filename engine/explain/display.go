// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

// maxWidth is the maximum number of characters of a displayed value.
const maxWidth = 60

// Display formats a value for people. Strings are quoted and truncated. For a list or map that does not fit, Display
// prints the number of elements. An optional value is displayed as its value, or as none.
func Display(v ref.Val) string {
	switch x := v.(type) {
	case types.String:
		return strconv.Quote(cut(string(x)))
	case types.Timestamp:
		return x.UTC().Format(time.RFC3339Nano)
	case types.Duration:
		return policy.FormatTTL(x.Duration)
	case *types.Optional:
		if !x.HasValue() {
			return "none"
		}
		return Display(x.GetValue())
	case traits.Mapper:
		return displayMap(x)
	case traits.Lister:
		return displayList(x)
	case types.Null:
		return "null"
	case ref.Type:
		return syntax.TypeName(x.TypeName())
	}
	return displayScalar(v)
}

func displayScalar(v ref.Val) string {
	switch x := v.Value().(type) {
	case bool, int64, uint64, float64, fmt.Stringer:
		return cut(fmt.Sprint(x))
	case []byte:
		return fmt.Sprintf("%d bytes", len(x))
	}
	return syntax.TypeName(v.Type().TypeName())
}

func displayList(list traits.Lister) string {
	var shown []string
	for i := list.Iterator(); i.HasNext() == types.True; {
		element := i.Next()
		if len(shown) == maxWidth || isContainer(element) {
			return counted("[", list.Size(), "element", "]")
		}
		shown = append(shown, Display(element))
	}
	return fitting("[", shown, "element", "]")
}

func displayMap(m traits.Mapper) string {
	var shown []string
	for i := m.Iterator(); i.HasNext() == types.True; {
		key := i.Next()
		value, _ := m.Find(key)
		if len(shown) == maxWidth || isContainer(value) {
			return counted("{", m.Size(), "field", "}")
		}
		shown = append(shown, Display(key)+": "+Display(value))
	}
	slices.Sort(shown)
	return fitting("{", shown, "field", "}")
}

func isContainer(v ref.Val) bool {
	switch v.(type) {
	case traits.Lister, traits.Mapper:
		return true
	}
	return false
}

// fitting returns the whole list or map if it fits, and otherwise its size.
func fitting(open string, shown []string, unit, shut string) string {
	text := open + strings.Join(shown, ", ") + shut
	if utf8.RuneCountInString(text) > maxWidth {
		return counted(open, types.Int(len(shown)), unit, shut)
	}
	return text
}

func counted(open string, size ref.Val, unit, shut string) string {
	if size != types.IntOne {
		unit += "s"
	}
	return fmt.Sprintf("%s%v %s%s", open, size, unit, shut)
}

func cut(text string) string {
	if utf8.RuneCountInString(text) <= maxWidth {
		return text
	}
	return string([]rune(text)[:maxWidth-3]) + "..."
}
