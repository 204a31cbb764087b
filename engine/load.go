package engine

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Load compiles every rule of a policy, gives each its Key and adds the problems found to the policy. It gives the
// compiled rules by Key; that of an invalid rule only selects, so that what the rule may be about can be kept. The
// policy must not be in a Snapshot yet.
func (c *Compiler) Load(p *policy.Policy) map[string]*Program {
	programs, _ := c.LoadWithin(p, RoomFor(p))
	return programs
}

// LoadWithin is Load where not all of the room for a policy is left. It also gives how much room the policy takes. If that is
// more than the room, the policy is invalid as a whole and nothing of it is compiled.
func (c *Compiler) LoadWithin(p *policy.Policy, room int) (programs map[string]*Program, size int) {
	compiled := make([]*Program, len(p.Rules))
	var problems []policy.Problem
	if size = c.Size(p); size > room {
		problems = []policy.Problem{tooLarge(p, size, room)}
	} else if !p.LacksVariables() { // else what reads them would be blamed for it, and every rule is invalid anyway

		compiled, problems = c.compileRules(p)
	}
	p.AddProblems(append(problems, p.SwitchedOff()...)...)
	programs = map[string]*Program{}
	for i, r := range p.Rules {
		program := compiled[i]
		if program == nil || r.Invalid() {
			program = c.selection(r.Spec.Target)
		}
		if program != nil && p.Namespace != "" {
			program = program.ofNamespace()
		}
		if program != nil && r.Spec.StartTime == "" && !r.Invalid() && !r.OnNodes() {
			r.Mark = digest(string(p.UID), r.ID.Rule, program.Key())[:markLength]
			program = program.marked(r.Mark)
		}
		if program != nil {
			r.Key = program.Key()
			programs[r.Key] = program
		}
	}
	return programs, size
}

// compileRules compiles all rules, nil for one that is invalid. It gives each problem once.
func (c *Compiler) compileRules(p *policy.Policy) ([]*Program, []policy.Problem) {
	compiled, problems := make([]*Program, len(p.Rules)), c.checkReferences(p)
	d := c.declared(p.Variables)
	for i, r := range p.Rules {
		program, found := c.compileRule(r, d)
		for _, problem := range found {
			if !slices.Contains(problems, problem) && !slices.Contains(p.Problems, problem) {
				problems = append(problems, problem)
			}
		}
		compiled[i], r.ReadsReferences = program, program != nil && program.ReadsReferences()
	}
	return compiled, problems
}

// checkReferences compiles what a policy says about referrers, for the problems alone.
func (c *Compiler) checkReferences(p *policy.Policy) []policy.Problem {
	var problems []policy.Problem
	for i, r := range p.References {
		if strings.TrimSpace(r.Names) == "" {
			continue // said already
		}
		path := fmt.Sprintf("spec.references[%d].names", i)
		extractor, found := c.Extractor(r.Names, path)
		if extractor != nil {
			found = extractor.forbiddenOf(r.From, r.Names, path)
		}
		problems = append(problems, found...)
	}
	return problems
}

// forbiddenOf says what an Extractor may not read of a kind.
func (x *Extractor) forbiddenOf(kind schema.GroupVersionKind, names, path string) []policy.Problem {
	f := forbidden(v1alpha1.Target{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}, x.program.fields)
	if f == nil {
		return nil
	}
	return problemsAt(path, names, []finding{*f})
}

// markLength is enough to tell the rules that mark one object apart.
const markLength = 16

func (c *Compiler) compileRule(r *policy.Rule, d *declared) (*Program, []policy.Problem) {
	if r.Spec.Eligible == "" {
		return nil, nil // said already
	}
	return c.ruleWith(r.Spec, d, fmt.Sprintf("spec.rules[%d]", r.Index))
}

// selection gives a rule that selects what the target does, or every subject of the kind when its selector cannot be
// understood, and says nothing more. It is nil when even the kind is unknown.
func (c *Compiler) selection(target v1alpha1.Target) *Program {
	nothing := v1alpha1.Rule{Target: target, Eligible: "false", StartTime: "object.metadata.creationTimestamp"}
	if aboutImages(target) {
		nothing.Target.Selector, nothing.StartTime = nil, "object.status.firstSeen" // images have no labels
	}
	if rule, problems := c.Rule(nothing, nil, ""); len(problems) == 0 {
		return rule
	}
	nothing.Target.Selector = nil
	if rule, problems := c.Rule(nothing, nil, ""); len(problems) == 0 {
		return rule
	}
	return nil
}
