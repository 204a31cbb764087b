package engine

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
)

// names are the functions and macros that an expression can call.
type names []string

func namesOf(env *cel.Env) names {
	known := map[string]bool{}
	for name := range env.Functions() {
		known[name] = true
	}
	for _, macro := range env.Macros() {
		known[macro.Function()] = true
	}
	maps.DeleteFunc(known, func(name string, _ bool) bool { return !isNameRune(rune(name[0])) || name[0] == '_' })
	return slices.Sorted(maps.Keys(known))
}

// closest is the known name that was probably meant, or "". Sunset's own names win a tie.
func closest(name string, known []string) string {
	best, distance := "", utf8.RuneCountInString(name)/3+1
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return k
		}
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// editDistance is how many letters to insert, delete, replace or swap with their neighbour.
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

// signatureOf is how to call a function: of our own the signature, of others the name.
func signatureOf(name string) string {
	for _, f := range Functions() {
		if f.Name == name {
			call, _, _ := strings.Cut(f.Signatures[0], " ->")
			return call
		}
	}
	return name + "()"
}

func ourNames() []string {
	var ours []string
	for _, f := range Functions() {
		ours = append(ours, f.Name)
	}
	return ours
}
