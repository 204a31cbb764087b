// SPDX-License-Identifier: Apache-2.0

package day_test

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// action is an action and its probability, in thousandths.
type action struct {
	often int
	do    func(*day)
}

var actions = []action{
	{100, func(d *day) { d.create(jobs) }},
	{40, func(d *day) { d.create(previews) }},
	{40, func(d *day) { d.create(snapshots) }},
	{150, func(d *day) { d.change(jobs, (*day).finish) }},
	{150, func(d *day) { d.change(previews, (*day).flip) }},
	{15, (*day).flicker},
	{60, func(d *day) { d.change(anyOf(d), (*day).hold) }},
	{40, func(d *day) { d.change(anyOf(d), (*day).outlive) }},
	{60, func(d *day) { d.change(anyOf(d), (*day).touch) }},
	{8, func(d *day) { d.take(anyOf(d)) }},
	{3, (*day).edit},
	{2, (*day).breakWatches},
	{2, (*day).fail},
	{2, (*day).restart},
}

// live does one random action of users, administrators or the environment, or none.
func (d *day) live() {
	n := d.users.IntN(1000)
	for _, action := range actions {
		if n -= action.often; n < 0 {
			action.do(d)
			return
		}
	}
}

func anyOf(d *day) schema.GroupVersionKind {
	return []schema.GroupVersionKind{jobs, previews, snapshots}[d.users.IntN(3)]
}

func (d *day) dice(of int) bool { return d.users.IntN(of) == 0 }

// create creates a thing. Names are reused, objects are not.
func (d *day) create(kind schema.GroupVersionKind) {
	d.named++
	o := &thing{
		kind: kind, namespace: namespaces[d.users.IntN(len(namespaces))], name: fmt.Sprintf("%s-%d", strings.ToLower(kind.Kind), d.named%400),
		created: time.Now().Truncate(time.Second), changed: time.Now(), labels: map[string]string{"app": []string{"shop", "search"}[d.users.IntN(2)]},
	}
	if kind == jobs && d.dice(4) {
		o.labels["audit"] = "true"
	}
	if kind == previews && d.dice(3) {
		o.labels["idle"], o.labels["stale"] = "true", "true"
	}
	o.identify()
	d.locked(func() {
		if d.things[o.path] == nil {
			d.seen(o)
			d.put(o, "ADDED")
		}
	})
}

// change changes a random thing of a kind.
func (d *day) change(kind schema.GroupVersionKind, how func(*day, *thing) bool) {
	d.locked(func() {
		if o := d.pick(kind); o != nil && how(d, o) {
			o.changed = time.Now()
			d.noted(o)
		}
	})
}

// noted stores a new version of a changed thing.
func (d *day) noted(o *thing) {
	if d.isSeen() {
		d.seen(o)
	} else {
		d.unseen(o)
	}
	d.put(o, "MODIFIED")
}

// pick returns a random existing thing.
func (d *day) pick(kind schema.GroupVersionKind) *thing {
	all := d.all[kind]
	if len(all) == 0 {
		return nil
	}
	return all[d.users.IntN(len(all))]
}

func (d *day) finish(o *thing) bool {
	if !o.finished.IsZero() {
		return false
	}
	o.finished = time.Now().Truncate(time.Second)
	return true
}

// flip changes one of the labels that mark a Preview as unused.
func (d *day) flip(o *thing) bool {
	label := []string{"idle", "stale"}[d.users.IntN(2)]
	if o.labels[label] == "true" && !d.dice(3) {
		return false
	}
	o.labels = maps.Clone(o.labels)
	o.labels[label] = map[string]string{"true": "false"}[o.labels[label]]
	if o.labels[label] == "" {
		o.labels[label] = "true"
	}
	return true
}

// flicker uses an idle Preview for a moment, which may be too short for Sunset to record.
func (d *day) flicker() {
	var used *thing
	use := func(value string) {
		used.labels = maps.Clone(used.labels)
		used.labels[d.plan().label], used.changed = value, time.Now()
		d.noted(used)
	}
	d.locked(func() {
		if used = d.pick(previews); used != nil && used.labels[d.plan().label] == "true" {
			use("false")
		}
	})
	time.Sleep(time.Duration(d.users.IntN(500)) * time.Millisecond)
	d.locked(func() {
		if used != nil && used.gone.IsZero() && used.labels[d.plan().label] == "false" {
			use("true")
		}
	})
}

func (d *day) hold(o *thing) bool {
	before := o.held
	o.held = []string{"", "", "", "false", "true", "incident 7"}[d.users.IntN(6)]
	return o.held != before
}

// outlive changes the thing's own TTL.
func (d *day) outlive(o *thing) bool {
	before := o.ttl
	o.ttl = []time.Duration{0, 0, time.Minute, 20 * time.Minute, 2 * time.Hour, 9 * time.Hour}[d.users.IntN(6)]
	return o.ttl != before
}

