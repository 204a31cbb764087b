package engine

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/sunset-k8s/sunset/engine/cost"
)

// EnvironmentVersion counts the changes to what an expression means: a function that answers differently, a library
// that comes or goes. It is part of every cache key and of every Rule.Key.
const EnvironmentVersion = 1

// What an expression may be, checked when it is compiled.
const (
	MaxExpressionSize = 10240 // characters
	MaxDepth          = 100   // parentheses, calls and operators inside each other
	MaxNodes          = 10000 // of the syntax tree, variables and macros written out
	MaxNesting        = 2     // comprehensions (all, exists, map, filter, ...) inside each other
	MaxRange          = cost.MaxRange
	MaxRegexSize      = 10_000 // instructions of a compiled regular expression
	MaxPrecision      = cost.MaxPrecision
)

const (
	objectVariable     = "object"
	nodeVariable       = "node"
	referencesVariable = "references"
	variablesVariable  = "variables"
)

// newBase is the environment without the object, so that it can be given a type.
func newBase() (*cel.Env, error) {
	env, err := cel.NewEnv(append(languageOptions(), append(libraryOptions(), functionOptions()...)...)...)
	if err != nil {
		return nil, fmt.Errorf("build CEL environment: %w", err)
	}
	return env, nil
}

// newEnvironment is the environment in which expressions run. The object is dynamic there: what runs is what was
// decoded, whatever a schema says about it.
func newEnvironment(base *cel.Env) (*cel.Env, error) {
	env, err := base.Extend(append(extraVariables(), cel.VariableWithDoc(objectVariable, cel.DynType, objectDoc))...)
	if err != nil {
		return nil, fmt.Errorf("declare object and what is beside it: %w", err)
	}
	return env, nil
}

const objectDoc = "The object as the API server has it: object.metadata, object.spec, object.status and so on."

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

func functionOptions() []cel.EnvOption {
	var options []cel.EnvOption
	for _, f := range Functions() {
		options = append(options, cel.Function(f.Name, append(f.overloads, cel.FunctionDocs(f.Doc))...))
	}
	return options
}
