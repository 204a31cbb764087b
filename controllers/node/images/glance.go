package images

import (
	"context"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
)

// glance is a look at a few images only, and at all that uses images. It has only those that are exactly as the last look has
// found them: what became of the others a look has to tell.
func (n *Node) glance(ctx context.Context, ids []string) (*snapshot, error) {
	l, err := n.seeThese(ctx, ids)
	n.went(err)
	return l, err
}

func (n *Node) seeThese(ctx context.Context, ids []string) (*snapshot, error) {
	began := n.Clock.Now()
	there := n.theseImages(ctx, ids)
	uses, since, err := n.uses(ctx)
	if err != nil {
		return nil, err
	}
	l := newSnapshot(began, since, there, uses)
	for i := range l.images {
		n.date(&l.images[i])
	}
	n.recognise(l)
	return l, nil
}

const (
	// statusCalls is how many questions about an image are asked at a time.
	statusCalls = 4
	// statusTimeout bounds them all: who waits for one image holds up others, and what was found in time counts.
	statusTimeout = time.Second
)

// theseImages asks the runtime for some images, and leaves out those that are gone, or of which it does not tell.
func (n *Node) theseImages(ctx context.Context, ids []string) []cri.Image {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	found, told := make([]cri.Image, len(ids)), make([]bool, len(ids))
	var group errgroup.Group
	group.SetLimit(statusCalls)
	for i, id := range ids {
		group.Go(func() error {
			image, there, err := n.Runtime.Image(ctx, id)
			found[i], told[i] = image, there && err == nil
			return nil // what went wrong with one image a look will tell
		})
	}
	_ = group.Wait()
	known := found[:0]
	for i := range found {
		if told[i] {
			known = append(known, found[i])
		}
	}
	return known
}

// recognise gives images the versions that they have by the last look, and takes those out of which that found another form.
func (n *Node) recognise(l *snapshot) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range l.images {
		image := &l.images[i]
		known := n.versions[image.ID]
		if image.ageless || known.form != formOf(&image.Image) {
			delete(l.byID, image.ID)
			continue
		}
		image.version = strconv.FormatInt(known.number, 10)
	}
}
