// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Feature is a part of Sunset that an operator can disable.
type Feature string

const (
	// NodeImages: rules about images of nodes.
	NodeImages Feature = "NodeImages"
	// References: rules that read the references to an object.
	References Feature = "References"
	// OwnerDeletion: rules that delete the owner of the selected objects.
	OwnerDeletion Feature = "OwnerDeletion"
)

// SwitchedOff gives a problem for each rule that needs a disabled feature. Such a rule is invalid, and keeps its subjects.
// Whether a rule reads references is known only after it is compiled.
func (p *Policy) SwitchedOff() (problems []Problem) {
	for _, r := range p.Rules {
		for _, need := range []struct {
			feature Feature
			field   string
			needed  bool
		}{
			{NodeImages, "target.kind", r.OnNodes()},
			{References, "eligible", r.ReadsReferences()},
			{OwnerDeletion, "delete.target", r.Owner},
		} {
			if need.needed && slices.Contains(p.off, need.feature) {
				problems = append(problems, Problem{
					Path:    fmt.Sprintf("spec.rules[%d].%s", r.Index, need.field),
					Message: fmt.Sprintf("the rule needs feature gate %s, which is disabled", need.feature),
					Hint:    fmt.Sprintf("an operator can enable it with --feature-gates=%s=true", need.feature),
				})
			}
		}
	}
	return problems
}

// ForceDryRun makes an enforced policy a dry run. Its overrides stay in force, so that it counts what it would delete.
func (p *Policy) ForceDryRun() {
	if p.Mode != v1alpha1.Enforce {
		return
	}
	p.ForcedDryRun = true
	p.setMode(v1alpha1.DryRun)
}

// Terminate suspends an enforced policy, because it is being deleted. Until it no longer exists, it deletes nothing, and no other
// policy deletes the subjects that its rules find eligible. Its overrides apply only if they keep objects longer.
func (p *Policy) Terminate() {
	if p.Mode != v1alpha1.Enforce {
		return
	}
	p.Terminating = true
	p.setMode(v1alpha1.Suspend)
	for _, o := range p.Overrides {
		o.InForce, o.Suspended = false, true
	}
}

func (p *Policy) setMode(m v1alpha1.Mode) {
	p.Mode = m
	for _, r := range p.Rules {
		r.Mode = m
	}
}
