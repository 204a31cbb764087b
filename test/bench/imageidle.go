// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images"
)

// idleRun is the cost of a period in which no image is due.
type idleRun struct {
	agent, runtime time.Duration // CPU
	now, peak      int64         // resident memory of the agent
}

// nothingDue measures a node on which no image is due.
func (b *imageBench) nothingDue(ctx context.Context) error {
	return b.onNode(ctx, func(n *imageNode) error {
		if err := b.snapshots(ctx, n); err != nil {
			return err
		}
		return b.idle(ctx, n)
	})
}

// idle measures an agent that has nothing to remove. It computes the cost of an hour from two periods: one in which the
// agent reads the node every second, and one in which it does not read the node at all.
func (b *imageBench) idle(ctx context.Context, n *imageNode) error {
	const often = time.Second
	busy, err := b.idleFor(ctx, n, often)
	if err != nil {
		return err
	}
	rest, err := b.idleFor(ctx, n, 24*time.Hour)
	if err != nil {
		return err
	}
	looks := float64(b.size.idle / often)
	perLook := max(0, (busy.agent-rest.agent).Seconds()/looks)
	runtimePerLook := max(0, (busy.runtime-rest.runtime).Seconds()/looks)
	hour := rest.agent.Seconds()*float64(time.Hour/b.size.idle) + perLook*float64(time.Hour/images.DefaultInterval)
	b.table.add(fmt.Sprintf("Sunset's agent, resident with %d images", b.size.images), megabytes(busy.now), "peak "+megabytes(busy.peak))
	b.table.add("its CPU in an idle hour, computed", fmt.Sprintf("%.3f %% of a core", 100*hour/time.Hour.Seconds()),
		fmt.Sprintf("a snapshot every %s costs the agent %.1f ms and containerd %.1f ms; the rest %.3f %%", images.DefaultInterval, 1000*perLook, 1000*runtimePerLook,
			100*rest.agent.Seconds()/b.size.idle.Seconds()))
	return nil
}

// idleFor runs an agent for a period.
func (b *imageBench) idleFor(ctx context.Context, n *imageNode, interval time.Duration) (run idleRun, err error) {
	agent, err := b.startAgent(n, "--interval="+interval.String())
	if err != nil {
		return run, err
	}
	defer agent.stop()
	if err := pause(ctx, 2*time.Second+b.size.idle/3); err != nil { // until it has read the node and counted its images
		return run, err
	}
	agentBefore, err := cpu(agent.pid())
	if err != nil {
		return run, err
	}
	runtimeBefore, err := cpu(n.PID())
	if err != nil {
		return run, err
	}
	if err := pause(ctx, b.size.idle); err != nil {
		return run, err
	}
	if run.agent, err = cpu(agent.pid()); err != nil {
		return run, err
	}
	if run.runtime, err = cpu(n.PID()); err != nil {
		return run, err
	}
	run.agent, run.runtime = run.agent-agentBefore, run.runtime-runtimeBefore
	run.now, run.peak, err = memory(agent.pid())
	return run, err
}
