package engine

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/google/cel-go/cel"
)

// names are the functions and macros that an expression can call, sorted.
type names []string

func namesOf(env *cel.Env) names {
	known := map[string]bool{}
	for name := range env.Functions() {
		known[name] = true
	}
	for _, macro := range env.Macros() {
		known[macro.Function()] = true
	}
	maps.DeleteFunc(known, func(name string, _ bool) bool { return !unicode.IsLetter(rune(name[0])) })
	return slices.Sorted(maps.Keys(known))
}

// signatureOf returns how to call a function: the signature of one of our own functions, and the name of any other.
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
