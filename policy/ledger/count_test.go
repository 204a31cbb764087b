// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"testing"

	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestLedgerCountsByRuleAndNamespace(t *testing.T) {
	s := newStore(t)
	k := s.machine("first")
	a, b, c := entry("a", "1"), entry("b", "1"), entry("c", "1")
	b.Namespace, b.Outcome = "", ""
	c.Rule, c.Outcome = "new", "failed"
	s.write(k, a, b, c)
	s.send(k, a, ledger.Deleted)
	s.send(k, b, ledger.Deleted)
	s.send(k, c, ledger.Unknown)
	k.Observe(c, absent, start)
	s.write(k)

	s.is(2, 1)
	deleted, gone := v1alpha1.LedgerCount{Deleted: 1}, v1alpha1.LedgerCount{Gone: 1}
	want := v1alpha1.RetentionLedger{
		Rules: []v1alpha1.LedgerRule{
			{Name: "new", LedgerCount: gone, Outcomes: []v1alpha1.LedgerOutcome{{Name: "failed", LedgerCount: gone}}},
			{Name: "old", LedgerCount: v1alpha1.LedgerCount{Deleted: 2}, Outcomes: []v1alpha1.LedgerOutcome{{Name: "failed", LedgerCount: deleted}}},
		},
		Namespaces: []v1alpha1.LedgerNamespace{{Name: "ns", LedgerCount: v1alpha1.LedgerCount{Deleted: 1, Gone: 1}}},
	}
	got := v1alpha1.RetentionLedger{Rules: s.ledger.Rules, Namespaces: s.ledger.Namespaces}
	expect.Equal(t, "ledger", want, got)
}

func TestCountersAreBounded(t *testing.T) {
	s := newStore(t)
	k := s.machine("first")
	for i := range ledger.MaxRules + 3 {
		e := entry(fmt.Sprint("rules-", i), "1")
		e.Rule, e.Outcome, e.Namespace = fmt.Sprint(i), "", ""
		s.remove(k, e)
	}
	for i := range ledger.MaxNamespaces + 3 {
		e := entry(fmt.Sprint("namespaces-", i), "1")
		e.Rule, e.Outcome, e.Namespace = "0", fmt.Sprint(i), fmt.Sprint(i)
		s.remove(k, e)
	}
	sum := map[string]int64{}
	for _, r := range s.ledger.Rules {
		sum["rules"] += r.Deleted
	}
	for _, o := range s.ledger.Rules[0].Outcomes {
		sum["outcomes"] += o.Deleted
	}
	for _, n := range s.ledger.Namespaces {
		sum["namespaces"] += n.Deleted
	}
	all := int64(ledger.MaxNamespaces + 3)
	expect.Equal(t, "sum", map[string]int64{"rules": all + ledger.MaxRules + 3, "outcomes": all, "namespaces": all}, sum)
	last := func(name string, n v1alpha1.LedgerCount, length, want int, rest int64) {
		if name != ledger.Rest || length != want+1 || n.Deleted != rest {
			t.Errorf("%d counters, the last %s with %d; not %d and %d", length, name, n.Deleted, want+1, rest)
		}
	}
	rules, outcomes, namespaces := s.ledger.Rules, s.ledger.Rules[0].Outcomes, s.ledger.Namespaces
	last(rules[len(rules)-1].Name, rules[len(rules)-1].LedgerCount, len(rules), ledger.MaxRules, 3)
	last(outcomes[len(outcomes)-1].Name, outcomes[len(outcomes)-1].LedgerCount, len(outcomes), ledger.MaxOutcomes, all-ledger.MaxOutcomes)
	last(namespaces[len(namespaces)-1].Name, namespaces[len(namespaces)-1].LedgerCount, len(namespaces), ledger.MaxNamespaces, 3)
}
