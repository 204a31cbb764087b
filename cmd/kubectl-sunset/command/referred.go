package command

import (
	"context"
	"errors"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// referredIn finds what refers to what in the cluster, as the policies of the input declare it, where some of the rules ask.
func referredIn(ctx context.Context, c *cluster.Cluster, input *preview.Input, rules []*policy.Rule) (*preview.Referred, error) {
	search := input.Referrers(rules)
	if search == nil {
		return nil, nil
	}
	return search.Read(ctx, func(yield func(preview.Batch) error) error {
		for _, kind := range search.Kinds() {
			decoder := func() *engine.Decoder { return search.NewDecoder(kind) }
			err := c.EachPart(ctx, kind, decoder, func(page *cluster.Parts) error { return yield(page) })
			var unlisted *cluster.ListError
			switch {
			case errors.As(err, &unlisted) && !c.Lacks(kind.GroupKind()):
				search.Lose(kind, unlisted)
			case unlisted == nil && err != nil:
				return err
			}
		}
		return nil
	})
}
