// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/lazy"
	"k8s.io/apiserver/pkg/cel/library"
)

// errUnsupported marks something that the checker cannot evaluate: it reports the deletion as not checked, not as kept.
var errUnsupported = errors.New("not supported by the checker")

// notKnown matches the functions and variables of the product that the checker does not implement.
var notKnown = regexp.MustCompile(`\bnode\b|\b(imageRepository|imageTag|configMapsIn|secretsIn)\(`)

// relations matches the variables about other objects.
var relations = regexp.MustCompile(`(?:^|[^.\w])(references|targets|selected)\b`)

var sharedEnv = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(append(functions(),
		cel.Variable("object", cel.DynType), cel.Variable("variables", cel.DynType), cel.Variable("references", cel.DynType),
		cel.Variable("targets", cel.DynType), cel.Variable("selected", cel.DynType),
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		ext.Bindings(), ext.Strings(), ext.Sets(), ext.Lists(), ext.TwoVarComprehensions(), ext.Math(),
		library.Lists(), library.Regex(), library.URLs(), library.Quantity(), library.IP(), library.CIDR(),
		library.Format(), library.SemverLib(library.SemverVersion(1)),
	)...)
})

// program is a compiled expression, or why it cannot be compiled.
type program struct {
	program cel.Program
	err     error
}

// compiled contains the compiled expressions of a rule; nil for missing ones.
type compiled struct {
	variables                            map[string]cel.Program
	names                                []string
	eligible, start, ttl, group, outcome cel.Program
	relations                            []string // that an expression reads
	unknown                              error    // why the rule cannot be checked
}

// refers reports whether the results depend on other objects.
func (c *compiled) refers() bool { return len(c.relations) > 0 }

// program compiles an expression once: each rule of a policy has the variables of the policy.
func (j *checker) program(text string) (cel.Program, error) {
	if text == "" {
		return nil, nil
	}
	known, ok := j.programs[text]
	if !ok {
		ast, issues := j.env.Compile(text)
		if known.err = issues.Err(); known.err == nil {
			known.program, known.err = j.env.Program(ast, cel.InterruptCheckFrequency(100), cel.CostLimit(dearest))
		}
		j.programs[text] = known
	}
	return known.program, known.err
}

// compileVariables checks that all variables compile: one that does not makes all rules invalid.
func (j *checker) compileVariables(p *policy) error {
	for _, v := range p.spec.Variables {
		if _, err := j.program(v.Expression); err != nil && !notKnown.MatchString(v.Expression) {
			return err
		}
	}
	return nil
}

func (j *checker) compile(r *rule) (*compiled, error) {
	c := &compiled{variables: map[string]cel.Program{}}
	texts := []string{r.Eligible, r.StartTime, r.TTLExpression, r.Outcome}
	group := ""
	if r.KeepNewest != nil {
		group = r.KeepNewest.GroupBy
	}
	for _, v := range r.policy.spec.Variables {
		texts = append(texts, v.Expression)
	}
	for _, text := range append(texts, group) {
		for _, found := range relations.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(c.relations, found[1]) {
				c.relations = append(c.relations, found[1])
			}
		}
		if notKnown.MatchString(text) {
			c.unknown = fmt.Errorf("%w: rule %s reads %s", errUnsupported, r.id(), text)
			return c, nil
		}
	}
	for _, v := range r.policy.spec.Variables {
		c.variables[v.Name], _ = j.program(v.Expression) // compileVariables reports the error
		c.names = append(c.names, v.Name)
	}
	var errs [5]error
	c.eligible, errs[0] = j.program(cmp.Or(r.Eligible, "true"))
	c.start, errs[1] = j.program(r.StartTime)
	c.ttl, errs[2] = j.program(r.TTLExpression)
	c.group, errs[3] = j.program(group)
	c.outcome, errs[4] = j.program(r.Outcome)
	return c, errors.Join(errs[:]...)
}

// dearest is the cost limit of an evaluation, in CEL cost units, which are the same on every machine. The product's limit is
// much lower, about a tenth, and the product keeps the object as well. No scenario has expressions between the two limits.
const dearest = 5_000_000

// longest is the time limit of an evaluation.
const longest = time.Minute

// about is the input of expressions: one version of an object, and the variables about other objects that a rule reads.
type about struct {
	object    map[string]any
	relations map[string]map[string]any
}

// ask evaluates a program for an object.
func (c *compiled) ask(p cel.Program, a about) (ref.Val, error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	value, _, err := p.ContextEval(ctx, a.with(c.lazily(ctx, a)))
	return value, err
}

func (a about) with(variables *lazy.MapValue) map[string]any {
	all := map[string]any{"object": a.object, "variables": variables}
	for name, value := range a.relations {
		all[name] = value
	}
	return all
}

// lazily returns the variables, each evaluated on first use.
func (c *compiled) lazily(ctx context.Context, a about) *lazy.MapValue {
	variables := lazy.NewMapValue(types.MapType)
	for _, name := range c.names {
		variables.Append(name, func(m *lazy.MapValue) ref.Val {
			if c.variables[name] == nil {
				return types.NewErr("variable %s cannot be compiled", name)
			}
			value, _, err := c.variables[name].ContextEval(ctx, a.with(m))
			if err != nil {
				return types.WrapErr(err)
			}
			return value
		})
	}
	return variables
}

func boolean(v ref.Val) (bool, error) {
	b, ok := v.Value().(bool)
	if !ok {
		return false, errors.New("not a bool")
	}
	return b, nil
}

func text(v ref.Val) (string, error) {
	s, ok := v.Value().(string)
	if !ok {
		return "", errors.New("not a string")
	}
	return s, nil
}

// unwrap returns the value of an optional; ok is false if it has none.
func unwrap(v ref.Val) (value ref.Val, ok bool) {
	optional, is := v.(*types.Optional)
	switch {
	case !is:
		return v, true
	case !optional.HasValue():
		return nil, false
	default:
		return unwrap(optional.GetValue())
	}
}

// moment reads a timestamp, or a text in RFC 3339; zero for none.
func moment(v ref.Val) (time.Time, error) {
	v, ok := unwrap(v)
	if !ok {
		return time.Time{}, nil
	}
	switch x := v.Value().(type) {
	case time.Time:
		return x, nil
	case string:
		return time.Parse(time.RFC3339, x)
	default:
		return time.Time{}, errors.New("not a timestamp")
	}
}

// never is an infinite TTL.
const never time.Duration = -1

// span reads a duration, or a text as in ttl; never for none.
func span(v ref.Val) (time.Duration, error) {
	v, ok := unwrap(v)
	if !ok {
		return never, nil
	}
	switch x := v.Value().(type) {
	case time.Duration:
		if x < 0 {
			return 0, errors.New("a TTL must not be negative")
		}
		return x, nil
	case string:
		return duration(x)
	default:
		return 0, errors.New("not a duration")
	}
}
