// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
	"testing"
)

// TestWords: a word is not a field of its place, and the field that it means exists.
func TestWords(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range words {
		for place := range strings.FieldsSeq(w.places) {
			known := fieldsAt(clusterPlaces, place)
			if known == nil {
				known = fieldsAt(namespacedPlaces, place)
			}
			if known == nil || w.field != "" && !slices.Contains(known, w.field) {
				t.Errorf("%s has no field %s", place, w.field)
			}
			if w.field == "" && w.hint == "" {
				t.Errorf("%s has neither field nor hint", w.names)
			}
			for name := range strings.FieldsSeq(w.names) {
				if slices.Contains(known, name) {
					t.Errorf("%s is a field of %s", name, place)
				}
				if seen[place+"."+name] {
					t.Errorf("%s of %s is a duplicate", name, place)
				}
				seen[place+"."+name] = true
			}
		}
	}
}
