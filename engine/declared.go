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
	d.known[name] = d.compiler.typed(d.variables, declare)
	return d.known[name]
}

// typed declares variables with the types that they have under schemas. declare declares the types of the variables beside
// them, such as object.
func (c *Compiler) typed(variables []v1alpha1.Variable, declare func(*openapi.Types) []cel.EnvOption) *typed {
	provider := openapi.NewTypes(c.base.CELTypeProvider())
	env, err := c.base.Extend(append(declare(provider), cel.CustomTypeProvider(provider))...)
	if err != nil {
		env = c.base // a bug: object is then an unknown name, so that every expression about it has a finding
	}
	t := &typed{scope: &scope{env: env}, findings: map[string][]diagnose.Finding{}}
	for _, v := range variables {
		result, findings := c.checked(v.Expression, anything, t.scope)
		t.findings[v.Name] = findings
		env, err := t.scope.env.Extend(cel.Variable(syntax.VariableName(v.Name), result))
		if err != nil {
			continue // such a rule does not compile
		}
		t.scope = &scope{env: env, variables: append(t.scope.variables, variable{name: v.Name})}
	}
	return t
}
