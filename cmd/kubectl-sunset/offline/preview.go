// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"fmt"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
)

// Preview decides about all objects of the feed. input has the loader's fields and the time; Preview sets what the contents of
// the files determine. notes are sentences about possible mistakes.
func Preview(ctx context.Context, feed preview.Feed, in *load.Contents, input preview.Input) (result *preview.Result, notes []string, err error) {
	if input.Node, err = in.Node(); err != nil {
		return nil, nil, err
	}
	input.Policies, input.Namespaces, input.Whole, input.Namespaced = in.Rules(), in.Namespaces, true, in.Namespaced()
	if err := input.FindReferred(ctx, feed); err != nil {
		return nil, nil, err
	}
	judge := preview.New(input)
	notes = unseen(input.Referred)
	if in.Images {
		notes = append(notes, judge.NoNode()...)
	}
	if result, err = judge.Run(ctx, feed); err != nil {
		return nil, notes, err
	}
	return result, append(notes, doubtful(result)...), nil
}

// doubtful returns notes about objects of the files that no cluster can have.
func doubtful(result *preview.Result) (notes []string) {
	if n := result.Unplaced; n > 0 {
		notes = append(notes, fmt.Sprintf("the files have %s without metadata.namespace of kinds that need it; no RetentionPolicy, namespace selector or hold of a namespace applies to such an object",
			preview.Count(n, "object")))
	}
	if n := result.Repeated(); n > 0 {
		notes = append(notes, fmt.Sprintf("the files have %s of the same name and kind as another; each of them counts, and takes a place of keepNewest and capacity", preview.Count(n, "object")))
	}
	return notes
}

// unseen returns a note for each declared kind of which the files contain no object. The kind may be misspelled.
func unseen(referred *preview.Referred) (notes []string) {
	for _, kind := range referred.Unseen() {
		notes = append(notes, fmt.Sprintf("spec.references of a policy declares %s %s, but the files contain no object of this kind; check its spelling",
			kind.GroupVersion(), kind.Kind))
	}
	return notes
}
