package command

import (
	"context"
	"errors"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/cluster"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// findReferredIn finds what refers to what in the cluster, as the policies of the input declare it, where some of the rules ask.
// A kind that cannot be listed leaves that unknown, and does not keep the others back. One that the cluster does not have may
// be misspelt where it is a policy that declares it: that is told.
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
				say.note("the cluster does not have %s of %s, of which a policy says what it refers to", kind.Kind, kind.GroupVersion())
			}
		}
		return nil
	})
}

// noteUnseen tells of which declared kinds there is no object in the files: one may be misspelt.
func noteUnseen(referred *preview.Referred, say notes) {
	for _, kind := range referred.Unseen() {
		say.note("no object of %s %s in the files, of which a policy says what it refers to", kind.GroupVersion(), kind.Kind)
	}
}
