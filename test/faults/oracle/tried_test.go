package oracle_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/history"
	"github.com/sunset-k8s/sunset/test/faults/oracle"
)

// TestWhatWasTried: a DELETE that removed nothing must not have been sent either.
func TestWhatWasTried(t *testing.T) {
	tried := func(before func(*past), after time.Duration, ruled string, adjust ...func(*history.Request)) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ruled)
			x := p.configMap("x")
			before(p)
			p.wait(after)
			p.store(`{apiVersion: v1, kind: Namespace, metadata: {name: somebody-is-there}}`)
			p.configMap("x", "labels: {new: version}")
			p.request(x, 409, fenced(x))
			for _, a := range adjust {
				a(&p.requests[len(p.requests)-1])
			}
		}
	}
	nothing := func(*past) {}
	store := func(text string) func(*past) {
		return func(p *past) { p.store(text) }
	}
	unreceived := func(r *history.Request) { r.Code, r.Unreceived = 0, true }
	tell(t, map[string]story{
		"what was due":              {tell: tried(nothing, time.Minute, "")},
		"what was not due yet":      {tell: tried(nothing, 59*time.Second, ""), want: broken(oracle.NotEarly)},
		"what no server ever heard": {tell: tried(nothing, 59*time.Second, "", unreceived), want: broken(oracle.NotEarly)},
		"what is not eligible":      {tell: tried(nothing, time.Hour, ", eligible: 'false'"), want: broken(oracle.Judged)},
		"what an override suspends": {
			tell: tried(store(`{apiVersion: sunset.x-k8s.io/v1alpha1, kind: RetentionPolicy, metadata: {namespace: a, name: t}, spec: {mode: DryRun, overrides: [{policy: p, suspend: true}]}}`), time.Hour, ""),
			want: broken(oracle.Judged),
		},
		"what nobody enforced when it was sent": {
			tell: func(p *past) {
				p.evidence.Sent = func(r history.Request) time.Time { return r.Received.Add(-10 * time.Second) }
				p.policy("p", "DryRun", "", "")
				x := p.configMap("x")
				p.wait(time.Hour)
				p.policy("p", "Enforce", "", "")
				p.wait(5 * time.Second)
				p.request(x, 409, fenced(x))
			},
			want: broken(oracle.Restrained, oracle.Judged),
		},
		"what is in a namespace that is held": {
			tell: tried(store(`{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {sunset.x-k8s.io/hold: "true"}}}`), time.Hour, ""),
			want: broken(oracle.HeldStays),
		},
		"what was not among the newest when it was as it is named": {tell: tried(func(p *past) {
			p.remove(p.configMap("y"))
		}, 10*time.Second, ", ttl: 0s, keepNewest: {count: 1}")},
		"what came into use when the DELETE was under way": {tell: func(p *past) {
			p.evidence.Sent = func(r history.Request) time.Time { return r.Received.Add(-10 * time.Second) }
			p.policy("p", "Enforce", "", ", eligible: references.count == 0, ttl: 0s")
			x := p.configMap("x")
			p.wait(time.Hour)
			p.store(`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: user}, spec: {volumes: [{configMap: {name: x}}]}}`)
			p.wait(5 * time.Second)
			p.request(x, 409, fenced(x))
		}},
	})
}

// TestWhatNeverWasIsNotJudged: a DELETE that names a version which the history does not have.
func TestWhatNeverWasIsNotJudged(t *testing.T) {
	p := newPast(t)
	p.policy("p", "Enforce", "", "")
	x := p.configMap("x")
	p.wait(time.Hour)
	options := fenced(x)
	version := "9"
	options.Preconditions.ResourceVersion = &version
	p.request(x, 409, options)
	if report := p.check(); len(report.NotJudged) != 1 || len(report.Violations) != 0 || report.Judged != 0 {
		t.Errorf("%s", report)
	}
}
