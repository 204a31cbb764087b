// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// continues lets time pass with a change every second, so that the time of every revision is known.
func (p *past) continues(d time.Duration) {
	p.Helper()
	for end := p.clock.Add(d); p.clock.Before(end); p.wait(time.Second) {
		p.store(fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: n%d}}`, p.revision))
	}
}

func TestLate(t *testing.T) {
	// One object is due after a minute and is deleted some time after the start, without faults.
	went := func(after time.Duration, ruled string, meanwhile ...func(*past, *history.State)) func(*past) {
		return func(p *past) {
			began := p.clock
			p.policy("p", "Enforce", "", ruled)
			x := p.configMap("x")
			p.continues(time.Minute)
			for _, m := range meanwhile {
				m(p, x)
			}
			p.continues(after - time.Minute)
			p.sunset(x)
			p.continues(20 * time.Second)
			p.evidence.Undisturbed = []checker.Span{{From: began, To: p.clock}}
		}
	}
	failed := func(code int) func(*past, *history.State) {
		return func(p *past, x *history.State) { p.request(x, code, withPreconditions(x)) }
	}
	tell(t, map[string]example{
		"immediately":                 {tell: went(61*time.Second, "")},
		"within the deadline":         {tell: went(69*time.Second, "")},
		"late":                        {tell: went(90*time.Second, ""), want: broken(checker.Lively)},
		"late, after another attempt": {tell: went(90*time.Second, "", failed(409))},
		"late, while the server was busy": {tell: went(75*time.Second, "", func(p *past, _ *history.State) {
			p.request(p.configMap("y", `annotations: {a: b}`), 503, withPreconditions(p.configMap("y", `annotations: {a: c}`)))
			last := &p.requests[len(p.requests)-1]
			last.Verb, last.Options.Preconditions = "list", nil
		})},
		"late, while the object changed": {tell: func(p *past) {
			began := p.clock
			p.policy("p", "Enforce", "", "")
			x := p.configMap("x")
			p.continues(time.Minute)
			for i := range 5 {
				x = p.configMap("x", fmt.Sprintf("labels: {n: n%d}", i))
				p.continues(5 * time.Second)
			}
			p.sunset(x)
			p.evidence.Undisturbed = []checker.Span{{From: began, To: p.clock}}
		}},
		"late, since the limit is used up by an object that another client deleted": {tell: func(p *past) {
			began := p.clock
			q := p.policy("p", "Enforce", ", limits: {maxDeletions: 1, window: 1m}", "")
			x := p.configMap("x")
			p.continues(time.Minute)
			other := p.configMap("other")
			p.ledger(q, 0, 0, other)
			p.remove(other)
			p.ledger(q, 0, 1)
			p.continues(20 * time.Second)
			p.evidence.Undisturbed = []checker.Span{{From: began, To: p.clock}}
			p.continues(time.Minute)
			p.ledger(q, 0, 1, x)
			p.sunset(x)
			p.ledger(q, 1, 1)
		}},
		"late, with a rule that ranks objects": {tell: went(90*time.Second, ", capacity: {max: 100}")},
	})
}

func TestPaceLimitsDeletionRate(t *testing.T) {
	// Ten objects are deleted, with a gap between them.
	sent := func(rate float64, processes int, gap time.Duration) func(*past) {
		return func(p *past) {
			p.policy("p", "Enforce", "", "")
			all := p.configMaps(10)
			p.wait(time.Hour)
			for _, x := range all {
				p.sunset(x)
				p.wait(gap)
			}
			p.evidence.Paces = map[string]checker.Pace{us: {PerSecond: rate, Processes: processes}}
		}
	}
	tell(t, map[string]example{
		"at the maximum rate":           {tell: sent(1, 1, time.Second)},
		"all at once, with a high rate": {tell: sent(20, 1, 0)},
		"all at once":                   {tell: sent(1, 1, 0), want: broken(checker.Paced)},
		"all at once, by ten processes": {tell: sent(1, 10, 0)},
	})
}

func TestCapacityOfQuotasAndShares(t *testing.T) {
	quota := func(hard string, than int, more ...string) func(*past) {
		return func(p *past) {
			p.store(`{apiVersion: v1, kind: ResourceQuota, metadata: {namespace: a, name: q}, spec: {hard: {` + hard + `}}}`)
			for i, spec := range more {
				p.store(fmt.Sprintf(`{apiVersion: v1, kind: ResourceQuota, metadata: {namespace: a, name: q%d}, spec: %s}`, i, spec))
			}
			p.policy("p", "Enforce", "", ", ttl: 1000h, capacity: {percentOfQuota: 50}")
			var all []*history.State
			for i := range 5 {
				all = append(all, p.configMap(fmt.Sprint("x", i)))
				p.wait(time.Second)
			}
			p.sunset(all[than])
		}
	}
	// Namespace a has three objects, namespace b has one; they share the capacity.
	share := func(most, of int) func(*past) {
		return func(p *past) {
			p.store(`{apiVersion: v1, kind: Namespace, metadata: {name: b}}`)
			p.policy("p", "Enforce", "", fmt.Sprintf(", ttl: 1000h, capacity: {max: %d, share: Fair}", most))
			var all []*history.State
			for i := range 3 {
				all = append(all, p.configMap(fmt.Sprint("x", i)))
				p.wait(time.Second)
			}
			all = append(all, p.store(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: y}}`))
			p.wait(time.Second)
			p.sunset(all[of])
		}
	}
	early := broken(checker.NotEarly)
	tell(t, map[string]example{
		"beyond half of the quota":                      {tell: quota("count/configmaps: 6", 1)},
		"within half of the quota":                      {tell: quota("count/configmaps: 6", 2), want: early},
		"beyond half of an odd quota":                   {tell: quota("count/configmaps: 5", 1)},
		"within half of an odd quota":                   {tell: quota("count/configmaps: 5", 2), want: early},
		"beyond half, by the plain resource name":       {tell: quota("configmaps: 6", 1)},
		"a quota of another kind":                       {tell: quota("count/secrets: 0", 0), want: early},
		"the lower of two quotas":                       {tell: quota("count/configmaps: 100", 1, "{hard: {configmaps: 6}}")},
		"a second quota with a scope":                   {tell: quota("count/configmaps: 100", 0, "{hard: {configmaps: 0}, scopes: [NotTerminating]}"), want: early},
		"a quota of MaxInt64":                           {tell: quota("count/configmaps: 9223372036854775807", 0), want: early},
		"a quota above MaxInt64":                        {tell: quota("count/configmaps: 100E", 0), want: early},
		"the oldest object of the largest namespace":    {tell: share(3, 0)},
		"the second oldest of the largest namespace":    {tell: share(3, 1), want: early},
		"the only object of a namespace":                {tell: share(2, 3), want: early},
		"the object without a place in the first round": {tell: share(1, 3)},
		"a capacity for all objects":                    {tell: share(4, 0), want: early},
	})
}

