// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// ledger writes the ledger of a policy.
func (p *past) ledger(of *history.State, deleted, gone int, open ...*history.State) {
	p.Helper()
	lines := ""
	for _, s := range open {
		lines += fmt.Sprintf("{rule: r, apiVersion: v1, kind: ConfigMap, namespace: a, objects: [%s %s %s]}, ", s.GetName(), s.GetUID(), s.GetResourceVersion())
	}
	p.ledgerOf(of, fmt.Sprintf(`total: {deleted: %[1]d, gone: %[2]d}, rules: [{name: r, deleted: %[1]d, gone: %[2]d}], open: [%[3]s], %[4]s`,
		deleted, gone, lines, p.spent(deleted+gone)))
}

// spent returns the field of a ledger for deletions up to now.
func (p *past) spent(n int) string {
	return fmt.Sprintf("spent: [{until: %q, count: %d}]", metav1.NewMicroTime(p.clock).UTC().Format(metav1.RFC3339Micro), n)
}

func (p *past) ledgerOf(of *history.State, text string) {
	p.Helper()
	p.store(fmt.Sprintf(`{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionLedger, metadata: {name: %s}, %s}`, of.GetUID(), text), us)
}

func (p *past) configMaps(n int) (all []*history.State) {
	for i := range n {
		all = append(all, p.configMap(fmt.Sprint("x", i)))
	}
	return all
}

func TestLimits(t *testing.T) {
	// Three objects are deleted, with a gap between them.
	spaced := func(limits string, d time.Duration) func(*past) {
		return func(p *past) {
			q := p.policy("p", "Enforce", limits, "")
			all := p.configMaps(3)
			p.wait(time.Hour)
			p.ledger(q, 0, 0, all...)
			for _, x := range all {
				p.sunset(x)
				p.wait(d)
			}
			p.ledger(q, 3, 0)
		}
	}
	tell(t, map[string]example{
		"the allowed number":                   {tell: spaced(", limits: {maxDeletions: 3, window: 1m}", time.Second)},
		"too many in a window":                 {tell: spaced(", limits: {maxDeletions: 2, window: 1m}", time.Second), want: broken(checker.Limited)},
		"too many in a window, by two seconds": {tell: spaced(", limits: {maxDeletions: 2, window: 1m}", 29*time.Second), want: broken(checker.Limited)},
		"the same number, more slowly":         {tell: spaced(", limits: {maxDeletions: 2, window: 1m}", 31*time.Second)},
		"too many at once, by a new policy": {
			tell: func(p *past) {
				all := p.configMaps(2)
				p.wait(time.Hour)
				q := p.policy("p", "Enforce", ", limits: {maxDeletions: 1, window: 1m}", "")
				p.ledger(q, 0, 0, all...)
				p.sunset(all[0])
				p.sunset(all[1])
				p.ledger(q, 2, 0)
			},
			want: broken(checker.Limited),
		},
		"one in flight when the limits were added": {tell: func(p *past) {
			p.policy("p", "Enforce", "", "")
			all := p.configMaps(2)
			p.wait(time.Hour)
			q := p.policy("p", "Enforce", ", limits: {maxDeletions: 1, window: 1m}", "")
			p.wait(5 * time.Second)
			p.sunset(all[0])
			first := p.requests[len(p.requests)-1].ID
			p.evidence.Sent = func(r history.Request) time.Time {
				if r.ID == first {
					return r.Received.Add(-6 * time.Second)
				}
				return r.Received
			}
			p.ledger(q, 0, 0, all[1])
			p.sunset(all[1])
			p.ledger(q, 1, 0)
		}},
		"raised limits": {tell: func(p *past) {
			q := p.policy("p", "Enforce", ", limits: {maxDeletions: 1, window: 1m}", "")
			all := p.configMaps(2)
			p.wait(time.Hour)
			p.ledger(q, 0, 0, all...)
			p.sunset(all[0])
			p.policy("p", "Enforce", ", limits: {maxDeletions: 2, window: 1m}", "")
			p.sunset(all[1])
		}},
	})
}

