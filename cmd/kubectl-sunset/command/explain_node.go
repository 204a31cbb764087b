// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// onNode explains an image on a node of the cluster, from the agent's last list of images.
func (e *explainCommand) onNode(ctx context.Context, in *load.Contents, what objectName) (*explain.Page, error) {
	if !isNamed(what.kind, v1alpha1.ImageKind) {
		return nil, errors.New("--node explains images; name one as image/NAME")
	}
	c, err := e.connection.connect()
	if err != nil {
		return nil, err
	}
	say := notes{e.streams.ErrOut}
	current, err := readPermittedPolicies(ctx, c, e.loader, "")
	if err != nil {
		return nil, err
	}
	current.applyPending()
	current.addTo(in, c, e.loader)
	seen, err := e.node.readImages(ctx, c, e.at.now, say)
	if err != nil {
		return nil, err
	}
	image, err := load.FindImage(seen.Images, what.name)
	if err != nil {
		return nil, fmt.Errorf("on node %s: %w", seen.Node.Name, err)
	}
	input := e.input(in.Rules(), "")
	input.Kinds, input.Node = sets.New(v1alpha1.ImageKind.GroupKind()), &seen.Node
	object := image.Object()
	judged, err := preview.New(input).Case(ctx, object, preview.FromImages(seen.Images))
	if err != nil {
		return nil, err
	}
	return explain.OfCase(ctx, object, judged, input, explain.Input{Status: current.statusOf(in), Unread: current.unreadForExplain(), UsedBy: seen.Uses[image.ID]}), nil
}
