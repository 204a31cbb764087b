package images

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
)

// Pace is what lets removals go in rounds.
type Pace = batcher

// NewPace makes a Pace; last is called after removals that nobody waits to follow.
func NewPace(c clock.Clock, last func()) *Pace { return newBatcher(c, last) }

// Go looks and removes in a round. The look gives when the youngest Pod has started.
func (p *batcher) Go(ctx context.Context, take func() time.Time, remove func()) error {
	r, err := p.enter(ctx, entry{})
	if err != nil {
		return err
	}
	defer r.leave()
	if _, err := r.look(func() (*snapshot, error) { return &snapshot{youngest: take()}, nil }); err != nil {
		return err
	}
	return r.remove(func() error { remove(); return nil })
}

// Pass takes a place in a round, and finds that nothing is to be removed.
func (p *batcher) Pass(ctx context.Context) error {
	r, err := p.enter(ctx, entry{})
	if err == nil {
		r.leave()
	}
	return err
}

// WasTold is what a Source says once it has told of images.
func (n *Node) WasTold(versions map[types.UID]string) { n.wasTold(versions) }

// Looks lets those who ask together share looks, which are numbered.
type Looks struct{ looks *snapshots }

// NewLooks makes Looks that take gives the numbers of.
func NewLooks(take func() int) Looks {
	return Looks{&snapshots{take: func(context.Context) (*snapshot, error) { return &snapshot{images: make([]image, take())}, nil }}}
}

// Fresh gives the number of a look that began after the call.
func (l Looks) Fresh() int {
	f, err := l.looks.fresh(context.Background())
	if err != nil {
		return 0
	}
	return len(f.images)
}

// Rows are the images of a Source that differ from what was told, with the versions of all.
func Rows(ctx context.Context, s retention.Source, told map[types.UID]string) (differ []*index.FactRow, versions map[types.UID]string) {
	differ, versions, _, _ = s.(*source).rows(ctx, told, "")
	return differ, versions
}
