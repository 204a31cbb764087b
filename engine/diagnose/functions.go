// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/google/cel-go/cel"
)

// Functions are the functions and macros that an expression can call. They are immutable.
type Functions struct {
	all   []string          // sorted
	own   []string          // the functions of Sunset, in the order of the documentation
	calls map[string]string // how to call each of them
}

// NewFunctions returns the functions of an environment. signatures has one signature of each function that Sunset adds,
// such as "finished(object) -> bool".
func NewFunctions(env *cel.Env, signatures []string) *Functions {
	known := map[string]bool{}
	for name := range env.Functions() {
		known[name] = true
	}
	for _, macro := range env.Macros() {
		known[macro.Function()] = true
	}
	maps.DeleteFunc(known, func(name string, _ bool) bool { return !unicode.IsLetter(rune(name[0])) })
	f := &Functions{all: slices.Sorted(maps.Keys(known)), calls: map[string]string{}}
	for _, signature := range signatures {
		name, _, _ := strings.Cut(signature, "(")
		f.own = append(f.own, name)
		f.calls[name], _, _ = strings.Cut(signature, " ->")
	}
	return f
}
