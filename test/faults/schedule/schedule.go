// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// Schedule is a sequence of events in one scenario.
type Schedule struct {
	policies []policy // at the start
	steps    []step
	// blind is true if replicas may have missed events of objects permanently: they are restarted at the end.
	blind bool
	// alone is true if whole servers fail: no other scenario can use the control plane.
	alone bool
}

// step is an action and its time after the start.
type step struct {
	at time.Duration
	do action
}

// action is one event. It does nothing if the object that it needs does not exist.
type action interface {
	fmt.Stringer
	on(*stage)
}

const (
	length  = 16 * time.Second // of the faults
	actions = 110
	objects = 64 // number of names, which are used repeatedly
	most    = 4 * time.Second
)

// Draw draws a schedule. If servers is true, it includes faults of whole servers.
func Draw(r *rand.Rand, servers bool) Schedule {
	d := &drawing{Rand: r}
	d.policies = d.drawPolicies()
	d.now = slices.Clone(d.policies)
	for i := range objects {
		made := d.creation(i)
		d.add(0, made)
		if made.kind != configMap && d.chance(70) {
			d.add(d.while(length), end{made, d.ending()})
		}
	}
	for range actions {
		d.one(time.Duration(r.Int64N(int64(length))))
	}
	if servers {
		d.alone = true
		d.outages()
	}
	slices.SortStableFunc(d.steps, func(a, b step) int { return int(a.at - b.at) })
	return d.Schedule
}

// Options returns the options of the scenario that the schedule needs.
func (s Schedule) Options() scenario.Options { return scenario.Options{Alone: s.alone} }

// String lists the schedule.
func (s Schedule) String() string {
	var b strings.Builder
	for _, p := range s.policies {
		fmt.Fprintf(&b, "policy %s: %s\n", p.name, p)
	}
	for _, step := range s.steps {
		fmt.Fprintf(&b, "%6.2fs %s\n", step.at.Seconds(), step.do)
	}
	return b.String()
}

// drawing is a schedule while it is drawn.
type drawing struct {
	*rand.Rand
	Schedule
	now []policy // policies after the steps drawn so far
}

func (d *drawing) add(at time.Duration, a action) { d.steps = append(d.steps, step{at, a}) }

// one draws the event of a moment: mostly of objects, sometimes of policies or replicas.
func (d *drawing) one(at time.Duration) {
	switch n := d.IntN(10); {
	case n < 5:
		d.add(at, d.objectChange())
	case n < 7:
		d.add(at, d.policyChange())
	default:
		d.fault(at)
	}
}

// chance is true with the given probability, in percent.
func (d *drawing) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d *drawing, from ...T) T { return from[d.IntN(len(from))] }

// while draws a duration.
func (d *drawing) while(longest time.Duration) time.Duration {
	return longest/8 + time.Duration(d.Int64N(int64(longest*7/8)))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
