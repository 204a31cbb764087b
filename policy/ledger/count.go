// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/sunset-k8s/sunset/policy/v1alpha1"

// Maximum numbers of counters. Everything above them is counted under the name Rest.
const (
	MaxOutcomes   = 32 // of each rule
	MaxNamespaces = 200
	MaxRules      = 256 // a policy has at most 64 at a time, but deleted rules stay

	// Rest is the name of the common counter of all names without their own counter.
	Rest = "*"
)

func countOf(e end) v1alpha1.LedgerCount {
	if e == deleted {
		return v1alpha1.LedgerCount{Deleted: 1}
	}
	return v1alpha1.LedgerCount{Gone: 1}
}

// count adds the result of an entry: in total, by rule and outcome, and by namespace.
func count(o *v1alpha1.RetentionLedger, e Entry, n v1alpha1.LedgerCount) {
	add(&o.Total, n)
	rule := counter(&o.Rules, e.Rule, MaxRules,
		func(r *v1alpha1.LedgerRule) *string { return &r.Name })
	add(&rule.LedgerCount, n)
	if e.Outcome != "" {
		outcome := counter(&rule.Outcomes, e.Outcome, MaxOutcomes,
			func(o *v1alpha1.LedgerOutcome) *string { return &o.Name })
		add(&outcome.LedgerCount, n)
	}
	if e.Namespace != "" {
		namespace := counter(&o.Namespaces, e.Namespace, MaxNamespaces,
			func(n *v1alpha1.LedgerNamespace) *string { return &n.Name })
		add(&namespace.LedgerCount, n)
	}
}

func add(to *v1alpha1.LedgerCount, n v1alpha1.LedgerCount) {
	to.Deleted += n.Deleted
	to.Gone += n.Gone
}

// counter finds or makes the counter of that name, or the counter Rest if there are most others.
func counter[T any](all *[]T, name string, most int, nameOf func(*T) *string) *T {
	own := 0
	for i := range *all {
		switch *nameOf(&(*all)[i]) {
		case name:
			return &(*all)[i]
		case Rest:
		default:
			own++
		}
	}
	if own >= most && name != Rest {
		return counter(all, Rest, most, nameOf)
	}
	var made T
	*nameOf(&made) = name
	*all = append(*all, made)
	return &(*all)[len(*all)-1]
}