func TestCounts(t *testing.T) {
	counted := func(deleted, gone int) func(*past) {
		return func(p *past) {
			q := p.policy("p", "Enforce", ", limits: {maxDeletions: 9, window: 1m}", "")
			all := p.configMaps(2)
			p.wait(time.Hour)
			p.ledger(q, 0, 0, all...)
			p.sunset(all[0])
			p.sunset(all[1])
			p.ledger(q, deleted, gone)
			p.evidence.Quiet = p.clock
			p.wait(time.Minute)
		}
	}
	status := func(deleted int, lossy bool) func(*past) {
		return func(p *past) {
			text := p.policyText("p", "Enforce", "", "")
			p.store(text)
			x := p.configMap("x")
			p.wait(time.Hour)
			p.sunset(x)
			p.store(text[:len(text)-1] + fmt.Sprintf(", status: {deleted: %d}}", deleted))
			p.evidence.Quiet, p.evidence.Lossy = p.clock, lossy
			p.wait(time.Minute)
		}
	}
	// alone removes the limits of a policy between two deletions. Its ledger has the first one; status is the count in the
	// policy's status then.
	alone := func(status int) func(*past) {
		return func(p *past) {
			q := p.policy("p", "Enforce", ", limits: {maxDeletions: 9, window: 1m}", "")
			all := p.configMaps(2)
			p.wait(time.Hour)
			p.ledger(q, 0, 0, all[0])
			p.sunset(all[0])
			p.ledger(q, 1, 0)
			text := p.policyText("p", "Enforce", "", "")
			p.store(text)
			p.wait(time.Minute)
			p.sunset(all[1])
			p.store(text[:len(text)-1] + fmt.Sprintf(", status: {deleted: %d}}", status))
			p.evidence.Quiet = p.clock
			p.wait(time.Minute)
		}
	}
	tell(t, map[string]example{
		"an unused ledger, a status with each once":    {tell: alone(2)},
		"an unused ledger, a status with one too few":  {tell: alone(1), want: broken(checker.Exact)},
		"an unused ledger, a status with one too many": {tell: alone(3), want: broken(checker.Exact)},
		"a ledger with each once":                      {tell: counted(2, 0)},
		"a ledger with one as gone":                    {tell: counted(1, 1)},
		"a ledger with one as both deleted and gone":   {tell: counted(2, 1), want: broken(checker.Exact)},
		"a ledger with one that another user deleted": {tell: func(p *past) {
			q := p.policy("p", "Enforce", ", limits: {maxDeletions: 9, window: 1m}", "")
			all := p.configMaps(2)
			p.wait(time.Hour)
			p.ledger(q, 0, 0, all...)
			p.sunset(all[0])
			p.remove(all[1])
			p.ledger(q, 1, 1)
		}},
		"a ledger with one too many":               {tell: counted(3, 0), want: broken(checker.Exact)},
		"a ledger with one too few":                {tell: counted(1, 0), want: broken(checker.Exact)},
		"a status with each once":                  {tell: status(1, false)},
		"a status with one too many":               {tell: status(2, true), want: broken(checker.Exact)},
		"a status with one too few":                {tell: status(0, false), want: broken(checker.Exact)},
		"a status with one too few, after a crash": {tell: status(0, true)},
		"a ledger without an entry before the DELETE": {
			tell: func(p *past) {
				q := p.policy("p", "Enforce", ", limits: {maxDeletions: 9, window: 1m}", "")
				x := p.configMap("x")
				p.wait(time.Hour)
				p.sunset(x)
				p.ledger(q, 1, 0)
			},
			want: broken(checker.WrittenFirst),
		},
		"a ledger with another version": {
			tell: func(p *past) {
				q := p.policy("p", "Enforce", ", limits: {maxDeletions: 9, window: 1m}", "")
				p.ledger(q, 0, 0, p.configMap("x"))
				x := p.configMap("x")
				p.wait(time.Hour)
				p.sunset(x)
				p.ledger(q, 1, 0)
			},
			want: broken(checker.WrittenFirst),
		},
	})
}

func TestPartsOfLedgers(t *testing.T) {
	// Two objects are deleted, one with each outcome; text is the final ledger.
	parts := func(text string) func(*past) {
		return func(p *past) {
			q := p.policy("p", "Enforce", "", `, outcome: "object.metadata.labels.app"`)
			all := []*history.State{p.configMap("x", "labels: {app: red}"), p.configMap("z", "labels: {app: blue}")}
			p.wait(time.Hour)
			lines := ""
			for _, s := range all {
				lines += fmt.Sprintf("{rule: r, outcome: %s, apiVersion: v1, kind: ConfigMap, namespace: a, objects: [%s %s %s]}, ",
					s.GetLabels()["app"], s.GetName(), s.GetUID(), s.GetResourceVersion())
			}
			p.ledgerOf(q, "open: ["+lines+"]")
			p.sunset(all[0])
			p.sunset(all[1])
			p.ledgerOf(q, text)
			p.evidence.Quiet = p.clock
			p.wait(time.Minute)
		}
	}
	outcomes := func(rule, red, blue string) func(*past) {
		return parts("total: {deleted: 2}, rules: [{name: r, " + rule + ", outcomes: [{name: red, " + red + "}, {name: blue, " + blue + "}]}]")
	}
	const one, two = "deleted: 1", "deleted: 2"
	tell(t, map[string]example{
		"correct counts":                 {tell: outcomes(two, one, one)},
		"an outcome with one too many":   {tell: outcomes(two, two, "deleted: 0"), want: broken(checker.Exact)},
		"an outcome with one too few":    {tell: outcomes(two, one, "deleted: 0"), want: broken(checker.Exact)},
		"a rule with one too few":        {tell: outcomes(one, one, one), want: broken(checker.Exact)},
		"a rule that never existed":      {tell: parts("total: {deleted: 2}, rules: [{name: q, deleted: 2}]"), want: broken(checker.Exact)},
		"rules with less than the total": {tell: parts("total: {deleted: 2}, rules: []"), want: broken(checker.Exact)},
		"a namespace without deletions":  {tell: parts("total: {deleted: 2}, namespaces: [{name: b, deleted: 1}], rules: [{name: r, deleted: 2, outcomes: [{name: red, deleted: 1}, {name: blue, deleted: 1}]}]"), want: broken(checker.Exact)},
	})
}

