package engine

import (
	"github.com/google/cel-go/cel"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// declared are the variables of a policy, declared once for all of its rules: with any types, and, as soon as a rule needs them, with
// those that images or references have. It is not safe for concurrent use.
type declared struct {
	compiler  *Compiler
	variables []v1alpha1.Variable
	scope     *scope
	known     map[string]*typed
}

// typed are variables with the types that they have under a schema.
type typed struct {
	scope    *scope
	findings map[string][]finding // by variable
	err      error                // the schema cannot be used
	misread  []policy.Problem     // of variables that read references; nil before the first rule that does
}

func (c *Compiler) declared(variables []v1alpha1.Variable) *declared {
	return &declared{compiler: c, variables: variables, scope: c.scope(variables), known: map[string]*typed{}}
}

// under gives the variables under schemas that have a name; declare has the types of what they are about.
func (d *declared) under(name string, declare func(*schemaTypes) []cel.EnvOption) *typed {
	if known := d.known[name]; known != nil {
		return known
	}
	provider := newSchemaTypes(d.compiler.base.CELTypeProvider())
	t := &typed{}
	var env *cel.Env
	if env, t.err = d.compiler.base.Extend(append(declare(provider), cel.CustomTypeProvider(provider))...); t.err == nil {
		t.scope, t.findings = d.compiler.declareFor(d.variables, &scope{env: env})
	}
	d.known[name] = t
	return t
}

// declareFor declares variables with the types they have under the schema of a scope, and gives what is found in each.
func (c *Compiler) declareFor(variables []v1alpha1.Variable, s *scope) (*scope, map[string][]finding) {
	all := map[string][]finding{}
	for _, v := range variables {
		t, findings := c.checked(v.Expression, anything, s)
		all[v.Name] = findings
		env, err := s.env.Extend(cel.Variable(variablesVariable+"."+v.Name, t))
		if err != nil {
			continue // the rule would not have compiled
		}
		s = &scope{env: env, variables: append(s.variables, variable{name: v.Name})}
	}
	return s, all
}
