// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine/builtin"
	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Load compiles every rule of a policy, sets the Key of each rule and adds the problems that it finds to the policy. It
// returns the compiled rules by Key. The Program of an invalid rule only selects, so that Sunset keeps the objects that
// the rule may be about. The policy must not be in a Snapshot yet.
func (c *Compiler) Load(p *policy.Policy) map[string]*Program {
	programs, _ := c.LoadWithin(p, RoomFor(p))
	return programs
}

// LoadWithin is Load with only room bytes left for the policy. It also returns the size of the policy. If that exceeds
// the room, the whole policy is invalid and none of its rules is compiled.
func (c *Compiler) LoadWithin(p *policy.Policy, room int) (programs map[string]*Program, size int) {
	compiled := make([]*Program, len(p.Rules))
	var problems []policy.Problem
	if size = c.Size(p); size > room {
		problems = []policy.Problem{tooLarge(p, size, room)}
	} else if !p.LacksVariables() { // otherwise expressions that use the variables would report errors, although every rule is invalid anyway

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
			r.Mark = digest(string(p.UID), r.ID.Rule, program.markKey)[:markLength]
			program = program.marked(r.Mark)
		}
		if program != nil {
			r.Key = program.Key()
			programs[r.Key] = program
		}
	}
	return programs, size
}

// compileRules compiles all rules; the result of an invalid rule is nil. It returns each problem once.
func (c *Compiler) compileRules(p *policy.Policy) ([]*Program, []policy.Problem) {
	compiled, problems := make([]*Program, len(p.Rules)), c.checkReferences(p)
	d := c.declared(p.Variables)
	d.references = p.References
	for i, r := range p.Rules {
		program, found := c.compileRule(r, d)
		for _, problem := range found {
			if !slices.Contains(problems, problem) && !slices.Contains(p.Problems, problem) {
				problems = append(problems, problem)
			}
		}
		if compiled[i] = program; program != nil {
			r.Relations = program.Relations()
			if problem, ok := r.SnapshotWithoutReferences(); ok {
				problems = append(problems, problem)
			}
		}
	}
	return compiled, problems
}

// checkReferences compiles spec.references of a policy and returns only the problems.
func (c *Compiler) checkReferences(p *policy.Policy) []policy.Problem {
	var problems []policy.Problem
	for i, r := range p.References {
		path := fmt.Sprintf("spec.references[%d]", i)
		problems = append(problems, unknownTarget(r.To, path+".to")...)
		if hasNames := strings.TrimSpace(r.Names) != ""; hasNames != (strings.TrimSpace(r.Selector) == "") {
			continue // reported already
		} else if hasNames {
			problems = append(problems, checkReference(c.Extractor, r.From, r.Names, path+".names")...)
		} else {
			problems = append(problems, checkReference(c.SelectorExtractor, r.From, r.Selector, path+".selector")...)
		}
	}
	return problems
}

func checkReference(compile func(text, path string) (*Extractor, []policy.Problem), from schema.GroupVersionKind, text, path string) []policy.Problem {
	extractor, found := compile(text, path)
	if extractor != nil {
		found = extractor.forbiddenOf(from, text, path)
	}
	return found
}

// unknownTarget returns the problem of a referred kind that looks like one of Kubernetes, but is none. References to another kind
// than the author meant would keep nothing.
func unknownTarget(to v1alpha1.Referred, path string) []policy.Problem {
	kind := schema.ParseGroupKind(string(to))
	if to == "" || !isOfKubernetes(kind.Group) || kind == builtin.Pod || builtin.Has(kind) {
		return nil
	}
	known := builtin.Names(builtin.Referred)
	hint := cmp.Or(policy.DidYouMean(string(to), known), "write one of these kinds: "+strings.Join(known, ", "))
	return []policy.Problem{{Path: path, Message: fmt.Sprintf("references to %q are not supported", to), Hint: hint}}
}

// forbiddenOf returns the problem of an Extractor that reads fields that it must not read from this kind.
func (x *Extractor) forbiddenOf(kind schema.GroupVersionKind, names, path string) []policy.Problem {
	target := v1alpha1.Target{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}
	return diagnose.Problems(path, names, forbidden(target, x.program.fields))
}

// markLength is long enough to distinguish the rules that mark one object.
const markLength = 16

func (c *Compiler) compileRule(r *policy.Rule, d *declared) (*Program, []policy.Problem) {
	return c.ruleWith(r.Spec, d, fmt.Sprintf("spec.rules[%d]", r.Index))
}

// selection returns a program that selects the same objects as the target, or every subject of the kind if the selector
// is invalid. It returns no other facts. It is nil if even the kind is unknown.
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