// TestStatusSumsItsLedgerUp: at the end, when the ledger has not changed for a while, the status has the same counts.
func TestStatusSumsItsLedgerUp(t *testing.T) {
	summed := func(deleted int) func(*past) {
		return func(p *past) {
			text := p.policyText("p", "Enforce", ", limits: {maxDeletions: 9, window: 1m}", "")
			q := p.store(text)
			x := p.configMap("x")
			p.wait(time.Hour)
			p.ledger(q, 0, 0, x)
			p.sunset(x)
			p.ledger(q, 1, 0)
			p.store(text[:len(text)-1] + fmt.Sprintf(", status: {deleted: 1, ledger: {name: l, deleted: %d, gone: 0, open: 0}}}", deleted))
			p.evidence.Quiet = p.clock
			p.wait(time.Minute)
		}
	}
	tell(t, map[string]example{
		"current counts": {tell: summed(1)},
		"old counts":     {tell: summed(0), want: broken(checker.Exact)},
	})
}

func TestApproval(t *testing.T) {
	backlog := func(before func(*past), more string) func(*past) {
		return func(p *past) {
			all := p.configMaps(12)
			p.wait(time.Hour)
			before(p)
			p.wait(time.Minute)
			p.policy("p", "Enforce", more, "")
			p.wait(time.Minute)
			p.sunset(all[0])
		}
	}
	// withdrawn has a backlog whose status names a hash. One object is deleted after the policy had an approval, perhaps with
	// another rule.
	withdrawn := func(hash, required, ruled string, withdraw func(p *past, approval *history.State)) func(*past) {
		return func(p *past) {
			x := p.configMaps(12)[0]
			p.wait(time.Hour)
			text := p.policyText("p", "Enforce", ", approval: {"+required+"}", "")
			waits := text[:len(text)-1] + ", status: {observedGeneration: 1, pendingApproval: {hash: 9f2c}}}"
			p.store(strings.Replace(waits, "{name: p}", "{name: p, generation: 1}", 1))
			p.wait(time.Minute)
			text = p.policyText("p", "Enforce", ", approval: {"+required+"}", ruled)
			approval := p.approve(p.store(strings.Replace(text, "{name: p}", "{name: p, generation: 2}", 1)), hash)
			p.wait(time.Minute)
			withdraw(p, approval)
			p.sunset(x)
		}
	}
	approved := func(hash, required, ruled string) func(*past) {
		return withdrawn(hash, required, ruled, func(*past, *history.State) {})
	}
	before := func(d time.Duration) func(*past, *history.State) {
		return func(p *past, approval *history.State) {
			p.remove(approval)
			p.wait(d)
		}
	}
	nothing := func(*past) {}
	const always = ", approval: {requiredFor: AllChanges}"
	tell(t, map[string]example{
		"more than allowed, without preview":      {tell: backlog(nothing, ", approval: {}"), want: broken(checker.Approved)},
		"as many as allowed":                      {tell: backlog(nothing, ", approval: {maxPercent: 100}")},
		"previewed by a dry run":                  {tell: backlog(func(p *past) { p.policy("p", "DryRun", ", approval: {}", "") }, ", approval: {}")},
		"approved":                                {tell: approved("9f2c", "", "")},
		"approved for another form":               {tell: approved("9f2c", "", ", ttl: 2m"), want: broken(checker.Approved)},
		"always required, previewed by a dry run": {tell: backlog(func(p *past) { p.policy("p", "DryRun", always, "") }, always), want: broken(checker.Approved)},
		"always required, approved":               {tell: approved("9f2c", "requiredFor: AllChanges", "")},
		"withdrawn just before":                   {tell: withdrawn("9f2c", "requiredFor: AllChanges", "", before(time.Second/2))},
		"withdrawn long before":                   {tell: withdrawn("9f2c", "requiredFor: AllChanges", "", before(time.Minute)), want: broken(checker.Approved)},
		"always required, not approved":           {tell: approved("0000", "requiredFor: AllChanges, maxObjects: 1000000, maxPercent: 100", ""), want: broken(checker.Approved)},
		"a hash that no status named":             {tell: approved("0000", "", ""), want: broken(checker.Approved)},
	})
}