// touch changes a label that no rule reads.
func (d *day) touch(o *thing) bool {
	o.labels = maps.Clone(o.labels)
	o.labels["touched"] = fmt.Sprint(d.named, time.Now().UnixNano())
	return true
}

// take deletes a thing as a user.
func (d *day) take(kind schema.GroupVersionKind) {
	d.locked(func() {
		if o := d.pick(kind); o != nil {
			if kind == snapshots {
				d.taken = append(d.taken, time.Now())
			}
			d.recordDeletion(o)
			d.put(o, "DELETED")
		}
	})
}

// openings are the windows of plans. Where the hour from two to three occurs twice, the last one opens twice, and both touch.
var openings = []opening{{}, {hours: 2, lasts: 50 * time.Minute}, {hours: 3, minute: 30, lasts: 2 * time.Hour}, {hours: 2, minute: 30, lasts: time.Hour}}

// edit changes the plan as an administrator. A running process receives the change within a second.
func (d *day) edit() {
	pick := func(ttl ...time.Duration) time.Duration { return ttl[d.users.IntN(len(ttl))] }
	mode := []v1alpha1.Mode{v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.Suspend, v1alpha1.DryRun}[d.users.IntN(4)]
	p := d.plan()
	switch d.users.IntN(11) {
	case 0:
		p.jobs = mode
	case 1:
		p.jobsTTL = pick(20*time.Minute, time.Hour, 3*time.Hour)
	case 2:
		p.audit = mode
	case 3:
		if p.idle = mode; mode == v1alpha1.DryRun {
			p.idle = v1alpha1.Suspend
		}
	case 4:
		p.idleTTL = pick(10*time.Minute, 40*time.Minute, 90*time.Minute)
	case 5:
		p.label = []string{"idle", "stale"}[d.users.IntN(2)]
	case 6:
		p.most, p.window = 6+d.users.IntN(12), pick(5*time.Minute, 15*time.Minute)
	case 7:
		p.jobsOpen = openings[d.users.IntN(len(openings))]
	case 8:
		p.snapshotsOpen = openings[d.users.IntN(len(openings))]
	case 9, 10:
		from := time.Now().Add(pick(-time.Hour, 0, 20*time.Minute)).Truncate(time.Second)
		p.freeze = freeze{from, from.Add(pick(10*time.Minute, 70*time.Minute, 2*time.Hour)), d.dice(2)}
		if d.dice(4) {
			p.freeze = freeze{}
		}
	}
	next := p.dated(d.compiler)
	d.locked(func() {
		if p.label != d.plan().label {
			defer d.restartTTL()
		}
		d.plans = append(d.plans, next)
	})
	if d.now != nil {
		time.Sleep(time.Duration(d.users.IntN(1000)) * time.Millisecond)
		d.now.use()
	}
}

// restartTTL applies a change of the label: no Preview counts as idle for longer than that, unless a process starts after the
// change.
func (d *day) restartTTL() {
	for _, o := range d.all[previews] {
		o.since = time.Time{}
		d.seen(o)
		o.remark = time.Now()
	}
	if d.now == nil {
		d.unsee()
	}
}

func (d *day) breakWatches() {
	d.locked(func() { d.forgetEvents(); d.disturbed = time.Now() })
}

// fail makes all writes, preflight, or the store of the archive fail for a while.
func (d *day) fail() {
	what := d.users.IntN(3)
	d.locked(func() {
		switch what {
		case 0:
			d.failsWrites = true
		case 1:
			d.doubted = time.Now()
		case 2:
			d.bucket.setFails(true)
		}
	})
	time.Sleep(time.Duration(1+d.users.IntN(60)) * time.Second)
	d.bucket.setFails(false)
	d.locked(func() { d.failsWrites, d.doubted, d.disturbed = false, time.Time{}, time.Now() })
}

// restart ends the process and starts another one: immediately, after a pause, or while the first still runs.
func (d *day) restart() {
	pause := time.Duration(d.users.IntN(90)) * time.Second
	switch d.users.IntN(4) {
	case 0:
		d.end((*process).stop)
	case 1, 2:
		d.end((*process).kill)
	case 3:
		zombie := d.now
		d.begin()
		for range d.users.IntN(10) {
			time.Sleep(time.Second)
			d.resume()
		}
		zombie.kill()
		d.locked(d.unsee)
		d.locked(func() { d.up, d.disturbed = time.Now(), time.Now() })
		return
	}
	for end := time.Now().Add(pause); time.Now().Before(end); {
		time.Sleep(time.Second)
		d.resume()
	}
	d.settle()
	d.begin()
}

// resume continues with the actions of users while a process is replaced.
func (d *day) resume() {
	switch d.users.IntN(4) {
	case 0:
		d.create(anyOf(d))
	case 1:
		d.change(jobs, (*day).finish)
	case 2:
		d.change(previews, (*day).flip)
	}
}
