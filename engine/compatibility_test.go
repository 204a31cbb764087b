// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestFunctionNamesDifferFromKubernetes: none has the name of a function of the API server or of CEL, because users would expect its
// meaning.
func TestFunctionNamesDifferFromKubernetes(t *testing.T) {
	theirs := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv().Functions()
	if theirs["quantity"] == nil || theirs["size"] == nil {
		t.Fatal("the functions of the API server are missing")
	}
	for _, f := range engine.Functions {
		if theirs[f.Name] != nil {
			t.Errorf("the API server has a function %s", f.Name)
		}
	}
}

// theirVariables are the variables of CEL in Kubernetes: of admission policies, CustomResourceDefinitions, authorization,
// authentication and dynamic resource allocation. They are in compile.go of k8s.io/apiserver/pkg/admission/plugin/cel and of the
// packages for the others.
var theirVariables = []string{"object", "oldObject", "params", "request", "namespaceObject", "authorizer", "variables",
	"self", "oldSelf", "fieldSelector", "labelSelector", "claims", "user", "device"}

// TestVariableNamesDifferFromKubernetes: only object and variables have names of the API server, and mean the same. Expressions
// cannot read its other variables, nor does a variable have the name of a function.
func TestVariableNamesDifferFromKubernetes(t *testing.T) {
	c, err := engine.NewCompiler(engine.Options{})
	expect.NoError(t, err)
	ours := sets.New(c.Variables()...)
	expect.Equal(t, "variables of rules", []string{syntax.NodeVariable, syntax.ObjectVariable, syntax.ReferencesVariable, syntax.SelectedVariable, syntax.TargetsVariable}, sets.List(ours))
	ours.Insert(syntax.VariablesVariable, syntax.RecordVariable)
	expect.Equal(t, "names of the API server", []string{"object", "variables"}, sets.List(ours.Intersection(sets.New(theirVariables...))))
	functions := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv().Functions()
	for _, f := range engine.Functions {
		functions[f.Name] = nil
	}
	for name := range ours {
		if _, taken := functions[name]; taken {
			t.Errorf("variable %s has the name of a function", name)
		}
	}
	for _, name := range theirVariables {
		_, compiles := c.Expression(name + " == null")
		expect.Equal(t, "an expression can read "+name, name == "object", compiles)
	}
}
