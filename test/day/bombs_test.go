// SPDX-License-Identifier: Apache-2.0

package day_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// TestF30BombsDelayNobodyElse creates Jobs whose rule takes minutes to evaluate for each, in real time. No such Job is deleted.
// Previews are deleted on time, and so are Jobs that are cheap to evaluate, although they arrive on the same watch.
func TestF30BombsDelayNobodyElse(t *testing.T) {
	d := newDay(t, 30)
	p := firstPlan
	p.jobsTTL, p.idleTTL, p.audit = time.Second, time.Second, v1alpha1.Suspend
	p.also = " && object.?spec.list.orValue([]).all(a, object.spec.list.all(b, a + b >= 0))"
	d.plans = []dated{p.dated(d.compiler)}
	d.begin()
	bomb := map[string]any{"list": numbers(20_000)}
	const bombs = 60
	for n := range bombs {
		d.finished(fmt.Sprintf("bomb-%d", n), bomb)
		d.finished(fmt.Sprintf("job-%d", n), nil)
		d.create(previews)
		d.locked(func() {
			o := d.all[previews][len(d.all[previews])-1]
			o.labels = map[string]string{"app": "shop", "idle": "true"}
			d.seen(o)
			d.put(o, "MODIFIED")
		})
		time.Sleep(50 * time.Millisecond)
	}
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end) && d.left() > bombs; {
		time.Sleep(50 * time.Millisecond)
	}
	d.locked(func() {
		t.Logf("%d objects left, longest delay %v", len(d.things), d.late)
		// Each bomb blocks the reader of Jobs for 50 ms, or longer on a busy machine. If it did until the deadline of an evaluation, the
		// last Job would be five minutes late. Previews have their own reader, and marks have a resolution of one second.
		if d.late["Preview"] > time.Minute || d.late["Job"] > 2*time.Minute {
			t.Errorf("longest delay of each kind: %v", d.late)
		}
		for _, o := range d.all[jobs] {
			if o.spec == nil {
				t.Errorf("%s is still there", o)
			}
		}
		if n := len(d.all[jobs]) + d.deleted["Job"]; n != 2*bombs || len(d.all[jobs]) != bombs {
			t.Errorf("%d of %d bombs are left", len(d.all[jobs]), bombs)
		}
	})
	d.end((*process).stop)
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// finished creates a finished Job.
func (d *day) finished(name string, spec any) {
	at := time.Now().Truncate(time.Second)
	o := &thing{
		kind: jobs, namespace: "team-a", name: name, created: at, finished: at, labels: map[string]string{"app": "shop"}, spec: spec,
	}
	o.identify()
	d.locked(func() { d.put(o, "ADDED") })
}

func (d *day) left() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.things)
}
