// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/test/faults/checker"
)

const (
	// The past begins at 12:00. evenly opens at 12:00, 12:20 and so on: an object that is due between 12:10 and 12:25 is deleted
	// between 12:20 and 12:25.
	evenly = ", windows: [{schedule: '*/20 * * * *', duration: 10m}]"
	oddly  = ", windows: [{schedule: '10-59/20 * * * *', duration: 10m}]" // never open together with evenly
	frozen = ", freezes: [{from: '2026-03-01T12:10:00Z', to: '2026-03-01T12:30:00Z'}]"
	all    = ", freezes: [{from: '2026-03-01T12:10:00Z', to: '2026-03-01T12:30:00Z', allPolicies: true}]"
)

// until lets time pass until a time of the day.
func (p *past) until(clock string) {
	p.Helper()
	at, err := time.Parse(time.RFC3339, "2026-03-01T"+clock+"Z")
	if err != nil || at.Before(p.clock) {
		p.Fatalf("%s is before %s, or no time: %v", clock, p.clock, err)
	}
	p.clock = at
}

// team writes a RetentionPolicy.
func (p *past) team(spec string) {
	p.Helper()
	p.store(`{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionPolicy, metadata: {namespace: a, name: t}, spec: {` + spec + `}}`)
}

// TestFreezeMakesDueTimesEqual: two rules make an object due a second apart, and half a second apart after a freeze. Due times are in
// whole seconds then, and of rules with the same one the first by name decides.
func TestFreezeMakesDueTimesEqual(t *testing.T) {
	decided := func(propagation metav1.DeletionPropagation) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", all, ", ttl: 15m1s")
			p.policy("q", "Enforce", "", ", ttl: 15m2s, delete: {propagationPolicy: Foreground}")
			p.until("12:00:10")
			x := p.configMap("x", `creationTimestamp: "2026-03-01T12:00:00Z"`)
			p.until("12:33:00")
			p.sunset(x, func(o *metav1.DeleteOptions) { o.PropagationPolicy = &propagation })
		}
	}
	tell(t, map[string]example{
		"the first by name": {tell: decided(metav1.DeletePropagationBackground)},
		"the later one":     {tell: decided(metav1.DeletePropagationForeground), want: broken(checker.Fenced)},
	})
}

