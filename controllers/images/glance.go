package images

import (
	"context"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/sunset-k8s/sunset/controllers/images/cri"
)

// glance is a look at a few images only, and at all that uses images. It has only those that are exactly as the last look has
// found them: what became of the others a look has to tell.
func (n *Node) glance(ctx context.Context, ids []string) (*look, error) {
	l, err := n.seeThese(ctx, ids)
	if err != nil {
		n.went(err)
	}
	return l, err
}

func (n *Node) seeThese(ctx context.Context, ids []string) (*look, error) {
	began := n.Clock.Now()
	there, err := n.theseImages(ctx, ids)
	if err != nil {
		return nil, err
	}
	uses, err := n.uses(ctx)
	if err != nil {
		return nil, err
	}
	l := newLook(began, there, uses)
	for i := range l.images {
		n.date(&l.images[i])
	}
	n.recognise(l)
	return l, nil
}

// statusCalls is how many questions about an image are asked at a time.
const statusCalls = 4

// theseImages asks the runtime for some images, and leaves out those that are gone.
func (n *Node) theseImages(ctx context.Context, ids []string) ([]cri.Image, error) {
	found, there := make([]cri.Image, len(ids)), make([]bool, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(statusCalls)
	for i, id := range ids {
		group.Go(func() (err error) {
			found[i], there[i], err = n.Runtime.Image(ctx, id)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	known := found[:0]
	for i := range found {
		if there[i] {
			known = append(known, found[i])
		}
	}
	return known, nil
}

// recognise gives images the versions that they have by the last look, and takes those out of which that found another form.
func (n *Node) recognise(l *look) {
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
