// SPDX-License-Identifier: Apache-2.0

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

// podImage is the image that Pods run. No rule selects it.
var podImage = containerd.Image{Tags: []string{"stay.test/pod:v1"}, Digest: true, Runnable: true}

// imageNode is a containerd with many unpacked images, each of which has its own layer.
type imageNode struct {
	*containerd.Daemon
	ids  []string // of the images to remove
	pods int      // started so far
}

// onNode calls do with a node that has all its images.
func (b *imageBench) onNode(ctx context.Context, do func(*imageNode) error) error {
	d, err := containerd.Start(ctx, containerd.Options{Lane: containerd.Module})
	if err != nil {
		return err
	}
	n := &imageNode{Daemon: d}
	if err = n.fill(ctx, b.size.images); err == nil {
		err = pause(ctx, b.size.idle/10) // until containerd is idle
	}
	if err == nil {
		err = do(n)
	}
	return errors.Join(err, d.Stop())
}

// fill imports this many images and the image of Pods. Containerd unpacks all of them because that one is runnable.
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
		err = fmt.Errorf("containerd has %d of %d images", len(n.ids), many)
	}
	return err
}

// there returns the IDs of the images to remove that containerd still lists.
func (n *imageNode) there(ctx context.Context) (ids []string, err error) {
	listed, err := n.Runtime().Images(ctx)
	for _, i := range listed {
		if len(i.Tags) > 0 && strings.HasPrefix(i.Tags[0], "bench.test/") {
			ids = append(ids, i.ID)
		}
	}
	return ids, err
}

// empty returns an error if one of the images to remove still exists.
func (n *imageNode) empty(ctx context.Context) error {
	left, err := n.there(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%d images are left", len(left))
	}
	return err
}

// removeBare calls only RemoveImage, this many at a time, until all images are gone. The kubelet removes one at a time.
func (n *imageNode) removeBare(ctx context.Context, atATime int) (time.Duration, error) {
	began := time.Now()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for _, id := range n.ids {
		group.Go(func() error { return n.Runtime().Remove(within, id, nil) })
	}
	err := group.Wait()
	took := time.Since(began)
	if err == nil {
		err = n.empty(ctx)
	}
	return took, err
}

// startPod runs a Pod with one container and returns how long the start took. Then it removes the Pod.
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

// podsBeside starts Pods one after the other while work runs.
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
