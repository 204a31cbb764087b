package engine

import (
	"fmt"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// program is an expression that is ready to run. It is immutable.
type program struct {
	run          cel.Program
	loops        bool // it has a comprehension that iterates, so it runs under a deadline
	fields       *fields
	extras       ofExtras[*fields]  // the fields of each extra that it reads
	instructions int                // of its regular expressions
	size         int                // of the compiled tree, in nodes
	at           ofExtras[*finding] // where it, or a variable that it uses, reads each extra; nil if it does not
}

// compiled is the result of compiling an expression: a program, or the findings if it is invalid.
type compiled struct {
	program  *program
	findings []finding
}

// interruptFrequency is the number of comprehension steps between two checks of the deadline.
const interruptFrequency = 100

// expression compiles the text, or returns the cached result. Variables are part of the cache key only where the text
// uses them.
func (c *Compiler) expression(text string, wants result, s *scope) *compiled {
	key := digest(strconv.Itoa(EnvironmentVersion), wants.field(), text, s.digestFor(text))
	return c.compiled.get(key, func() (*compiled, int) {
		p, findings := c.compile(text, wants, s)
		return &compiled{program: p, findings: findings}, p.bytes() + len(text)
	})
}

// bytes estimates the memory of a program.
func (p *program) bytes() int {
	const perNode, perInstruction, least = 256, 128, 1024
	if p == nil {
		return least
	}
	return least + perNode*p.size + perInstruction*p.instructions
}

func (c *Compiler) compile(text string, wants result, s *scope) (p *program, findings []finding) {
	defer recoverAs(&findings)
	checked, findings := c.check(text, wants, s)
	if len(findings) > 0 {
		return nil, findings
	}
	at := s.reads(checked)
	if taken := hidden(checked, at); taken != nil {
		return nil, []finding{*taken}
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
func (c *Compiler) check(text string, wants result, s *scope) (*cel.Ast, []finding) {
	d := diagnosis{text: text, names: c.names, scope: s}
	parsed, issues := s.env.Parse(text)
	if len(issues.Errors()) > 0 {
		return nil, d.explain(issues)
	}
	d.tree = parsed.NativeRep()
	if findings := d.lint(); len(findings) > 0 {
		return nil, findings
	}
	checked, issues := s.env.Check(parsed)
	if len(issues.Errors()) > 0 {
		return nil, d.explain(issues)
	}
	if findings := failing(s.env, checked.NativeRep()); len(findings) > 0 {
		return nil, findings
	}
	if t := checked.OutputType(); !wants.accepts(t) {
		return nil, []finding{wrongResult(d.tree.Expr(), wants, t)}
	}
	return checked, nil
}

func plan(env *cel.Env, checked *cel.Ast) (*program, []finding) {
	tree := checked.NativeRep().Expr()
	options, loops := programOptions(env, tree)
	run, err := env.Program(checked, options...)
	if err != nil {
		return nil, []finding{{message: err.Error(), line: 1, column: 1}}
	}
	p := &program{run: run, loops: loops, instructions: instructionsIn(tree), size: nodes(tree)}
	p.fields, p.extras = fieldsRead(tree)
	return p, nil
}

// programOptions returns the options that keep the expression within its limits, and whether it needs a deadline.
func programOptions(env *cel.Env, tree ast.Expr) (options []cel.ProgramOption, loops bool) {
	options = []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CustomDecoratorV2(guard(env))}
	loops, binds := comprehensionsOf(tree)
	if binds {
		options = append(options, cel.CustomDecoratorV2(settle))
	}
	if loops {
		options = append(options, cel.CustomDecoratorV2(countSteps(stepsOf(tree))), cel.InterruptCheckFrequency(interruptFrequency))
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
func recoverAs(findings *[]finding) {
	if r := recover(); r != nil {
		*findings = []finding{{message: fmt.Sprintf("internal error: %v", r), line: 1, column: 1}}
	}
}
