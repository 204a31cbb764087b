// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// part selects what one counter of a ledger counts. An empty field matches everything.
type part struct{ rule, outcome, namespace string }

// rest is the name of the counter for everything without its own counter.
const rest = "*"

// countParts checks each counter of a ledger against the objects that it can have counted. It also checks that the counters
// of all rules add up to the total.
func (j *checker) countParts(s *history.State, ledger *v1alpha1.RetentionLedger) {
	j.countPart(s, part{}, ledger.Total)
	var rules v1alpha1.LedgerCount
	for _, r := range ledger.Rules {
		j.countPart(s, part{rule: r.Name}, r.LedgerCount)
		rules = plus(rules, r.LedgerCount)
		for _, o := range r.Outcomes {
			j.countPart(s, part{rule: r.Name, outcome: o.Name}, o.LedgerCount)
		}
		j.hasOutcomes(s, r)
	}
	for _, n := range ledger.Namespaces {
		j.countPart(s, part{namespace: n.Name}, n.LedgerCount)
	}
	if j.alwaysLedger(s) && rules != ledger.Total { // without a ledger, counts of removed rules may be included
		j.violated(Exact, history.Request{}, s, 0, fmt.Sprintf("the ledger has %s for all rules, but %s in total", tell(rules), tell(ledger.Total)))
	}
}

func plus(a, b v1alpha1.LedgerCount) v1alpha1.LedgerCount {
	return v1alpha1.LedgerCount{Deleted: a.Deleted + b.Deleted, Gone: a.Gone + b.Gone}
}

func tell(n v1alpha1.LedgerCount) string {
	return fmt.Sprintf("deleted %d and gone %d", n.Deleted, n.Gone)
}

// countPart checks one counter. An object counts as deleted or as gone, not as both.
func (j *checker) countPart(s *history.State, p part, n v1alpha1.LedgerCount) {
	if p.rule == rest || p.outcome == rest || p.namespace == rest {
		return
	}
	if most := len(j.countable(s, p)); n.Deleted+n.Gone > int64(most) {
		j.violated(Exact, history.Request{}, s, 0, fmt.Sprintf("the ledger has %s for %+v, but only %d such objects were recorded or removed and no longer exist", tell(n), p, most))
	}
}

// countable returns the objects that a policy's ledger can have counted: objects that no longer exist and had an open entry,
// and removed objects, which are counted without a ledger too. If a removal broke another promise, any policy may have
// counted it.
func (j *checker) countable(s *history.State, p part) map[types.UID]bool {
	all := map[types.UID]bool{}
	for uid, d := range j.removals {
		if len(d.deciders) == 0 || j.mayBe(d, s, p) {
			all[uid] = true
		}
	}
	for _, c := range j.Log.Of(j.Log.Key("retentionledgers", "", string(s.GetUID()))) {
		if c.After == nil {
			continue
		}
		for _, intents := range ledgerIn(c.After).Open {
			if !p.has(intents) {
				continue
			}
			for _, line := range intents.Objects {
				if _, ended := j.Log.End(uidIn(line)); ended {
					all[uidIn(line)] = true
				}
			}
		}
	}
	return all
}

func (p part) has(i v1alpha1.LedgerIntents) bool {
	return (p.rule == "" || p.rule == i.Rule) && (p.outcome == "" || p.outcome == i.Outcome) && (p.namespace == "" || p.namespace == i.Namespace)
}

// hasOutcomes checks the final counters: no outcome of a rule has fewer objects than were certainly removed with it.
func (j *checker) hasOutcomes(s *history.State, r v1alpha1.LedgerRule) {
	counted := map[string]int64{}
	for _, o := range r.Outcomes {
		counted[o.Name] = o.Deleted + o.Gone
	}
	by, settled := j.settled()
	if _, more := counted[rest]; more || !settled || j.Lossy && !j.alwaysLedger(s) {
		return
	}
	least := map[string]int64{}
	for _, d := range j.removals {
		if outcome := j.outcomeOf(d, s, r.Name); outcome != "" && !d.at.After(by) {
			least[outcome]++
		}
	}
	for outcome, n := range least {
		if counted[outcome] < n {
			j.violated(Exact, history.Request{}, s, 0, fmt.Sprintf("the ledger has %d with outcome %q of rule %s, but at least %d were removed", counted[outcome], outcome, r.Name, n))
		}
	}
}

// outcomeOf returns the outcome with which only one rule of a policy can have removed an object; empty if that is uncertain.
func (j *checker) outcomeOf(d *removal, s *history.State, rule string) string {
	sure := ""
	for i, r := range d.rules {
		outcome := j.outcome(r, d.change.Before)
		if r.uid != string(s.GetUID()) || r.Name != rule || r.deletesOwner() || i > 0 && outcome != sure {
			return ""
		}
		sure = outcome
	}
	return sure
}

// mayBe reports whether a part may have counted a removal. The outcome of an owner is that of the object that it controls,
// which is not checked.
func (j *checker) mayBe(d *removal, s *history.State, p part) bool {
	for _, r := range d.rules {
		object := d.change.Before
		is := r.uid == string(s.GetUID()) && (p.rule == "" || p.rule == r.Name) && (p.namespace == "" || p.namespace == object.GetNamespace())
		if is && (p.outcome == "" || r.deletesOwner() || j.outcome(r, object) == p.outcome) {
			return true
		}
	}
	return false
}

// outcome returns the result of a rule's outcome expression for an object; empty if there is none.
func (j *checker) outcome(r *rule, s *history.State) string {
	if r.compiled.outcome == nil {
		return ""
	}
	text, _ := r.compiled.askText(r.compiled.outcome, about{object: seen(s)}) // a failing expression has kept the object
	return text
}

// statusOfLedger checks that the final status of a policy contains the totals of its ledger, if the ledger has not changed
// for a while.
func (j *checker) statusOfLedger(s *history.State, ledger *v1alpha1.RetentionLedger) {
	by, settled := j.settled()
	state := j.Log.At(j.Log.Key("retentionledgers", "", ledger.Name), j.Log.Revision)
	written, known := j.times.Latest(state.Revision)
	status, ok := mapIn(mapIn(s.Object, "status"), "ledger"), j.policyOf(s).keepsLedger()
	if !settled || !known || written.After(by) || !ok || len(status) == 0 {
		return
	}
	var said v1alpha1.LedgerCount
	data, _ := json.Marshal(status) // it came from JSON
	if err := json.Unmarshal(data, &said); err != nil || said != ledger.Total {
		j.violated(Exact, history.Request{}, s, 0, fmt.Sprintf("status.ledger has %s, but the ledger has %s since %s", tell(said), tell(ledger.Total), stamp(written)))
	}
}
