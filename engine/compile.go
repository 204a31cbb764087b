// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/syntax"
)

// program is an expression that is ready to run. It is immutable.
type program struct {
	run           cel.Program
	loops         bool // it has a comprehension that iterates, so it runs under a deadline
	fields        *fields
	contextFields perContextVar[*fields]        // the fields of each context variable that it reads
	instructions  int                           // of its regular expressions
	size          int                           // of the compiled tree, in nodes
	at            perContextVar[*contextVarUse] // where it, or a variable that it uses, reads each context variable; nil if it does not
}

// compiled is the result of compiling an expression: a program, or the findings if it is invalid.
type compiled struct {
	program   *program
	findings  []diagnose.Finding
	variables []string // the names that it could use
}

// interruptFrequency is the number of comprehension steps between two checks of the deadline.
const interruptFrequency = 100

// expression compiles the text, or returns the cached result. Variables are part of the cache key only where the text
// uses them, or if it is invalid: then a hint may name any of them.
func (c *Compiler) expression(text string, wants result, s *scope) *compiled {
	key := digest(strconv.Itoa(EnvironmentVersion), wants.field(), text, s.digestFor(text))
	compile := func() (*compiled, int) {
		p, findings := c.compile(text, wants, s)
		return &compiled{program: p, findings: findings, variables: s.names()}, p.bytes() + len(text)
	}
	known := c.compiled.get(key, compile)
	if len(known.findings) == 0 || slices.Equal(known.variables, s.names()) {
		return known
	}
	return c.compiled.get(digest(append(s.names(), key)...), compile)
}

// bytes estimates the memory of a program.
func (p *program) bytes() int {
	const perNode, perInstruction, least = 256, 128, 1024
	if p == nil {
		return least
	}
	return least + perNode*p.size + perInstruction*p.instructions
}

func (c *Compiler) compile(text string, wants result, s *scope) (p *program, findings []diagnose.Finding) {
	defer recoverAs(&findings)
	checked, findings := c.check(text, wants, s)
	if len(findings) > 0 {
		return nil, findings
	}
	at := s.contextVarsRead(checked)
	if taken := hiddenContextVar(checked, at); taken != nil {
		return nil, []diagnose.Finding{*taken}
	}
	inlined, findings := s.inline(checked)
	if len(findings) > 0 {
		return nil, findings
	}
	p, findings = plan(s.env, inlined)
	if p != nil {
		p.at = at
	}
	return p, findings
}

// check parses and type-checks the text.
func (c *Compiler) check(text string, wants result, s *scope) (*cel.Ast, []diagnose.Finding) {
	in := diagnose.Scope{Env: s.env, Functions: c.functions, Variables: s.names()}
	checked, findings := in.Check(text)
	if checked != nil && !wants.accepts(checked.OutputType()) {
		return nil, wrongResult(checked, wants)
	}
	return checked, findings
}

func plan(env *cel.Env, checked *cel.Ast) (*program, []diagnose.Finding) {
	tree := checked.NativeRep().Expr()
	options, loops := programOptions(env, tree)
	run, err := env.Program(checked, options...)
	if err != nil {
		return nil, diagnose.Whole(err.Error(), "")
	}
	p := &program{run: run, loops: loops, instructions: instructionsIn(tree), size: nodes(tree)}
	p.fields, p.contextFields = fieldsRead(tree)
	return p, nil
}

// programOptions returns the options that keep the expression within its limits, and whether it needs a deadline.
func programOptions(env *cel.Env, tree ast.Expr) (options []cel.ProgramOption, loops bool) {
	options = []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CustomDecoratorV2(guard(env))}
	loops, binds := comprehensionsOf(tree)
	steps := stepsOf(tree)
	if binds {
		options = append(options, cel.CustomDecoratorV2(freezeAttributes(steps)))
	}
	if loops {
		options = append(options, cel.CustomDecoratorV2(countSteps(steps)), cel.InterruptCheckFrequency(interruptFrequency))
	}
	return options, loops
}

// comprehensionsOf reports whether there is a comprehension that iterates, and one that does not: cel.bind.
func comprehensionsOf(tree ast.Expr) (loops, binds bool) {
	for e := range syntax.All(tree) {
		if e.Kind() != ast.ComprehensionKind {
			continue
		}
		if syntax.Iterates(e.AsComprehension()) {
			loops = true
		} else {
			binds = true
		}
	}
	return loops, binds
}

// recoverAs turns a panic of the CEL library into a finding: a bug in the library must not end the process.
func recoverAs(findings *[]diagnose.Finding) {
	if r := recover(); r != nil {
		*findings = diagnose.Whole(fmt.Sprintf("internal error: %v", r), "")
	}
}
