package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/scene"
)

// Schedule is what happens in one scene, and when.
type Schedule struct {
	policies []policy // as they are in the beginning
	steps    []step
	// blind says that replicas may have missed events of objects for good: they are started again in the end.
	blind bool
	// alone says that whole servers have trouble: nobody else can be on the control plane.
	alone bool
}

// step is something that happens so long after the beginning.
type step struct {
	at time.Duration
	do action
}

// action is one thing that happens. What it needs and is not there makes it do nothing.
type action interface {
	fmt.Stringer
	on(*stage)
}

const (
	length  = 16 * time.Second // of the trouble
	actions = 110
	objects = 64 // names, which are made again and again
	most    = 4 * time.Second
)

// Draw makes a schedule, in which whole servers may have trouble too.
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

// Options are those of the scene that the schedule needs.
func (s Schedule) Options() scene.Options { return scene.Options{Alone: s.alone} }

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

// drawing is a schedule that is being drawn.
type drawing struct {
	*rand.Rand
	Schedule
	now []policy // as what is drawn has left them
}

func (d *drawing) add(at time.Duration, a action) { d.steps = append(d.steps, step{at, a}) }

// one draws what happens at a moment: mostly to objects, sometimes to policies, sometimes to replicas.
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

// chance is true so many times in a hundred.
func (d *drawing) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d *drawing, from ...T) T { return from[d.IntN(len(from))] }

// while draws how long something lasts.
func (d *drawing) while(longest time.Duration) time.Duration {
	return longest/8 + time.Duration(d.Int64N(int64(longest*7/8)))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
