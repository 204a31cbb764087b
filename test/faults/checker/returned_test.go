// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// TestRecreatedObjectsMayStay: Sunset keeps an object that was recreated three times in a row, each within a minute of its
// deletion. It keeps no other object.
func TestRecreatedObjectsMayStay(t *testing.T) {
	// back recreates x several times, each time some time after its deletion. Then x stays, due for a minute.
	back := func(times int, after time.Duration, remove func(p *past, x *history.State, time int)) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", "")
			x := p.configMap("x")
			for i := range times {
				p.continues(61 * time.Second)
				remove(p, x, i)
				p.continues(after)
				x = p.configMap("x")
			}
			p.continues(time.Minute)
		}
	}
	sunset := func(p *past, x *history.State, _ int) { p.sunset(x) }
	// mixed deletes as Sunset, except for the second time.
	mixed := func(p *past, x *history.State, time int) {
		if time == 1 {
			p.remove(x)
		} else {
			p.sunset(x)
		}
	}
	late := broken(checker.Lively)
	stories := map[string]example{
		"three times":                     {tell: back(3, time.Second, sunset)},
		"five times":                      {tell: back(5, time.Second, sunset)},
		"twice":                           {tell: back(2, time.Second, sunset), want: late},
		"three times, each after minutes": {tell: back(3, 2*time.Minute, sunset), want: late},
		"three times, once after another user's DELETE": {tell: back(3, time.Second, mixed), want: late},
		"three times, after DELETEs of another user":    {tell: back(3, time.Second, func(p *past, x *history.State, _ int) { p.remove(x) }), want: late},
	}
	ends := map[string]func(p *past, told func(*past)){
		"at the end": func(p *past, told func(*past)) {
			told(p)
			p.evidence.Quiet, p.evidence.Lossy = p.clock, true // the history contains no status
			p.continues(20 * time.Second)
			p.configMap("y", `annotations: {sunset-k8s.io/hold: "true"}`)
		},
		"during the run": func(p *past, told func(*past)) {
			told(p)
			from := p.clock
			p.continues(time.Minute)
			p.evidence.Undisturbed = []checker.Span{{From: from, To: p.clock}}
		},
	}
	for name, end := range ends {
		all := map[string]example{}
		for what, s := range stories {
			all[what] = example{tell: func(p *past) { end(p, s.tell) }, want: s.want}
		}
		t.Run(name, func(t *testing.T) { tell(t, all) })
	}
}

// TestOwnerThatComesBackMayStay recreates an owner, whose objects have different names.
func TestOwnerThatComesBackMayStay(t *testing.T) {
	back := func(times int) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ", target: {apiVersion: v1, kind: Pod}, delete: {target: Owner}")
			for i := range times + 1 {
				at := p.clock.Format(time.RFC3339)
				job := p.store(`{apiVersion: batch/v1, kind: Job, metadata: {namespace: a, name: job}, status: {completionTime: "` + at +
					`", conditions: [{type: Complete, status: "True", lastTransitionTime: "` + at + `"}]}}`)
				pod := p.store(`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: "x` + string(rune('0'+i)) + `", ownerReferences: [{controller: true, uid: ` +
					string(job.GetUID()) + `, kind: Job, apiVersion: batch/v1, name: job}]}}`)
				p.continues(61 * time.Second)
				if i < times {
					p.sunset(job)
					p.remove(pod)
				}
			}
			p.evidence.Quiet, p.evidence.Lossy = p.clock, true // the history contains no status
			p.continues(20 * time.Second)
		}
	}
	tell(t, map[string]example{
		"three times": {tell: back(3)},
		"twice":       {tell: back(2), want: broken(checker.Lively)},
	})
}
