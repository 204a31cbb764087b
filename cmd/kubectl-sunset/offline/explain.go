// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// Explain explains one object of the files. input is as for Preview.
func Explain(ctx context.Context, files *load.Files, in *load.Contents, input preview.Input, object map[string]any) (page *explain.Page, notes []string, err error) {
	if input.Node, err = in.Node(); err != nil {
		return nil, nil, err
	}
	input.Policies, input.Namespaces = in.Rules(), in.Namespaces
	input.Kinds = sets.New(policy.StoredAs(preview.KindOf(object)))
	if err := input.FindReferred(ctx, files.Feed()); err != nil {
		return nil, nil, err
	}
	notes = unseen(input.Referred)
	c, err := preview.New(input).Case(ctx, object, files.Feed())
	if err != nil {
		return nil, notes, err
	}
	more := explain.Input{FindOwner: func(o policy.Owner) (map[string]any, error) { return ownerIn(files, o) }}
	return explain.OfCase(ctx, object, c, input, more), notes, nil
}

// ownerIn finds an owner in the files.
func ownerIn(files *load.Files, owner policy.Owner) (map[string]any, error) {
	found, err := files.Find(owner.Name, func(object map[string]any) bool { return preview.MetadataOf(object)["uid"] == string(owner.UID) })
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("it is not in the files")
	}
	return found[len(found)-1], nil
}
