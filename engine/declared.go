// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/google/cel-go/cel"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/openapi"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// declared holds the variables of a policy, declared once for all of its rules. In its scope their types are dynamic.
// Once a rule needs them, it also declares them with the types that apply to images or to references. It is not safe
// for concurrent use.
type declared struct {
	compiler   *Compiler
	variables  []v1alpha1.Variable
	references []*policy.Reference // that the policy declares
	scope      *scope
	known      map[string]*typed
}

// typed holds variables with the types that they have under a schema.
type typed struct {
	scope    *scope
	findings map[string][]diagnose.Finding // by the name of the variable
	err      error                         // set if the schema cannot be used
	problems []policy.Problem              // of the variables that read references; nil until a rule reads them
}

func (c *Compiler) declared(variables []v1alpha1.Variable) *declared {
	return &declared{compiler: c, variables: variables, scope: c.scope(variables), known: map[string]*typed{}}
}

// under returns the variables as typed by the schemas with this name. declare declares the types of the variables
// beside them, such as object.
func (d *declared) under(name string, declare func(*openapi.Types) []cel.EnvOption) *typed {
	if known := d.known[name]; known != nil {
		return known
	}
	provider := openapi.NewTypes(d.compiler.base.CELTypeProvider())
	t := &typed{}
	var env *cel.Env
	if env, t.err = d.compiler.base.Extend(append(declare(provider), cel.CustomTypeProvider(provider))...); t.err == nil {
		t.scope, t.findings = d.compiler.declareFor(d.variables, &scope{env: env})
	}
	d.known[name] = t
	return t
}

// declareFor declares variables with the types that they have under the schema of a scope, and returns the findings of
// each.
func (c *Compiler) declareFor(variables []v1alpha1.Variable, s *scope) (*scope, map[string][]diagnose.Finding) {
	all := map[string][]diagnose.Finding{}
	for _, v := range variables {
		t, findings := c.checked(v.Expression, anything, s)
		all[v.Name] = findings
		env, err := s.env.Extend(cel.Variable(syntax.VariableName(v.Name), t))
		if err != nil {
			continue // such a rule does not compile
		}
		s = &scope{env: env, variables: append(s.variables, variable{name: v.Name})}
	}
	return s, all
}
