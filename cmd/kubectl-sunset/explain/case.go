// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// OfCase explains an object from its case and the input of the decision. more has the fields that only the caller can set:
// Status, Unread, FindOwner and UsedBy.
func OfCase(ctx context.Context, object map[string]any, c *preview.Case, by preview.Input, more Input) *Page {
	in := more
	in.At, in.Object, in.Namespace, in.Subject, in.Verdict, in.Evaluations = by.At, object, c.Namespace, c.Subject, c.Verdict, c.Evaluations
	in.References, in.Asked = by.Referred.Of(c.Kind, c.Subject.Namespace, c.Subject.Name), by.Referred.Asked(c.Kind)
	in.Others = OthersOf(object, c, by)
	if by.Node != nil {
		in.Filesystem = by.Node.Filesystem
	}
	in.Facts = func(rule *policy.Rule, object map[string]any) policy.Facts {
		return factsOf(ctx, by, in.References, rule, object)
	}
	in.Explanations, in.Ranks = map[policy.RuleID][]engine.Explanation{}, map[policy.RuleID]Rank{}
	around := engine.Surroundings{Node: by.Node, References: in.References}
	for i, r := range in.Evaluations {
		id := r.Rule.ID
		in.Explanations[id] = by.Programs[r.Rule.Key].Explain(ctx, around, object)
		if ranked, ok := c.Rankings[id]; ok {
			in.Ranks[id] = RankOf(ranked.Self, ranked.Members, ranked.Ranking)
		}
		in.Evaluations[i].Facts.Estimated = c.IsUnmarked(id)
	}
	return New(in)
}

// factsOf returns the facts of a rule about an object. The object may be hypothetical.
func factsOf(ctx context.Context, by preview.Input, references *engine.References, rule *policy.Rule, object map[string]any) policy.Facts {
	program := by.Programs[rule.Key]
	if program == nil {
		return policy.Facts{}
	}
	evaluator := by.Compiler.NewEvaluator(ctx)
	defer evaluator.Close()
	evaluator.SetNode(by.Node)
	evaluator.SetReferences(references)
	facts := evaluator.Facts(program, object)
	if facts.Marked && facts.Eligible && facts.Start.IsZero() {
		facts.Start = by.At // the controller would mark it now
	}
	return facts
}