func TestOpenings(t *testing.T) {
	// deletes makes an object due at 12:15, and deletes it at another time.
	deletes := func(at, more string, others ...func(*past)) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", more, ", ttl: 15m")
			for _, other := range others {
				other(p)
			}
			p.until("12:00:10")
			x := p.configMap("x", `creationTimestamp: "2026-03-01T12:00:00Z"`)
			p.until(at)
			p.sunset(x)
		}
	}
	beside := func(mode, more, ruled string) func(*past) { return func(p *past) { p.policy("q", mode, more, ruled) } }
	team := func(spec string) func(*past) { return func(p *past) { p.team(spec) } }
	bounded := func(allow bool, spec, at string) func(*past) {
		return func(p *past) {
			p.team(spec)
			p.policy("p", "Enforce", "", fmt.Sprintf(", ttl: 15m, overrideBounds: {allowSuspend: %v}", allow))
			x := p.configMap("x")
			p.until(at)
			p.sunset(x)
		}
	}
	early := broken(checker.NotEarly)
	never := "windows: [{schedule: '0 3 * * *', duration: 1h}]"
	same := "windows: [{schedule: '0-59/20 * * * *', duration: 10m}]" // the same as evenly
	shortly := "windows: [{schedule: '*/20 * * * *', duration: 4m}]"  // the 16 minutes before are spread over two
	tell(t, map[string]example{
		"no windows":                                    {tell: deletes("12:15:00", "")},
		"outside the windows":                           {tell: deletes("12:15:00", evenly), want: early},
		"when the window opens":                         {tell: deletes("12:20:00", evenly), want: early},
		"before its place in the spread":                {tell: deletes("12:21:30", evenly), want: early},
		"at its place in the spread":                    {tell: deletes("12:21:40", evenly)},
		"in the last second of a window":                {tell: deletes("12:29:59", evenly)},
		"when the window closes":                        {tell: deletes("12:30:00", evenly), want: early},
		"in the next window":                            {tell: deletes("12:40:00", evenly)},
		"windows that touch":                            {tell: deletes("12:15:00", ", windows: [{schedule: '*/20 * * * *', duration: 10m}, {schedule: '10-59/20 * * * *', duration: 10m}]")},
		"windows that are always open":                  {tell: deletes("12:15:00", ", windows: [{schedule: '* * * * *', duration: 1m}]")},
		"a window in another time zone":                 {tell: deletes("12:32:00", ", windows: [{schedule: '30 13 * * *', duration: 10m, timeZone: Europe/Berlin}]"), want: early},
		"a window in another time zone, after a spread": {tell: deletes("12:35:00", ", windows: [{schedule: '30 13 * * *', duration: 10m, timeZone: Europe/Berlin}]")},

		"in a freeze":                                                 {tell: deletes("12:15:00", frozen), want: early},
		"when the freeze ends":                                        {tell: deletes("12:30:00", frozen), want: early},
		"before its place after the freeze":                           {tell: deletes("12:32:20", frozen), want: early},
		"at its place after the freeze":                               {tell: deletes("12:32:30", frozen)},
		"before the freeze":                                           {tell: deletes("12:15:00", ", freezes: [{from: '2026-03-01T12:16:00Z', to: '2026-03-01T12:30:00Z'}]")},
		"a freeze that begins in the window":                          {tell: deletes("12:22:00", evenly+", freezes: [{from: '2026-03-01T12:20:00Z', to: '2026-03-01T12:25:00Z'}]"), want: early},
		"a freeze of another policy":                                  {tell: deletes("12:15:00", "", beside("DryRun", frozen, ""))},
		"a freeze of all policies":                                    {tell: deletes("12:15:00", "", beside("DryRun", all, "")), want: early},
		"a freeze of all policies, after it":                          {tell: deletes("12:33:00", "", beside("DryRun", all, ""))},
		"a freeze of all policies elsewhere":                          {tell: deletes("12:15:00", "", beside("DryRun", all+", excludeNamespaces: [a]", ""))},
		"a freeze of a RetentionPolicy":                               {tell: deletes("12:15:00", "", team("mode: DryRun"+all)), want: early},
		"a freeze of a RetentionPolicy for itself":                    {tell: deletes("12:15:00", "", team("mode: DryRun"+frozen))},
		"windows of another rule":                                     {tell: deletes("12:15:00", "", beside("Enforce", evenly, "")), want: early},
		"windows of another rule, before its place":                   {tell: deletes("12:21:30", "", beside("Enforce", evenly, "")), want: early},
		"windows of another rule, at its place":                       {tell: deletes("12:21:40", "", beside("Enforce", evenly, ""))},
		"windows that never open together, in one":                    {tell: deletes("12:22:00", evenly, beside("Enforce", oddly, "")), want: early},
		"windows that never open together, in two":                    {tell: deletes("12:32:00", evenly, beside("Enforce", oddly, "")), want: early},
		"windows of a dry run":                                        {tell: deletes("12:15:00", "", beside("DryRun", evenly, ""))},
		"windows of a rule that is not eligible":                      {tell: deletes("12:15:00", "", beside("Enforce", evenly, ", eligible: 'false'"))},
		"windows of an override":                                      {tell: deletes("12:25:00", evenly, team("overrides: [{policy: p, "+never+"}]")), want: early},
		"windows of an override, before its place in the common time": {tell: deletes("12:21:56", evenly, team("overrides: [{policy: p, "+shortly+"}]")), want: early},
		"windows of an override, at its place in the common time":     {tell: deletes("12:21:58", evenly, team("overrides: [{policy: p, "+shortly+"}]"))},
		"windows of an override that are the same, before its place":  {tell: deletes("12:21:30", evenly, team("overrides: [{policy: p, "+same+"}]")), want: early},
		"windows of an override that are the same, at its place":      {tell: deletes("12:21:40", evenly, team("overrides: [{policy: p, "+same+"}]"))},
		"windows of an override of another policy":                    {tell: deletes("12:25:00", evenly, team("overrides: [{policy: q, "+never+"}]"))},
		"windows of an override of another rule":                      {tell: deletes("12:25:00", evenly, team("overrides: [{policy: p, rule: s, "+never+"}]"))},
		"an override that would widen":                                {tell: deletes("12:15:00", evenly, team("overrides: [{policy: p, windows: [{schedule: '* * * * *', duration: 1m}]}]")), want: early},
		"windows that the rule allows":                                {tell: bounded(true, "overrides: [{policy: p, "+never+"}]", "12:15:00"), want: early},
		"windows that allowSuspend forbids":                           {tell: bounded(false, "overrides: [{policy: p, "+never+"}]", "12:15:00")},
		"a freeze that the rule allows":                               {tell: bounded(true, "mode: DryRun"+all, "12:15:00"), want: early},
		"a freeze that allowSuspend forbids":                          {tell: bounded(false, "mode: DryRun"+all, "12:15:00")},
		"a freeze that ended half a second ago":                       {tell: edited(all, "", "12:15:00", 500*time.Millisecond)},
		"a freeze that was removed":                                   {tell: edited(all, "", "12:15:00", 3*time.Second)},
		"a freeze that began half a second ago":                       {tell: edited("", all, "12:15:00", 500*time.Millisecond)},
		"a freeze that began three seconds ago":                       {tell: edited("", all, "12:15:00", 3*time.Second), want: early},
		"windows that were added three seconds ago":                   {tell: edited("", evenly, "12:15:00", 3*time.Second), want: early},
	})
}

