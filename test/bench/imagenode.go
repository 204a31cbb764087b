package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sunset-k8s/sunset/test/containerd"
)

// podImage is what Pods are started from. No rule is about it.
var podImage = containerd.Image{Tags: []string{"stay.test/pod:v1"}, Digest: true, Runnable: true}

// imageNode is a containerd with many images, each unpacked, and with a layer of its own.
type imageNode struct {
	*containerd.Daemon
	ids  []string // of the many
	pods int      // started so far
}

// onNode does something on a node whose images are all there.
func (b *imageBench) onNode(ctx context.Context, do func(*imageNode) error) error {
	d, err := containerd.Start(ctx, containerd.Options{Lane: containerd.Module})
	if err != nil {
		return err
	}
	n := &imageNode{Daemon: d}
	if err = n.fill(ctx, b.size.images); err == nil {
		err = pause(ctx, b.size.idle/10) // in which containerd settles
	}
	if err == nil {
		err = do(n)
	}
	return errors.Join(err, d.Stop())
}

// fill imports images, so many and the one of Pods: as that one is to run, all are unpacked.
func (n *imageNode) fill(ctx context.Context, many int) error {
	all := []containerd.Image{podImage}
	for i := range many {
		all = append(all, containerd.Image{Tags: []string{fmt.Sprintf("bench.test/team/app-%04d:v1", i)}, Digest: true})
	}
	if err := n.Import(ctx, all...); err != nil {
		return err
	}
	var err error
	if n.ids, err = n.there(ctx); err == nil && len(n.ids) != many {
		err = fmt.Errorf("%d of %d images are there", len(n.ids), many)
	}
	return err
}

// there are the IDs of those of the many that are listed.
func (n *imageNode) there(ctx context.Context) (ids []string, err error) {
	listed, err := n.Runtime().Images(ctx)
	for _, i := range listed {
		if len(i.Tags) > 0 && strings.HasPrefix(i.Tags[0], "bench.test/") {
			ids = append(ids, i.ID)
		}
	}
	return ids, err
}

// empty is an error if one of the many is still there.
func (n *imageNode) empty(ctx context.Context) error {
	left, err := n.there(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%d images are left", len(left))
	}
	return err
}

// removeBare makes nothing but calls of RemoveImage, so many at a time, until all images are gone. One at a time is how the
// kubelet does it.
func (n *imageNode) removeBare(ctx context.Context, atATime int) (time.Duration, error) {
	began := time.Now()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for _, id := range n.ids {
		group.Go(func() error { return n.Runtime().Remove(within, id) })
	}
	err := group.Wait()
	took := time.Since(began)
	if err == nil {
		err = n.empty(ctx)
	}
	return took, err
}

// startPod runs a Pod with a container until it has started, and gives how long that took. Then it removes the Pod.
func (n *imageNode) startPod(ctx context.Context) (time.Duration, error) {
	n.pods++
	began := time.Now()
	pod, err := n.RunPod(ctx, fmt.Sprintf("pod-%d", n.pods))
	if err != nil {
		return 0, err
	}
	_, err = n.RunContainer(ctx, containerd.Container{Pod: pod, Name: "main", Image: podImage.Tags[0]})
	took := time.Since(began)
	return took, errors.Join(err, n.RemovePod(ctx, pod))
}

// podsBeside starts one Pod after the other while work goes on.
func (n *imageNode) podsBeside(ctx context.Context, work func(context.Context) error) (starts waits, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	for {
		select {
		case err := <-done:
			return starts, err
		default:
		}
		took, err := n.startPod(ctx)
		if err != nil {
			cancel()
			return nil, errors.Join(err, <-done)
		}
		starts = append(starts, took)
	}
}
