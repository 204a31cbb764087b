package oracle

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// part is what of a ledger one counter counts. An empty field leaves it open.
type part struct{ rule, outcome, namespace string }

// rest is the name of the counter of all that have none of their own.
const rest = "*"

// countParts checks the counters of a ledger one by one, each with all that it can have counted; and that rules have as much
// together as there is in all.
func (j *judge) countParts(s *history.State, ledger *v1alpha1.RetentionLedger) {
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
	if j.alwaysLedger(s) && rules != ledger.Total { // without a ledger rules were counted that are no more
		j.violated(Exact, history.Request{}, s, 0, fmt.Sprintf("the ledger has %s by rules, and %s in all", tell(rules), tell(ledger.Total)))
	}
}

func plus(a, b v1alpha1.LedgerCount) v1alpha1.LedgerCount {
	return v1alpha1.LedgerCount{Deleted: a.Deleted + b.Deleted, Gone: a.Gone + b.Gone}
}

func tell(n v1alpha1.LedgerCount) string {
	return fmt.Sprintf("%d deleted and %d gone", n.Deleted, n.Gone)
}

// countPart checks one counter: what was deleted and what was gone are different objects.
func (j *judge) countPart(s *history.State, p part, n v1alpha1.LedgerCount) {
	if p.rule == rest || p.outcome == rest || p.namespace == rest {
		return
	}
	if most := len(j.countable(s, p)); n.Deleted+n.Gone > int64(most) {
		j.violated(Exact, history.Request{}, s, 0, fmt.Sprintf("the ledger has %s of %+v, and only %d such objects have ended that were written down or removed", tell(n), p, most))
	}
}

// countable are the objects that a policy's ledger can have counted: those that have ended and were open there, or were
// removed, as is counted without a ledger too. What was removed against another promise may have been anybody's.
func (j *judge) countable(s *history.State, p part) map[types.UID]bool {
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

// hasOutcomes checks that in the end no outcome of a rule has fewer than were surely removed with it.
func (j *judge) hasOutcomes(s *history.State, r v1alpha1.LedgerRule) {
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
			j.violated(Exact, history.Request{}, s, 0, fmt.Sprintf("the ledger has %d with outcome %q of rule %s, and at least %d were removed", counted[outcome], outcome, r.Name, n))
		}
	}
}

// outcomeOf is the outcome with which one rule of a policy alone can have removed an object; empty if that is not certain.
func (j *judge) outcomeOf(d *removal, s *history.State, rule string) string {
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

// mayBe reports whether a removal may have been counted in a part. Of an owner the outcome is that of what it controls, which is
// left open.
func (j *judge) mayBe(d *removal, s *history.State, p part) bool {
	for _, r := range d.rules {
		object := d.change.Before
		is := r.uid == string(s.GetUID()) && (p.rule == "" || p.rule == r.Name) && (p.namespace == "" || p.namespace == object.GetNamespace())
		if is && (p.outcome == "" || r.deletesOwner() || j.outcome(r, object) == p.outcome) {
			return true
		}
	}
	return false
}

// outcome is what a rule's expression gives for an object; empty if it gives nothing.
func (j *judge) outcome(r *rule, s *history.State) string {
	if r.compiled.outcome == nil {
		return ""
	}
	text, _ := r.compiled.askText(r.compiled.outcome, about{object: seen(s)}) // one that fails has kept the object
	return text
}

// statusOfLedger checks that a status which sums a ledger up says in the end what that has said for a while.
func (j *judge) statusOfLedger(s *history.State, ledger *v1alpha1.RetentionLedger) {
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
		j.violated(Exact, history.Request{}, s, 0, fmt.Sprintf("status.ledger has %s, the ledger %s since %s", tell(said), tell(ledger.Total), stamp(written)))
	}
}
