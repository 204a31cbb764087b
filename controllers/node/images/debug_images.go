// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/engine"
)

var (
	errUnseen = errors.New("not read yet")
	errOld    = errors.New("the last read is too old, and another one is in progress; retry later")
)

// DebugImages returns the images in the last snapshot. If that failed or is older than two intervals, as on a node without rules,
// DebugImages takes another snapshot, at most one per interval. The error says why the images are unknown.
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

// recent returns the last snapshot, or takes a new one.
func (n *Node) recent(ctx context.Context) (*snapshot, error) {
	now := n.Clock.Now()
	l, err := n.snapshots.latest()
	switch {
	case err == nil && isWithin(2*n.Interval, l.began, now):
		return l, nil
	case n.snapshots.mayDebug(n.Interval, now):
		return n.snapshots.fresh(ctx)
	case err == nil:
		err = errOld
	}
	return nil, err
}

// mayDebug reports whether it is time for another snapshot for a client of the debug endpoint. The caller must then take it.
func (l *snapshots) mayDebug(interval time.Duration, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.debugged.IsZero() && isWithin(interval, l.debugged, now) {
		return false
	}
	l.debugged = now
	return true
}

func isWithin(most time.Duration, then, now time.Time) bool {
	return lease.Elapsed(now, then) < most
}

// latest returns the snapshot that ended last, or its error.
func (l *snapshots) latest() (*snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		return nil, errUnseen
	}
	return l.last.snapshot, l.last.err
}
