// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// rates measures how fast all images are removed: as the kubelet does it, as fast as the runtime can with this many
// concurrent calls, and by an agent that may make as many. No Pods start during the measurement.
func (b *imageBench) rates(ctx context.Context) error {
	var bare, sunset []drainRun
	for range b.size.imageRounds {
		if err := b.rate(ctx, "bare", &bare, func(n *imageNode) (drainRun, error) { return n.drainBare(ctx, b.atATime) }); err != nil {
			return err
		}
		if err := b.rate(ctx, "Sunset", &sunset, func(n *imageNode) (drainRun, error) { return b.drainImages(ctx, n, alone) }); err != nil {
			return err
		}
	}
	var kubelet []drainRun
	if err := b.rate(ctx, "one after the other", &kubelet, func(n *imageNode) (drainRun, error) { return n.drainBare(ctx, 1) }); err != nil {
		return err
	}
	n := b.size.images
	took := func(r drainRun) time.Duration { return r.took }
	times := func(of, than []drainRun) float64 { return median(than, took).Seconds() / median(of, took).Seconds() }
	b.table.add(fmt.Sprintf("RemoveImage, one after the other as the kubelet, %d images", n), perSecond(n, median(kubelet, took)), "one round")
	b.table.add(fmt.Sprintf("RemoveImage, %d at a time", b.atATime), perSecond(n, median(bare, took)),
		fmt.Sprintf("%.1f times the kubelet's way; rounds: %s", times(bare, kubelet), rates(n, bare)))
	b.table.add(fmt.Sprintf("Sunset, %d at a time at most", b.atATime), perSecond(n, median(sunset, took)),
		fmt.Sprintf("%.0f %% of the bare rate, %.1f times the kubelet's way; rounds: %s", 100*times(sunset, bare), times(sunset, kubelet), rates(n, sunset)))
	own := median(sunset, func(r drainRun) time.Duration { return r.cpu })
	b.table.add("Sunset, its own CPU for each image", fmt.Sprintf("%.2f ms", float64(own)/float64(n)/1e6),
		fmt.Sprintf("peak of resident memory during the drain %s", megabytes(median(sunset, func(r drainRun) int64 { return r.peak }))))
	return nil
}

// rate adds a run on a new node.
func (b *imageBench) rate(ctx context.Context, what string, to *[]drainRun, drain func(*imageNode) (drainRun, error)) error {
	return b.onNode(ctx, func(n *imageNode) error {
		run, err := drain(n)
		*to = append(*to, run)
		fmt.Fprintf(os.Stderr, "  %s: %s\n", what, perSecond(b.size.images, run.took)) // all rounds together take long
		return err
	})
}

func (n *imageNode) drainBare(ctx context.Context, atATime int) (run drainRun, err error) {
	run.took, err = n.removeBare(ctx, atATime)
	return run, err
}

// alone runs work and nothing else.
func alone(ctx context.Context, work func(context.Context) error) error { return work(ctx) }

// drainImages lets an agent remove all images of a node, and measures from the first removal to the last.
func (b *imageBench) drainImages(ctx context.Context, n *imageNode, beside func(context.Context, func(context.Context) error) error) (run drainRun, err error) {
	agent, err := b.startAgent(n, fmt.Sprintf("--max-in-flight=%d", b.atATime))
	if err != nil {
		return run, err
	}
	defer agent.stop()
	if err := agent.until(ctx, 1); err != nil {
		return run, err
	}
	before, err := cpu(agent.pid())
	if err != nil {
		return run, err
	}
	if err := beside(ctx, func(ctx context.Context) error { return agent.until(ctx, len(n.ids)) }); err != nil {
		return run, err
	}
	after, err := footprintOf(agent.pid())
	run.took = agent.removed[len(n.ids)-1].Sub(agent.removed[0])
	run.cpu, run.peak = after.cpu-before, after.peak
	return run, errors.Join(err, n.empty(ctx))
}

// podStarts measures how long Pods take to start on a node with many images: while no image is removed, and while all are.
func (b *imageBench) podStarts(ctx context.Context) error {
	var quiet, bare, sunset waits
	for range (b.size.imageRounds + 1) / 2 {
		if err := b.onNode(ctx, func(n *imageNode) error {
			starts, err := n.podsBeside(ctx, func(ctx context.Context) error { return pause(ctx, b.size.idle/2) })
			if err != nil {
				return err
			}
			quiet = append(quiet, starts...)
			starts, err = n.podsBeside(ctx, func(ctx context.Context) error {
				_, err := n.removeBare(ctx, b.atATime)
				return err
			})
			bare = append(bare, starts...)
			return err
		}); err != nil {
			return err
		}
		if err := b.onNode(ctx, func(n *imageNode) error {
			_, err := b.drainImages(ctx, n, func(ctx context.Context, work func(context.Context) error) error {
				starts, err := n.podsBeside(ctx, work)
				sunset = append(sunset, starts...)
				return err
			})
			return err
		}); err != nil {
			return err
		}
	}
	counted := func(w waits) string { return fmt.Sprintf("%d Pods", len(w)) }
	b.table.add(fmt.Sprintf("a Pod starts beside %d images", b.size.images), quiet.text(), counted(quiet))
	b.table.add(fmt.Sprintf("while RemoveImage is called, %d at a time", b.atATime), bare.text(), bare.beside(quiet)+"; "+counted(bare))
	b.table.add("while Sunset removes them", sunset.text(), sunset.beside(quiet)+"; "+counted(sunset))
	return nil
}