func TestLedgerSpentMatchesTheCount(t *testing.T) {
	ledger := func(deleted, spent int) string {
		return fmt.Sprintf("total: {deleted: %[1]d}, rules: [{name: r, deleted: %[1]d}], spent: [{until: '2026-03-01T13:00:00.000000Z', count: %[2]d}]", deleted, spent)
	}
	forms := func(wait time.Duration, spent int) func(*past) {
		return func(p *past) {
			q := p.policy("p", "Enforce", ", limits: {maxDeletions: 5, window: 1m}", "")
			x := p.configMap("x")
			p.wait(time.Hour)
			p.ledger(q, 0, 0, x)
			p.sunset(x)
			p.ledgerOf(q, ledger(1, 1))
			p.continues(wait)
			p.ledgerOf(q, ledger(1, spent))
		}
	}
	tell(t, map[string]example{
		"equal to the count":          {tell: forms(30*time.Second, 1)},
		"more than the count":         {tell: forms(30*time.Second, 2), want: broken(checker.Limited)},
		"forgotten within the window": {tell: forms(30*time.Second, 0), want: broken(checker.Limited)},
		"forgotten after the window":  {tell: forms(70*time.Second, 0)},
		"kept after the window":       {tell: forms(70*time.Second, 1)},
	})
}
