// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
)

// CountSources counts a source that begins or ends.
func (n *Node) CountSources(more int) { n.countSources(more) }

// Batcher groups removals into rounds.
type Batcher = batcher

// NewBatcher returns a Batcher, which calls last after a round with removals if no caller waits.
func NewBatcher(c clock.Clock, last func()) *Batcher { return newBatcher(c, last) }

// Go takes a snapshot and removes an image in a round. take returns when the youngest Pod has started.
func (p *batcher) Go(ctx context.Context, take func() time.Time, remove func()) error {
	r, err := p.enter(ctx, entry{})
	if err != nil {
		return err
	}
	defer r.leave()
	if _, err := r.snapshot(func() (*snapshot, error) { return &snapshot{youngest: take()}, nil }); err != nil {
		return err
	}
	return r.remove(func() error { remove(); return nil })
}

// Pass takes a place in a round, but removes nothing.
func (p *batcher) Pass(ctx context.Context) error {
	r, err := p.enter(ctx, entry{})
	if err == nil {
		r.leave()
	}
	return err
}

// Receive takes a snapshot, which a Source passes to its Sink.
func (n *Node) Receive(ctx context.Context) {
	s := &source{node: n}
	_, _, _, _ = s.rows(ctx, nil, "")
	n.setReceived(s.contents)
}

// Snapshots takes numbered snapshots, which concurrent callers share.
type Snapshots struct{ snapshots *snapshots }

// NewSnapshots returns Snapshots. take returns the number of each snapshot.
func NewSnapshots(take func() int) Snapshots {
	return Snapshots{&snapshots{
		clock: clock.RealClock{},
		take:  func(context.Context) (*snapshot, error) { return &snapshot{images: make([]image, take())}, nil },
	}}
}

// Fresh returns the number of a snapshot that began after the call; 0 after an error.
func (l Snapshots) Fresh() int {
	f, err := l.snapshots.fresh(context.Background())
	if err != nil {
		return 0
	}
	return len(f.images)
}

// Rows returns the images of a Source that differ from those in told, and the versions of all images.
func Rows(ctx context.Context, s retention.Source, told map[types.UID]string) (differ []*index.FactRow, versions map[types.UID]string) {
	differ, versions, _, _ = s.(*source).rows(ctx, told, "")
	return differ, versions
}
