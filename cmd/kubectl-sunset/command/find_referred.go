// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// findReferredIn finds the references in the cluster that the policies of the input declare, if some of the rules read
// references. If a kind cannot be listed, its references are unknown, and the search continues. If the cluster does not serve a
// declared kind, the kind may be misspelled, so findReferredIn writes a note.
func findReferredIn(ctx context.Context, c *cluster.Cluster, input *preview.Input, rules []*policy.Rule, say notes) (*preview.Referred, error) {
	search := input.Referrers(rules)
	if search == nil {
		return nil, nil
	}
	return search.Read(ctx, func(yield func(preview.Batch) error) error {
		for _, kind := range search.Table().Kinds() {
			absent, err := c.EachReferrer(ctx, search.Table(), kind, func(page *cluster.Referrers) error { return yield(page) })
			var unlisted *cluster.ListError
			if errors.As(err, &unlisted) {
				search.NoteUnreadable(kind, unlisted)
			} else if err != nil {
				return err
			}
			if absent && !search.Table().AnyVersion(kind) {
				say.note("spec.references of a policy declares kind %s of %s, which the cluster does not serve; check its spelling", kind.Kind, kind.GroupVersion())
			}
		}
		return nil
	})
}
