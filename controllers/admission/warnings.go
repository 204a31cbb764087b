// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// mostWarnings limits the number of warnings in a response.
const mostWarnings = 10

// warnings returns the warnings about an accepted policy. If the checks take longer than warnWithin, it returns what it found, and says so.
func (r *Reviewer) warnings(ctx context.Context, v *review) []string {
	ctx, cancel := context.WithTimeout(ctx, warnWithin)
	defer cancel()
	all := append(policy.Lines(v.Warnings()), r.protected(v)...)
	late := fmt.Sprintf("not all checks for warnings ended within %s; see the policy's status", warnWithin)
	done, err := r.looking.take(ctx, v.Namespace)
	if err != nil {
		return append(all, late)
	}
	checks := []func(context.Context, *review) []string{r.archives, r.overrides, r.typeCheck, r.idle}
	found := make(chan []string, len(checks))
	go func() { // reading OpenAPI accepts no context
		defer done()
		for _, check := range checks {
			found <- check(ctx, v)
		}
	}()
	for range checks {
		select {
		case more := <-found:
			all = append(all, more...)
		case <-ctx.Done():
			return append(all, late)
		}
	}
	return all
}

func (r *Reviewer) protected(v *review) []string {
	if !r.Protection.Namespace(v.Namespace) {
		return nil
	}
	return []string{fmt.Sprintf("namespace %s is protected: no policy deletes objects in it", v.Namespace)}
}

// typeCheck compares the rules with the schemas of their kinds.
func (r *Reviewer) typeCheck(ctx context.Context, v *review) []string {
	var warnings []string
	schemas := policyset.Schemas{Documents: r.Documents}
	for _, rule := range v.Rules {
		program := v.programs[rule.Key]
		if v.targets[rule.Index] == nil || program == nil || ctx.Err() != nil {
			continue
		}
		schema, err := schemas.Of(rule.Kind)
		if err != nil {
			continue
		}
		warnings = append(warnings, policy.Lines(program.Check(schema))...)
	}
	return warnings
}

// overrides returns warnings about overrides of policies or rules that do not exist.
func (r *Reviewer) overrides(ctx context.Context, v *review) []string {
	if len(v.Overrides) == 0 {
		return nil
	}
	known := &v1alpha1.ClusterRetentionPolicyList{}
	if err := r.Live.List(ctx, known); err != nil {
		return nil
	}
	rules := map[string][]string{}
	for _, p := range known.Items {
		rules[p.Name] = nil
		for _, rule := range p.Spec.Rules {
			rules[p.Name] = append(rules[p.Name], rule.Name)
		}
	}
	return policy.Lines(policy.UnknownTargets(v.Overrides, rules))
}
