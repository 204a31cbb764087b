// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"maps"
	"slices"
)

// ForeignFunctions returns functions of other languages that have another name in CEL.
func ForeignFunctions() []string { return slices.Collect(maps.Keys(foreignFunctions)) }
