// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"

	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/engine"
)

// DebugImages returns the images in the last snapshot. If that is older than two intervals, as on a node without rules, or failed
// more than an interval ago, DebugImages takes another snapshot. The error says why the images are unknown.
func (n *Node) DebugImages(ctx context.Context) (*debug.NodeImages, error) {
	l, err := n.recent(ctx)
	if err != nil {
		return nil, fmt.Errorf("images and Pods of the node not read: %w", err)
	}
	node, err := n.Cluster.Node()
	if err != nil {
		return nil, err
	}
	s := &debug.NodeImages{Taken: l.began.UTC(), Node: *node, Images: make([]engine.Image, len(l.images)), Uses: map[string]string{}}
	for i := range l.images {
		image := &l.images[i]
		s.Images[i] = image.Image
		if image.InUse {
			s.Uses[image.ID] = image.use.String()
		}
	}
	return s, nil
}

// recent returns the last snapshot, or takes a new one. Clients that ask while one is in progress share it.
func (n *Node) recent(ctx context.Context) (*snapshot, error) {
	last, running := n.snapshots.latest()
	if last != nil {
		most := 2 * n.Interval
		if last.err != nil {
			most = n.Interval
		}
		if lease.Elapsed(n.Clock.Now(), last.began) < most {
			return last.snapshot, last.err
		}
	}
	if running != nil {
		return running.wait(ctx)
	}
	return n.snapshots.fresh(ctx)
}
