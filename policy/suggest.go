// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Closest is the known name that was probably meant, or "" if no name is similar. Of equally similar names, the first wins.
func Closest(name string, known []string) string {
	best, distance, lower := "", utf8.RuneCountInString(name)/3+1, strings.ToLower(name)
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return k
		}
		candidate := strings.ToLower(k)
		if n := len(lower) - len(candidate); n >= distance || -n >= distance {
			continue // at least n letters differ; a name can be as long as a whole policy
		}
		if d := editDistance(lower, candidate); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// editDistance is the number of letters to insert, delete, replace or swap with their neighbour.
func editDistance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// oneOf reports a value that is not valid, and returns whether it is. An empty value is valid.
func oneOf[T ~string](at report, field string, value T, valid ...T) bool {
	if value == "" || slices.Contains(valid, value) {
		return true
	}
	names := make([]string, len(valid))
	for i := range valid {
		names[i] = string(valid[i])
	}
	last := len(names) - 1
	all := strings.Join(names[:last], ", ") + " or " + names[last]
	at(field, fmt.Sprintf("%q is not a valid value", value), cmp.Or(DidYouMean(string(value), names), all))
	return false
}

// DidYouMean is a hint with the name that was probably meant; empty if no name is similar.
func DidYouMean(name string, known []string) string {
	if meant := Closest(name, known); meant != "" {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	return ""
}
