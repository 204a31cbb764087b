// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// scope is what an expression may use: the environment and the variables of its policy. It is immutable after it is
// built.
type scope struct {
	env       *cel.Env
	variables []variable
}

// variable is a named expression in which the earlier variables are expanded.
type variable struct {
	name, text string
	definition *cel.Ast // nil if the expression is invalid
	findings   []diagnose.Finding
	reads      perContextVar[bool] // the context variables that it, or a variable that it uses, reads
	digest     string              // of the text and of the variables that it uses
}

// scope declares the variables. Each may use the variables before it.
func (c *Compiler) scope(variables []v1alpha1.Variable) *scope {
	if len(variables) == 0 {
		return &scope{env: c.env}
	}
	var texts []string
	for _, v := range variables {
		texts = append(texts, v.Name, v.Expression)
	}
	return c.scopes.get(digest(texts...), func() (*scope, int) {
		s, bytes := &scope{env: c.env}, 0
		for _, v := range variables {
			s = c.declare(s, v)
			bytes += bytesOfScope + bytesOfNode*nodesOf(s.variables[len(s.variables)-1].definition)
		}
		return s, bytes
	})
}

// Estimates of the memory of an environment with one more variable, and of one node of the expression of a variable.
const (
	bytesOfScope = 16 << 10
	bytesOfNode  = 512
)

func nodesOf(checked *cel.Ast) int {
	if checked == nil {
		return 0
	}
	return size(checked)
}

// declare adds a variable to a scope. It also declares an invalid variable, so that expressions that use it do not
// report an unknown name.
func (c *Compiler) declare(s *scope, declared v1alpha1.Variable) *scope {
	v := variable{name: declared.Name, text: declared.Expression}
	v.definition, v.reads, v.findings = c.define(s, declared)
	v.digest = digest(v.name, v.text, s.digestFor(v.text))
	t := cel.DynType
	if v.definition != nil {
		t = v.definition.OutputType()
	}
	env, err := s.env.Extend(cel.Variable(syntax.VariableName(v.name), t))
	if err != nil {
		env = s.env
		if len(v.findings) == 0 {
			v.findings = diagnose.Whole(err.Error(), "")
		}
	}
	return &scope{env: env, variables: append(slices.Clip(s.variables), v)}
}

func (c *Compiler) define(s *scope, v v1alpha1.Variable) (definition *cel.Ast, reads perContextVar[bool], findings []diagnose.Finding) {
	defer recoverAs(&findings)
	if !identifier.MatchString(v.Name) || s.variable(v.Name) != nil {
		return nil, reads, diagnose.Whole(fmt.Sprintf("the name %q is not unique, or is invalid", v.Name), "use letters, digits and _, and each name once")
	}
	checked, findings := c.check(v.Expression, anything, s)
	if len(findings) > 0 {
		return nil, reads, findings
	}
	at := s.contextVarsRead(checked)
	if taken := hiddenContextVar(checked, at); taken != nil {
		return nil, reads, []diagnose.Finding{*taken}
	}
	for x := range contextVars {
		reads[x] = at[x] != nil
	}
	definition, findings = s.inline(checked)
	return definition, reads, findings
}

// usesInvalidName reports whether a text uses a variable whose name is not an identifier, such as ttl-days.
func (s *scope) usesInvalidName(text string) bool {
	return slices.ContainsFunc(s.variables, func(v variable) bool {
		return v.name != "" && !identifier.MatchString(v.name) && strings.Contains(text, syntax.VariableName(v.name))
	})
}

// variable returns the variable with a name; nil if there is none.
func (s *scope) variable(name string) *variable {
	for i := range s.variables {
		if s.variables[i].name == name {
			return &s.variables[i]
		}
	}
	return nil
}

// names returns the names of the variables.
func (s *scope) names() (all []string) {
	for _, v := range s.variables {
		all = append(all, v.name)
	}
	return all
}

// digestFor returns a digest of the variables that the text names: with equal digests, the text means the same in two
// scopes. It omits other variables, so that a change of one does not affect the text.
func (s *scope) digestFor(text string) string {
	if !strings.Contains(text, syntax.VariablesVariable) {
		return ""
	}
	var digests []string
	complete := !strings.Contains(text, "//") // a comment may be between variables and its dot
	for _, name := range syntax.VariablesIn(text) {
		v := s.variable(name)
		if v == nil {
			complete = false // the hint lists the declared names
			continue
		}
		digests = append(digests, v.digest)
	}
	if !complete {
		for _, v := range s.variables {
			digests = append(digests, v.name, v.digest)
		}
	}
	return digest(digests...)
}

// inline expands the variables. A variable that is used more than once is evaluated once. The optimizer checks the
// expanded expression again, so the definitions of the variables must already be expanded.
func (s *scope) inline(checked *cel.Ast) (*cel.Ast, []diagnose.Finding) {
	var inlined []*cel.InlineVariable
	total := size(checked)
	for _, v := range slices.Backward(s.variables) {
		if v.definition == nil || !mentions(checked, v.name) {
			continue
		}
		if hidden := hiddenType(checked, v); hidden != nil {
			return nil, []diagnose.Finding{*hidden}
		}
		total += size(v.definition)
		// Neither expressions nor cel-go, which uses @result, contain the alias, so it hides no name.
		inlined = append(inlined, cel.NewInlineVariableWithAlias(syntax.VariableName(v.name), aliasPrefix+v.name, v.definition))
	}
	if len(inlined) == 0 {
		return checked, nil
	}
	if total > MaxNodes {
		return nil, diagnose.Whole(fmt.Sprintf("too large after its variables are expanded: %d nodes; the limit is %d", total, MaxNodes), "")
	}
	optimizer, err := cel.NewStaticOptimizer(cel.NewInliningOptimizer(inlined...))
	if err != nil {
		return nil, diagnose.Whole(err.Error(), "")
	}
	whole, issues := optimizer.Optimize(s.env, checked)
	if len(issues.Errors()) > 0 {
		return nil, diagnose.Inlined(issues)
	}
	return whole, nil
}

// aliasPrefix begins the names of variables that an expression uses more than once.
const aliasPrefix = "@v_"

// hiddenType returns a finding if a loop variable of an expression has the name of a type that a variable uses: in the expanded
// expression, it would hide the type.
func hiddenType(checked *cel.Ast, v variable) *diagnose.Finding {
	definition := v.definition.NativeRep()
	for e := range syntax.All(definition.Expr()) {
		if e.Kind() != ast.IdentKind || definition.GetType(e.ID()).Kind() != types.TypeKind {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(e.AsIdent(), "."), ".") // the first part of google.protobuf.Timestamp
		finding := &diagnose.Finding{
			Message: fmt.Sprintf("a loop variable cannot have the name %s if the expression uses %s, which reads the type %s", name, syntax.VariableName(v.name), e.AsIdent()),
			Hint:    "rename it, for example to " + name[:1],
		}
		if locate(checked, isLoopOver(name), finding) {
			return finding
		}
	}
	return nil
}

// mentions reports whether the expression uses the variable.
func mentions(checked *cel.Ast, name string) bool {
	found := false
	for _, reference := range checked.NativeRep().ReferenceMap() {
		found = found || reference.Name == syntax.VariableName(name)
	}
	return found
}

func size(checked *cel.Ast) int {
	return nodes(checked.NativeRep().Expr())
}

// digest returns a short hash of a list of strings. It is collision-resistant: different lists have different digests.
func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		h.Write(binary.AppendUvarint(nil, uint64(len(text))))
		h.Write([]byte(text))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
