package engine

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/sunset-k8s/sunset/engine/cost"
	"github.com/sunset-k8s/sunset/test/expect"
)

// constant are the functions that need no price although they give text, a list, a map or anything, and why.
var constant = map[string]string{
	"_[_]": "an element", "_[?_]": "an element", "_?._": "a field", "_?_:_": "one of two", "first": "an element", "last": "an element",
	"value": "what is in it", "or": "one of two", "orValue": "one of two", "optional.of": "what it is given", "optional.ofNonZeroValue": "what it is given",
	"optional.none": "nothing", "dyn": "what it is given", "type": "a type", "min": "an element", "max": "an element",
	"math.@max": "a number", "math.@min": "a number", "cel.@block": "cannot be written",
	"getQuery": "url() has paid", "getEscapedPath": "url() has paid", "getHost": "url() has paid", "getHostname": "url() has paid",
	"getPort": "url() has paid", "getScheme": "url() has paid", "controllerOf": "a part of the object",
	"imageRepository": "a part of the text", "imageTag": "a part of the text",
}

// TestEveryFunctionHasAPrice fails when a library brings a function that can build something and that nobody has looked at.
func TestEveryFunctionHasAPrice(t *testing.T) {
	c, err := NewCompiler(Options{})
	expect.NoError(t, err)
	for name, function := range c.env.Functions() {
		_, priced := cost.Functions[name]
		_, parses := cost.Parsers[name]
		if priced || parses || constant[name] != "" {
			continue
		}
		for _, o := range function.OverloadDecls() {
			if builds(o.ResultType()) {
				t.Errorf("%s (%s) gives %s and has no price", name, o.ID(), o.ResultType())
			}
		}
	}
	for name := range cost.Functions {
		if c.env.Functions()[name] == nil {
			t.Errorf("there is no function %s", name)
		}
	}
	for name := range cost.Parsers {
		if c.env.Functions()[name] == nil {
			t.Errorf("there is no function %s", name)
		}
	}
}

// builds reports whether a result can be large.
func builds(t *cel.Type) bool {
	switch t.Kind() {
	case cel.StringKind, cel.BytesKind, cel.ListKind, cel.MapKind, cel.DynKind, cel.TypeParamKind:
		return true
	}
	return len(t.Parameters()) > 0 && !strings.HasPrefix(t.TypeName(), "type") && builds(t.Parameters()[0])
}
