// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/sunset-k8s/sunset/engine/cost"
	"github.com/sunset-k8s/sunset/test/expect"
)

// constant has the functions that need no price although they take or return a string, a list, a map or any value, and
// the reason.
var constant = map[string]string{
	"_[_]": "an element", "_[?_]": "an element", "_?._": "a field", "_?_:_": "one of its operands", "first": "an element", "last": "an element",
	"value": "the contained value", "or": "one of its operands", "orValue": "one of its operands", "optional.of": "its argument", "optional.ofNonZeroValue": "its argument",
	"optional.none": "nothing", "dyn": "its argument", "type": "a type", "cel.@block": "not callable",
	"getHost": "a part of the URL", "getHostname": "a part of the URL", "getPort": "a part of the URL", "getScheme": "a part of the URL", "hasValue": "no part of the value",
}

// TestEveryFunctionHasAPrice fails if a library adds a function that can build or read large values and that has neither a
// price nor a reason for having none.
func TestEveryFunctionHasAPrice(t *testing.T) {
	c, err := NewCompiler(Options{})
	expect.NoError(t, err)
	for name, function := range c.env.Functions() {
		_, priced := cost.Functions[name]
		parses := slices.Contains(cost.Parsers, name)
		if priced || parses || constant[name] != "" || function.IsDeclarationDisabled() {
			continue
		}
		for _, o := range function.OverloadDecls() {
			if builds(o.ResultType()) || slices.ContainsFunc(o.ArgTypes(), builds) {
				t.Errorf("%s (%s) of %s returns %s and has no price", name, o.ID(), o.ArgTypes(), o.ResultType())
			}
		}
	}
	for name := range cost.Functions {
		if c.env.Functions()[name] == nil {
			t.Errorf("function %s does not exist", name)
		}
	}
	for _, name := range cost.Parsers {
		if c.env.Functions()[name] == nil {
			t.Errorf("function %s does not exist", name)
		}
	}
}

// builds reports whether a result or an operand can be large.
func builds(t *cel.Type) bool {
	switch t.Kind() {
	case cel.StringKind, cel.BytesKind, cel.ListKind, cel.MapKind, cel.DynKind, cel.TypeParamKind:
		return true
	}
	return len(t.Parameters()) > 0 && !strings.HasPrefix(t.TypeName(), "type") && builds(t.Parameters()[0])
}