// edited changes a policy when an object is due, and deletes the object some time later.
func edited(before, after, at string, later time.Duration) func(*past) {
	return func(p *past) {
		p.policy("p", "Enforce", before, ", ttl: 1m")
		x := p.configMap("x")
		p.until(at)
		p.policy("p", "Enforce", after, ", ttl: 1m")
		p.wait(later)
		p.configMap("somebody-is-there")
		p.sunset(x)
	}
}

func TestOpeningsOfOwners(t *testing.T) {
	// deletes deletes an owner because of a Pod that is due at 12:15.
	deletes := func(at, more string, others ...func(*past)) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", more, ", ttl: 15m, target: {apiVersion: v1, kind: Pod}, delete: {target: Owner, allowUnfinishedOwner: true}")
			for _, other := range others {
				other(p)
			}
			owner := p.store(`{apiVersion: batch/v1, kind: Job, metadata: {namespace: a, name: o, uid: u}}`)
			p.store(`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: x, ownerReferences: [{controller: true, uid: u, kind: Job, apiVersion: batch/v1, name: o}]}}`)
			p.until(at)
			p.sunset(owner)
		}
	}
	ofOwner := func(more string) func(*past) {
		return func(p *past) { p.policy("q", "Enforce", more, ", target: {apiVersion: batch/v1, kind: Job}") }
	}
	tell(t, map[string]example{
		"no windows":                               {tell: deletes("12:15:10", "")},
		"outside the windows of the Pod's rule":    {tell: deletes("12:15:10", evenly), want: broken(checker.Allowed)},
		"within the windows of the Pod's rule":     {tell: deletes("12:22:00", evenly)},
		"a rule for the owner":                     {tell: deletes("12:15:10", "", ofOwner(""))},
		"outside the windows of the owner's rule":  {tell: deletes("12:15:10", "", ofOwner(evenly)), want: broken(checker.NotEarly)},
		"within the windows of the owner's rule":   {tell: deletes("12:22:00", "", ofOwner(evenly))},
		"a freeze of all policies":                 {tell: deletes("12:15:10", "", func(p *past) { p.policy("q", "DryRun", all, "") }), want: broken(checker.Allowed)},
		"a freeze only of the owner's kind's rule": {tell: deletes("12:15:10", "", ofOwner(frozen)), want: broken(checker.NotEarly)},
	})
}

func TestLateAfterAnOpening(t *testing.T) {
	// went deletes an object that is due at 12:15, at another time, and without faults since a third one.
	went := func(began, at, more string) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", more, ", ttl: 15m")
			x := p.configMap("x")
			p.until(began)
			since := p.clock
			p.continuesUntil(at)
			p.sunset(x)
			p.continues(15 * time.Second)
			p.evidence.Undisturbed = []checker.Span{{From: since, To: p.clock}}
		}
	}
	late := broken(checker.Lively)
	tell(t, map[string]example{
		"at its place in the spread":      {tell: went("12:20:30", "12:21:42", evenly)},
		"late in the window":              {tell: went("12:21:30", "12:22:20", evenly), want: late},
		"in the next window":              {tell: went("12:29:20", "12:40:02", evenly), want: late},
		"faults until the window closes":  {tell: went("12:29:42", "12:40:02", evenly)},
		"at its place after a freeze":     {tell: went("12:31:50", "12:32:32", frozen)},
		"late after a freeze":             {tell: went("12:32:20", "12:33:10", frozen), want: late},
		"late in a window after a freeze": {tell: went("12:40:00", "12:47:00", evenly+", freezes: [{from: '2026-03-01T12:20:00Z', to: '2026-03-01T12:40:00Z'}]"), want: late},
	})
}

