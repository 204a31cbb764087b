package engine

import (
	"fmt"
	"strings"

	"github.com/sunset-k8s/sunset/policy"
)

// How large the expressions of policies may be, in bytes with their variables written out. To compile a byte takes some 10
// microseconds and 50 bytes of memory, and sometimes ten times as long; an instruction of a regular expression counts as instructionSize bytes.
const (
	MaxNamespaceSize = 64 << 10 // all RetentionPolicies of a namespace together
	MaxClusterSize   = 2 << 20  // each ClusterRetentionPolicy
	instructionSize  = 4
)

// Size is how large the expressions of a policy are with their variables written out, regular expressions not counted. It
// takes no compiling.
func Size(p *policy.Policy) int {
	variables, sum := map[string]int{}, 0
	for _, v := range p.Variables {
		size := written(v.Expression, variables)
		variables[v.Name] = size
		sum = add(sum, size)
	}
	for _, r := range p.Rules {
		s := source{rule: r.Spec}
		for _, e := range s.expressions() {
			sum = add(sum, written(e.text, variables))
		}
	}
	for _, r := range p.References {
		sum = add(sum, len(r.Names))
	}
	return sum
}

// written is the size of a text with the variables that it uses. A comment can hide which these are.
func written(text string, variables map[string]int) int {
	sum := len(text)
	if !strings.Contains(text, variablesVariable) {
		return sum
	}
	if strings.Contains(text, "//") {
		for _, size := range variables {
			sum = add(sum, size)
		}
		return sum
	}
	met := map[string]bool{}
	for _, match := range used.FindAllStringSubmatch(text, -1) {
		if !met[match[1]] { // it is computed once
			sum = add(sum, variables[match[1]])
		}
		met[match[1]] = true
	}
	return sum
}

// add adds sizes, up to one that is too large for anything.
func add(a, b int) int { return min(a+b, 1<<40) }

// RoomFor is how large the expressions of a policy may be where there is no other.
func RoomFor(p *policy.Policy) int {
	if p.Namespace == "" {
		return MaxClusterSize
	}
	return MaxNamespaceSize
}

// tooLarge makes all rules of a policy invalid.
func tooLarge(p *policy.Policy, size, room int) policy.Problem {
	problem := policy.Problem{
		Path:    "spec",
		Message: fmt.Sprintf("the expressions take %d bytes with their variables written out, and %d is the limit", size, RoomFor(p)),
		Hint:    "use smaller variables in fewer expressions, or several rules with simpler ones",
	}
	if p.Namespace != "" {
		problem.Message += fmt.Sprintf(" for all RetentionPolicies of the namespace together, of which %d are left", max(room, 0))
	}
	return problem
}

// sizeOf is the size of the regular expressions in a rule.
func (r *Rule) sizeOf() int {
	sum := 0
	for _, p := range []*program{r.eligible, r.startTime, r.ttlExpression, r.groupBy, r.outcome} {
		if p != nil {
			sum = add(sum, instructionSize*p.instructions)
		}
	}
	return sum
}
