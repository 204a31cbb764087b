// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// TestTried: Sunset must not even send a DELETE that would be wrong, although it removes nothing.
func TestTried(t *testing.T) {
	tried := func(before func(*past), after time.Duration, ruled string, adjust ...func(*history.Request)) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ruled)
			x := p.configMap("x")
			before(p)
			p.wait(after)
			p.store(`{apiVersion: v1, kind: Namespace, metadata: {name: somebody-is-there}}`)
			p.configMap("x", "labels: {new: version}")
			p.request(x, 409, withPreconditions(x))
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
	tell(t, map[string]example{
		"due":                             {tell: tried(nothing, time.Minute, "")},
		"not due yet":                     {tell: tried(nothing, 59*time.Second, ""), want: broken(checker.NotEarly)},
		"not due yet, and never received": {tell: tried(nothing, 59*time.Second, "", unreceived), want: broken(checker.NotEarly)},
		"not eligible":                    {tell: tried(nothing, time.Hour, ", eligible: 'false'"), want: broken(checker.Allowed)},
		"suspended by an override": {
			tell: tried(store(`{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionPolicy, metadata: {namespace: a, name: t}, spec: {mode: DryRun, overrides: [{policy: p, suspend: true}]}}`), time.Hour, ""),
			want: broken(checker.Allowed),
		},
		"not enforced when it was sent": {
			tell: func(p *past) {
				p.evidence.Sent = func(r history.Request) time.Time { return r.Received.Add(-10 * time.Second) }
				p.policy("p", "DryRun", "", "")
				x := p.configMap("x")
				p.wait(time.Hour)
				p.policy("p", "Enforce", "", "")
				p.wait(5 * time.Second)
				p.request(x, 409, withPreconditions(x))
			},
			want: broken(checker.Restrained, checker.Allowed),
		},
		"in a held namespace": {
			tell: tried(store(`{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {sunset-k8s.io/hold: "true"}}}`), time.Hour, ""),
			want: broken(checker.HeldStays),
		},
		"not among the newest in the version that it names": {tell: tried(func(p *past) {
			p.remove(p.configMap("y"))
		}, 10*time.Second, ", ttl: 0s, keepNewest: {count: 1}")},
		"used since the DELETE was in flight": {tell: func(p *past) {
			p.evidence.Sent = func(r history.Request) time.Time { return r.Received.Add(-10 * time.Second) }
			p.policy("p", "Enforce", "", ", eligible: references.count == 0, ttl: 0s")
			x := p.configMap("x")
			p.wait(time.Hour)
			p.store(`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: user}, spec: {volumes: [{configMap: {name: x}}]}}`)
			p.wait(5 * time.Second)
			p.request(x, 409, withPreconditions(x))
		}},
	})
}

// TestVersionThatNeverExistedIsNotChecked sends a DELETE for a version that is not in the history.
func TestVersionThatNeverExistedIsNotChecked(t *testing.T) {
	p := newPast(t)
	p.policy("p", "Enforce", "", "")
	x := p.configMap("x")
	p.wait(time.Hour)
	options := withPreconditions(x)
	version := "9"
	options.Preconditions.ResourceVersion = &version
	p.request(x, 409, options)
	if report := p.check(); len(report.NotChecked) != 1 || len(report.Violations) != 0 || report.Checked != 0 {
		t.Errorf("%s", report)
	}
}
