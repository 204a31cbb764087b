// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/sunset-k8s/sunset/engine/cost"
	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/syntax"
)

// EnvironmentVersion counts the changes to the meaning of expressions: a function that returns a different result, a
// library that is added or removed. It is part of every cache key and of every Program.Key.
const EnvironmentVersion = 1

// Limits of an expression, checked when it is compiled.
const (
	MaxExpressionSize = syntax.MaxExpressionSize
	MaxDepth          = syntax.MaxDepth
	MaxNodes          = syntax.MaxNodes
	MaxNesting        = syntax.MaxNesting
	MaxRange          = cost.MaxRange
	MaxRegexSize      = 10_000 // instructions of a compiled regular expression
	MaxPrecision      = cost.MaxPrecision
)

// shared are the environments of all Compilers. They do not change.
type shared struct {
	base, env *cel.Env
	functions *diagnose.Functions
}

// environments makes the environments once: that takes much longer than to compile an expression.
var environments = sync.OnceValues(func() (*shared, error) {
	base, err := newBase()
	if err != nil {
		return nil, err
	}
	env, err := newEnvironment(base)
	if err != nil {
		return nil, err
	}
	return &shared{base, env, diagnose.NewFunctions(env, signatures())}, nil
})

// newBase returns the environment without the variable object, so that the variable can be declared with a type.
func newBase() (*cel.Env, error) {
	env, err := cel.NewEnv(slices.Concat(languageOptions(), libraryOptions(), functionOptions(), timeZoneOptions())...)
	if err != nil {
		return nil, fmt.Errorf("build CEL environment: %w", err)
	}
	return env, nil
}

// newEnvironment returns the environment in which expressions run. There, object is dynamic: expressions run on the
// decoded object, and a schema does not affect them.
func newEnvironment(base *cel.Env) (*cel.Env, error) {
	env, err := base.Extend(append(declareContextVars(), cel.VariableWithDoc(syntax.ObjectVariable, cel.DynType, objectDoc))...)
	if err != nil {
		return nil, fmt.Errorf("declare object and the other variables: %w", err)
	}
	return env, nil
}

const objectDoc = "The object as the API server stores it: object.metadata, object.spec, object.status and other fields."

func languageOptions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.CustomTypeAdapter(adapter{}),
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableMacroCallTracking(),
		cel.EagerlyValidateDeclarations(true),
		cel.ParserExpressionSizeLimit(MaxExpressionSize),
		cel.ParserRecursionLimit(MaxDepth),
		cel.ExpressionNodeLimit(MaxNodes),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(),
			cel.ValidateHomogeneousAggregateLiterals(),
			cel.ValidateComprehensionNestingLimit(MaxNesting),
		),
	}
}

func libraryOptions() []cel.EnvOption {
	return []cel.EnvOption{
		ext.Bindings(),
		ext.Strings(ext.StringsVersion(4), ext.StringsMaxPrecision(MaxPrecision)),
		ext.Sets(),
		ext.Lists(ext.ListsVersion(3), ext.ListsMaxRangeSize(MaxRange)),
		ext.TwoVarComprehensions(),
		ext.Math(),
		library.Lists(library.ListsVersion(1)),
		library.Regex(),
		library.URLs(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),
	}
}

// signatures returns one signature of each of our functions.
func signatures() []string {
	var all []string
	for _, f := range Functions {
		all = append(all, f.Signatures[0])
	}
	return all
}

func functionOptions() []cel.EnvOption {
	var options []cel.EnvOption
	for _, f := range Functions {
		options = append(options, cel.Function(f.Name, append(f.overloads, cel.FunctionDocs(f.Doc))...))
	}
	return options
}
