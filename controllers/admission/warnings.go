package admission

import (
	"context"
	"fmt"
	"slices"

	"github.com/sunset-k8s/sunset/controllers/policies"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// mostWarnings is how many warnings an author is given.
const mostWarnings = 10

func atMost(warnings []string) []string {
	if more := len(warnings) - mostWarnings; more > 0 {
		return append(warnings[:mostWarnings:mostWarnings], fmt.Sprintf("and %d more; see the policy's status", more))
	}
	return warnings
}

// warnings gives what may be wrong with a policy that is accepted; nothing of it if it takes too long to find out.
func (r *Reviewer) warnings(ctx context.Context, v *review) []string {
	ctx, cancel := context.WithTimeout(ctx, warnWithin)
	defer cancel()
	found := make(chan []string, 1)
	go func() { // OpenAPI is read without a context
		var all []string
		all = append(all, r.protected(v)...)
		all = append(all, r.overrides(ctx, v)...)
		all = append(all, r.typeCheck(ctx, v)...)
		found <- append(all, r.idle(ctx, v)...)
	}()
	select {
	case all := <-found:
		return all
	case <-ctx.Done():
		return nil
	}
}

func (r *Reviewer) protected(v *review) []string {
	if !r.Protection.Namespace(v.namespace) {
		return nil
	}
	return []string{fmt.Sprintf("namespace %s is protected: no policy touches anything in it", v.namespace)}
}

// typeCheck compares the rules with the schemas of their kinds.
func (r *Reviewer) typeCheck(ctx context.Context, v *review) []string {
	var warnings []string
	for _, rule := range v.Rules {
		program := v.programs[rule.Key]
		if v.targets[rule.Index] == nil || program == nil || ctx.Err() != nil {
			continue
		}
		schema, err := policies.Schema(r.Documents, rule.Kind)
		if err != nil {
			continue
		}
		for _, problem := range program.Check(schema) {
			warnings = append(warnings, problem.String())
		}
	}
	return warnings
}

// overrides tells which name a policy or a rule that is not there.
func (r *Reviewer) overrides(ctx context.Context, v *review) []string {
	if len(v.loaded.overrides) == 0 {
		return nil
	}
	known := &v1alpha1.ClusterRetentionPolicyList{}
	if err := r.Live.List(ctx, known); err != nil {
		return nil
	}
	rules := map[string][]string{}
	var names []string
	for _, p := range known.Items {
		names = append(names, p.Name)
		for _, rule := range p.Spec.Rules {
			rules[p.Name] = append(rules[p.Name], rule.Name)
		}
	}
	var warnings []string
	for i, o := range v.loaded.overrides {
		path := fmt.Sprintf("spec.overrides[%d]", i)
		_, found := rules[o.Policy]
		switch {
		case !found:
			warnings = append(warnings, unknown(path+".policy", "ClusterRetentionPolicy", o.Policy, names))
		case o.Rule != "" && !slices.Contains(rules[o.Policy], o.Rule):
			warnings = append(warnings, unknown(path+".rule", "rule of "+o.Policy, o.Rule, rules[o.Policy]))
		}
	}
	return warnings
}

func unknown(path, what, name string, known []string) string {
	problem := policy.Problem{Path: path, Message: fmt.Sprintf("there is no %s named %q", what, name)}
	if meant := closest(name, known); meant != "" {
		problem.Hint = fmt.Sprintf("did you mean %q?", meant)
	}
	return problem.String()
}
