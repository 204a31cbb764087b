package policy

import (
	"fmt"
	"slices"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Feature is a part of Sunset that an operator can switch off as a whole.
type Feature string

const (
	// NodeImages: rules are about images of nodes.
	NodeImages Feature = "NodeImages"
	// References: rules read what refers to an object.
	References Feature = "References"
	// OwnerDeletion: rules delete the owner of what they select.
	OwnerDeletion Feature = "OwnerDeletion"
)

// SwitchedOff gives a problem for each rule that needs a feature which is off: the rule is then invalid, and keeps. Whether a
// rule reads references is known once it is compiled.
func (p *Policy) SwitchedOff() (problems []Problem) {
	for _, r := range p.Rules {
		for _, need := range []struct {
			feature Feature
			field   string
			needed  bool
		}{
			{NodeImages, "target.kind", r.OnNodes()},
			{References, "eligible", r.ReadsReferences},
			{OwnerDeletion, "delete.what", r.Owner},
		} {
			if need.needed && slices.Contains(p.off, need.feature) {
				problems = append(problems, Problem{
					Path:    fmt.Sprintf("spec.rules[%d].%s", r.Index, need.field),
					Message: fmt.Sprintf("the rule needs feature gate %s, which is off", need.feature),
					Hint:    fmt.Sprintf("an operator can switch it on with --feature-gates=%s=true", need.feature),
				})
			}
		}
	}
	return problems
}

// ForceDryRun makes a policy that is enforced a dry run, whatever it says. Overrides stay in force: what it counts is what it would
// delete.
func (p *Policy) ForceDryRun() {
	if p.Mode != v1alpha1.Enforce {
		return
	}
	p.Rehearsed = true
	p.setMode(v1alpha1.DryRun)
}

// Terminate makes a policy that is enforced a suspended one, because it is being deleted: until it is gone it deletes nothing,
// and keeps from others what its rules find eligible. Its overrides apply only where they keep objects longer.
func (p *Policy) Terminate() {
	if p.Mode != v1alpha1.Enforce {
		return
	}
	p.Terminating = true
	p.setMode(v1alpha1.Suspended)
	for _, o := range p.Overrides {
		o.InForce, o.Rests = false, true
	}
}

func (p *Policy) setMode(m v1alpha1.Mode) {
	p.Mode = m
	for _, r := range p.Rules {
		r.Mode = m
	}
}
