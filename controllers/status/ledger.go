// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ledgersNow returns the states of all ledgers.
func (r *Reporter) ledgersNow(snapshot *policy.Snapshot) map[types.UID]ledgers.State {
	all := map[types.UID]ledgers.State{}
	for _, p := range snapshot.Policies() {
		if !p.Ledger {
			continue
		}
		if kept, ok := r.Ledgers.State(p.UID); ok {
			all[p.UID] = kept
		}
	}
	return all
}

// ledgerStatus summarizes a ledger. While a ledger is missing or not read yet, the status names it if it did before.
func ledgerStatus(kept ledgers.State, p *policy.Policy, before *v1alpha1.LedgerStatus) *v1alpha1.LedgerStatus {
	if kept.Ledger == nil || isMissing(kept) {
		return before.DeepCopy()
	}
	s := &v1alpha1.LedgerStatus{Name: kept.Ledger.Name, LedgerCount: kept.Ledger.Total, Open: kept.Open}
	if p.Limits != nil {
		s.Charged = ptr.To(kept.Charged)
		s.NextAllowedTime = timeOrNil(kept.FreeAt)
	}
	return s
}

func isMissing(kept ledgers.State) bool { return errors.Is(kept.WriteError, ledgers.ErrMissing) }

// withLedger returns the history with what the ledger of the policy has counted by now. While the policy keeps no ledger, the history
// counts deletions too, but never those that the ledger counts: when the policy keeps the ledger again, the ledger is raised to the count
// of the status, and would count them twice.
func (h history) withLedger(kept ledgers.State) history {
	before, known := h.ledger, h.rules
	sameBase := before != nil && h.rebases == kept.Rebases
	h.ledger, h.rebases = kept.Ledger, kept.Rebases
	if kept.Ledger == nil {
		return h
	}
	next := func(known, before, now int64) int64 {
		if sameBase {
			return known + max(0, now-before)
		}
		return max(known, now) // which deletions both have counted is not known
	}
	if before == nil {
		before = &v1alpha1.RetentionLedger{}
	}
	h.total, h.rules = next(h.total, before.Total.Deleted, kept.Ledger.Total.Deleted), deletions{}
	maps.Copy(h.rules, known)
	was := deletions{}
	for _, r := range before.Rules {
		was[r.Name] = r.Deleted
	}
	for _, r := range kept.Ledger.Rules {
		h.rules[r.Name] = next(known[r.Name], was[r.Name], r.Deleted)
	}
	return h
}

// outcomesIn returns the counts by rule and outcome in a status.
func outcomesIn(s v1alpha1.RetentionPolicyStatus) map[string][]v1alpha1.LedgerOutcome {
	all := map[string][]v1alpha1.LedgerOutcome{}
	for _, r := range s.Rules {
		all[r.Name] = r.Outcomes
	}
	return all
}

// outcomesOf returns the counts by rule and outcome in a ledger; nil without a ledger.
func outcomesOf(l *v1alpha1.RetentionLedger) map[string][]v1alpha1.LedgerOutcome {
	if l == nil {
		return nil
	}
	all := map[string][]v1alpha1.LedgerOutcome{}
	for _, r := range l.Rules {
		all[r.Name] = slices.SortedFunc(slices.Values(r.Outcomes), func(a, b v1alpha1.LedgerOutcome) int { return strings.Compare(a.Name, b.Name) })
	}
	return all
}

// counting returns whether the ledger of a policy allows deletions.
func (v *statusInput) counting(p *policy.Policy) conditionState {
	kept, ok := v.ledgers[p.UID]
	switch {
	case !ok && p.Ledger:
		return conditionState{unknown, "LedgerNotRead", "Sunset has not read the RetentionLedger yet; if this lasts, grant get and list on retentionledgers"}
	case !ok:
	case kept.WriteError != nil:
		return conditionState{no, "LedgerUnavailable", "deletions wait: " + kept.WriteError.Error()}
	case kept.ReadError != nil:
		status := no
		if kept.FreeAt.IsZero() {
			status = yes
		}
		return conditionState{status, "EntriesUnread", fmt.Sprintf("%d entries of the RetentionLedger stay open and use up limits, "+
			"because Sunset cannot read how their deletions ended: %v; grant get on the kind, or make its archive available", kept.Doubtful, kept.ReadError)}
	case !kept.FreeAt.IsZero() && kept.Waiting > 0:
		return conditionState{no, string(policy.IsLimited), fmt.Sprintf("%d of at most %d deletions within %s are used; %d objects wait, and Sunset can delete some of them at %s",
			kept.Charged, p.Limits.Max, policy.FormatTTL(p.Limits.Window), kept.Waiting, kept.FreeAt.UTC().Format(time.RFC3339))}
	}
	return conditionState{status: yes}
}