func TestLeftAfterAnOpening(t *testing.T) {
	// stays ends at a time, when an object that was due at 12:15 still exists, and without faults since another one.
	stays := func(quiet, end, more string, meanwhile ...func(*past)) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", more, ", ttl: 15m")
			p.configMap("x")
			p.continues(time.Second)
			p.until(quiet)
			p.evidence.Quiet = p.clock
			p.continuesUntil(end)
			for _, m := range meanwhile {
				m(p)
			}
		}
	}
	beside := func(quiet, end, more string) func(*past) {
		return func(p *past) {
			p.policy("q", "Enforce", more, "")
			stays(quiet, end, evenly)(p)
		}
	}
	left := broken(checker.Lively)
	tell(t, map[string]example{
		"without windows":                            {tell: stays("12:16:00", "12:16:20", ""), want: left},
		"before the window opens":                    {tell: stays("12:16:00", "12:16:20", evenly)},
		"before its place in the spread":             {tell: stays("12:21:00", "12:21:30", evenly)},
		"within the deadline":                        {tell: stays("12:21:20", "12:21:48", evenly)},
		"after its place in the spread":              {tell: stays("12:21:30", "12:22:00", evenly), want: left},
		"when the window has closed":                 {tell: stays("12:29:30", "12:30:20", evenly), want: left},
		"when faults ended after the window":         {tell: stays("12:30:10", "12:30:30", evenly)},
		"when faults ended right before the closing": {tell: stays("12:29:52", "12:30:20", evenly)},
		"after a freeze":                             {tell: stays("12:32:30", "12:33:00", frozen), want: left},
		"windows that open together":                 {tell: beside("12:21:30", "12:22:00", evenly), want: left},
		"in the spread after a freeze":               {tell: stays("12:32:00", "12:32:20", frozen)},
		"when the object changed after the window": {
			tell: stays("12:29:30", "12:30:20", evenly, func(p *past) { p.configMap("x", "labels: {a: b}") }),
		},
		"when the policy changed after the window": {
			tell: stays("12:29:30", "12:30:20", ", limits: {maxDeletions: 1, window: 1m}", func(p *past) { p.policy("p", "Enforce", evenly, ", ttl: 15m") }),
		},
	})
}

func TestNoCommonWindow(t *testing.T) {
	// tells ends with two policies that find an object due, and with a condition of both.
	tells := func(more, condition, spec string) func(*past) {
		return func(p *past) {
			store := func(status string) {
				for _, text := range []string{p.policyText("p", "Enforce", evenly, ""), p.policyText("q", "Enforce", more, spec)} {
					p.store(strings.TrimSuffix(text, "}") + ", status: {conditions: [" + status + "]}}")
				}
			}
			store("")
			p.configMap("x")
			p.continues(time.Second)
			p.until("12:12:00")
			p.evidence.Quiet = p.clock
			p.continues(time.Second)
			store(condition)
			p.continues(20 * time.Second)
		}
	}
	const is, isNot, other = "{type: NoCommonWindow, status: 'True'}", "{type: NoCommonWindow, status: 'False'}", "{type: Ready, status: 'True'}"
	told := broken(checker.Told)
	tell(t, map[string]example{
		"they open together":                          {tell: tells(evenly, "", "")},
		"they open together, and the condition is no": {tell: tells(evenly, isNot, "")},
		"they open together, but the condition says":  {tell: tells(evenly, is, ""), want: told},
		"one is always open, but the condition says":  {tell: tells("", is, ""), want: told},
		"never, and the condition says":               {tell: tells(oddly, is, "")},
		"never, but no condition":                     {tell: tells(oddly, other, ""), want: told},
		"never, but the other finds it not eligible":  {tell: tells(oddly, "", ", eligible: 'false'")},
		"never, but the other keeps it":               {tell: tells(oddly, "", ", ttlExpression: optional.none()")},
	})
}

// continuesUntil lets time pass until a time of the day, with a change every second.
func (p *past) continuesUntil(clock string) {
	p.Helper()
	end := *p
	end.until(clock)
	p.continues(end.clock.Sub(p.clock))
}