// TestUnknownEndIsNotChecked has an end that cannot be checked, or that came too soon.
func TestUnknownEndIsNotChecked(t *testing.T) {
	for name, ruled := range map[string]string{"a function": ", eligible: 'configMapsIn(object) == []'", "too soon": ""} {
		t.Run(name, func(t *testing.T) {
			p := newPast(t)
			p.policy("p", "Enforce", "", ruled)
			p.configMap("x")
			p.wait(time.Hour)
			p.evidence.Quiet = p.clock
			if ruled != "" {
				p.wait(time.Minute)
			}
			if report := p.check(); len(report.NotChecked) != 1 || len(report.Violations) != 0 {
				t.Errorf("%s", report)
			}
		})
	}
}

func TestDueObjectsAreDeleted(t *testing.T) {
	left := func(ruled, more string, after time.Duration) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ruled)
			p.configMap("x", more)
			p.evidence.Quiet = p.clock
			p.wait(after)
			p.configMap("somebody-is-there", `annotations: {sunset-k8s.io/hold: "true"}`)
		}
	}
	// limited leaves an object that waits because of another one, which counts for a minute, plus 11 s for clocks and parts
	// of a minute.
	limited := func(after time.Duration) func(*past) {
		return func(p *past) {
			q := p.policy("p", "Enforce", ", limits: {maxDeletions: 1, window: 1m}", "")
			all := p.configMaps(2)
			p.wait(2 * time.Minute)
			p.ledger(q, 0, 0, all[0])
			p.sunset(all[0])
			p.ledger(q, 1, 0)
			p.evidence.Quiet = p.clock
			p.wait(after)
		}
	}
	// owned leaves a finished Job whose Pod's rule deletes it.
	owned := func(status string, after time.Duration) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", ", target: {apiVersion: v1, kind: Pod}, delete: {target: Owner}")
			job := p.store(`{apiVersion: batch/v1, kind: Job, metadata: {namespace: a, name: job}, status: {` + status + `}}`)
			for _, name := range []string{"x", "z"} {
				p.store(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {namespace: a, name: %s, ownerReferences: [{controller: true, uid: %s, kind: Job, apiVersion: batch/v1, name: job}]}}`, name, job.GetUID()))
			}
			p.evidence.Quiet = p.clock
			p.wait(after)
		}
	}
	const complete = `completionTime: "2026-03-01T12:00:00Z", conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-03-01T12:00:00Z"}]`
	tell(t, map[string]example{
		"not marked for a moment":           {tell: left(", marked", "labels: {}", time.Minute+9*time.Second)},
		"never marked":                      {tell: left(", marked", "labels: {}", time.Minute+12*time.Second), want: broken(checker.Lively)},
		"not marked because it is in use":   {tell: left(", marked, eligible: 'false'", "labels: {}", time.Hour)},
		"a finished owner":                  {tell: owned(complete, 2*time.Minute), want: broken(checker.Lively)},
		"an owner that was not due":         {tell: owned(complete, time.Minute)},
		"an unfinished owner":               {tell: owned("active: 1", time.Hour)},
		"not due yet":                       {tell: left("", "labels: {}", time.Minute+9*time.Second)},
		"overdue":                           {tell: left("", "labels: {}", time.Minute+11*time.Second), want: broken(checker.Lively)},
		"held":                              {tell: left("", `annotations: {sunset-k8s.io/hold: "true"}`, time.Hour)},
		"terminating":                       {tell: left("", `deletionTimestamp: "2026-03-01T12:00:00Z"`, time.Hour)},
		"not eligible":                      {tell: left(", eligible: 'false'", "labels: {}", time.Hour)},
		"an expression that fails":          {tell: left(", eligible: object.x", "labels: {}", time.Hour)},
		"waiting for limits":                {tell: limited(time.Minute)},
		"limits have just been free":        {tell: limited(75 * time.Second)},
		"limits have been free for a while": {tell: limited(90 * time.Second), want: broken(checker.Lively)},
	})
}
