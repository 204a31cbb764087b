// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
)

// takePartialSnapshot reads some images, and everything that uses images. The result has only images that are equal to those in the last
// snapshot. For the others a complete snapshot is necessary.
func (n *Node) takePartialSnapshot(ctx context.Context, ids []string) (*snapshot, error) {
	l, err := n.readPartialSnapshot(ctx, ids)
	n.noteResult(err)
	return l, err
}

func (n *Node) readPartialSnapshot(ctx context.Context, ids []string) (*snapshot, error) {
	began := n.Clock.Now()
	there := n.readImages(ctx, ids)
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
	// statusCalls is the maximum number of concurrent ImageStatus calls.
	statusCalls = 4
	// statusTimeout bounds all of these calls together, because one slow image delays the others. Images that were read in time
	// are used.
	statusTimeout = time.Second
)

// readImages reads some images from the runtime. It leaves out images that do not exist or cannot be read.
func (n *Node) readImages(ctx context.Context, ids []string) []cri.Image {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	found := make([]*cri.Image, len(ids))
	var group errgroup.Group
	group.SetLimit(statusCalls)
	for i, id := range ids {
		group.Go(func() error {
			if image, there, err := n.Runtime.Image(ctx, id); there && err == nil {
				found[i] = &image
			}
			return nil // a complete snapshot reports the error of one image
		})
	}
	_ = group.Wait()
	var known []cri.Image
	for _, image := range found {
		if image != nil {
			known = append(known, *image)
		}
	}
	return known
}

// recognise sets the versions of images from the last snapshot. It leaves out images that have changed since then, and those of
// unknown age.
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
