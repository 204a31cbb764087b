// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// demo is one run, from the start of the control plane until everything is removed.
type demo struct {
	ui    ui
	stop  context.CancelCauseFunc // ends the run with the cause
	stay  bool                    // keep running after the scenario, until the user stops it
	stage *stage
	story *story
	began time.Time // time of the first Job's creation
	last  *frame    // last frame of the scenario; nil after conclude
	done  bool      // the demo has shown everything
}

// run starts everything, plays the scenario, checks its result, and always removes everything.
func (d *demo) run(ctx context.Context) error {
	d.stage = &stage{ui: d.ui}
	watching, leave := context.WithCancel(ctx)
	err := d.perform(watching)
	if cause := context.Cause(ctx); cause != nil {
		err = cause // later errors follow from the cause
	}
	leave() // the API server waits until its clients disconnect
	if d.done && errors.Is(err, errInterrupted) {
		err = nil // the user has stopped the demo
	}
	if cleared := d.stage.clear(); errors.Is(cleared, err) {
		err = cleared // it contains the cause and perhaps more
	} else {
		err = errors.Join(err, cleared)
	}
	d.conclude()
	d.ui.close()
	return err
}

func (d *demo) perform(ctx context.Context) error {
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.play(ctx); err != nil {
		return err
	}
	d.conclude()
	if err := d.restore(ctx); err != nil || !d.stay {
		return err
	}
	d.done = true
	return d.live(ctx)
}

// conclude prints the summary once, if the scenario has ended.
func (d *demo) conclude() {
	if d.last != nil {
		d.ui.conclude(*d.last, summaryOf(*d.last, scenario))
		d.last = nil
	}
}

func (d *demo) prepare(ctx context.Context) error {
	if err := d.stage.set(ctx, d.stop); err != nil {
		return err
	}
	d.story = newStory()
	if err := d.story.follow(ctx, d.stage.config); err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	d.began = time.Now()
	return nil
}

// until shows the cluster until done returns nil. After patience it returns the last error of done.
func (d *demo) until(ctx context.Context, phase string, patience time.Duration, done func(frame) error) error {
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		f, err := d.look(ctx, phase)
		if err != nil {
			return err
		}
		d.ui.show(f)
		if err = done(f); err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("timeout after %s: %w", patience.Round(time.Second), err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// look reads everything that a frame shows.
func (d *demo) look(ctx context.Context, phase string) (frame, error) {
	seen, err := readPolicy(ctx, d.stage.client.RESTClient())
	if err != nil {
		return frame{}, fmt.Errorf("read policy: %w", err)
	}
	now := time.Now()
	f := frame{phase: phase, elapsed: now.Sub(d.began), now: now, policy: seen}
	f.jobs, f.rules = d.story.tell()
	if phase == livePhase {
		f.help = help(d.stage.cluster.Kubeconfig(), d.stage.controller.log)
	}
	return f, nil
}
