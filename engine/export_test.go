// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// Expression is one compiled expression of any type, for tests.
type Expression struct {
	program *program
	common  cel.Program // the same expression with cel-go's own adapter
}

// Expression compiles a text of any type.
func (c *Compiler) Expression(text string) (*Expression, bool) {
	s := c.scope(nil)
	checked, findings := c.check(text, anything, s)
	if len(findings) > 0 {
		return nil, false
	}
	p, findings := plan(s.env, checked)
	if len(findings) > 0 {
		return nil, false
	}
	env, err := c.env.Extend(cel.CustomTypeAdapter(types.DefaultTypeAdapter))
	if err != nil {
		return nil, false
	}
	common, err := env.Program(checked)
	if err != nil {
		return nil, false
	}
	return &Expression{program: p, common: common}, true
}

// Variables returns the names of the variables that an expression of a rule without spec.variables can read.
func (c *Compiler) Variables() (names []string) {
	for _, v := range c.env.Variables() {
		if v.Type().Kind() != types.TypeKind { // the names of types, such as int
			names = append(names, v.Name())
		}
	}
	return names
}

// Value evaluates the expression as rules do.
func (e *Expression) Value(object map[string]any) (ref.Val, error) {
	v, _, err := e.program.run.Eval(&input{object: object})
	return v, err
}

// CommonValue evaluates the expression with cel-go's own adapter.
func (e *Expression) CommonValue(object map[string]any) (ref.Val, error) {
	v, _, err := e.common.Eval(&input{object: object})
	return v, err
}

// Decode decodes the fields of an object's JSON that the expression reads.
func (e *Expression) Decode(data []byte) (map[string]any, error) {
	return decoderOf(e.program.fields).Decode(data)
}

// Part returns a copy of the object with only the fields that the expression reads.
func (e *Expression) Part(object map[string]any) map[string]any {
	part, _ := project(object, e.program.fields).(map[string]any)
	return part
}

// Fields are the paths that the expression reads.
func (e *Expression) Fields() []string { return e.program.fields.paths() }

func project(v any, f *fields) any {
	if f.whole {
		return v
	}
	every := f.below[anyField]
	switch x := v.(type) {
	case map[string]any:
		part := map[string]any{}
		for name, value := range x {
			below := &fields{}
			if every != nil {
				below.add(every)
			}
			if named := f.below[name]; named != nil {
				below.add(named)
			} else if every == nil {
				continue
			}
			part[name] = project(value, below)
		}
		return part
	case []any:
		part := make([]any, len(x))
		for i, value := range x {
			below := every
			if below == nil {
				below = &fields{}
			}
			part[i] = project(value, below)
		}
		return part
	}
	return v
}

// CompiledCount returns how many expressions the Compiler caches.
func (c *Compiler) CompiledCount() int { return c.compiled.entries.Len() }

// Normalized returns a text as explanations write their parts.
func Normalized(c *Compiler, text string) string {
	checked, _ := c.check(text, anything, c.scope(nil))
	return syntax.Format(checked.NativeRep().Expr(), checked.NativeRep().SourceInfo())
}
