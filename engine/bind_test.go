// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestBoundValuesDoNotChange(t *testing.T) {
	tests := map[string]string{
		"an empty list literal":       "cel.bind(l, dyn([]), size(l + [1]) == 1 && size(l) == 0)",
		"an empty list of the object": "cel.bind(l, object.empty, size(l + [1]) == 1 && size(l) == 0)",
		"chosen by a condition":       "cel.bind(l, object.empty, size((object.choose ? l : l) + [1]) == 1 && size(l) == 0)",
		"behind another binding":      "cel.bind(l, object.empty, cel.bind(m, l, size(m + [1]) == 1 && size(l + m) == 0))",
		"macros accumulate":           "cel.bind(l, object.list, l.map(x, x + 1) == [2, 3] && l.filter(x, x > 1) == [2] && l == [1, 2])",
		"macros with two variables":   "cel.bind(l, object.list, l.transformList(i, x, x + i) == [1, 3] && l.transformMapEntry(i, x, {x: i}) == {1: 0, 2: 1})",
		"sorting":                     "cel.bind(l, object.list, l.sortBy(x, -x) == [2, 1] && l == [1, 2])",
		"optional values":             "object.?list.optMap(l, l.map(x, x * 2)).orValue([]) == [2, 4]",
	}
	c := fixture.Compiler(t)
	input := fixture.Decode(t, `{empty: [], list: [1, 2], choose: true}`)
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			mustHold(t, c, text, input)
		})
	}
}
