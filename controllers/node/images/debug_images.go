package images

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/engine"
)

// debugLimit limits how often clients of the debug endpoint cause a snapshot.
type debugLimit struct {
	mu    sync.Mutex
	taken time.Time // when the last of these snapshots began
}

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
	s := &debug.NodeImages{Taken: l.began, Node: *node, Images: make([]engine.Image, len(l.images)), Uses: map[string]string{}}
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
	case n.snapshots.debugLimit.next(n.Interval, now):
		return n.snapshots.fresh(ctx)
	case err == nil:
		err = errOld
	}
	return nil, err
}

// next reports whether it is time for another snapshot, which the caller must then take.
func (s *debugLimit) next(interval time.Duration, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.taken.IsZero() && isWithin(interval, s.taken, now) {
		return false
	}
	s.taken = now
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
