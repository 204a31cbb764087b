// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// countRange is how many objects a policy has removed. least counts only objects that no other policy can have decided, and
// excludes recent ones.
type countRange struct{ least, most int64 }

// settled returns the time by which due deletions must be done and counted; false if the run was not quiet for long enough.
func (j *checker) settled() (by time.Time, ok bool) {
	by = j.Ended.Add(-j.Deadline)
	return by, !j.Quiet.IsZero() && !j.Quiet.After(by)
}

func (j *checker) countRanges() map[string]countRange {
	all := map[string]countRange{}
	by, settled := j.settled()
	for _, d := range j.removals {
		uids := map[string]bool{}
		for _, p := range d.deciders {
			uids[p.uid] = true
		}
		for uid := range uids {
			t := all[uid]
			t.most++
			if len(uids) == 1 && settled && !d.at.After(by) {
				t.least++
			}
			all[uid] = t
		}
	}
	return all
}

// counts checks the final counts of ledgers and statuses.
func (j *checker) counts() {
	tallies := j.countRanges()
	unjudged := int64(len(j.removals)) - j.decided()
	for _, kind := range []string{clusterKind.Kind, teamKind.Kind} {
		for _, s := range j.finally(kind) {
			t := tallies[string(s.GetUID())]
			t.most += unjudged // a deletion that broke another promise counts for some policy too
			switch ledger := j.ledgerOf(s); {
			case ledger == nil:
				j.countStatus(s, t, 0)
			case j.policyOf(s).keepsLedger():
				j.countLedger(s, ledger, t)
				j.statusOfLedger(s, ledger)
			default: // the ledger is no longer in use
				j.countStatus(s, t, unsettled(ledger))
			}
		}
	}
	j.writtenFirst()
}

func (j *checker) decided() (n int64) {
	for _, d := range j.removals {
		if len(d.deciders) > 0 {
			n++
		}
	}
	return n
}

// finally returns the policies that exist at the end.
func (j *checker) finally(kind string) []*history.State {
	return slices.DeleteFunc(j.Log.Kind(schema.GroupKind{Group: clusterKind.Group, Kind: kind}, j.Log.Revision),
		func(s *history.State) bool { return !j.Sees(s) })
}

// ledgerOf returns the ledger of a policy at the end; nil for none.
func (j *checker) ledgerOf(s *history.State) *v1alpha1.RetentionLedger {
	state := j.Log.At(j.Log.Key("retentionledgers", "", string(s.GetUID())), j.Log.Revision)
	if state == nil {
		return nil
	}
	return ledgerIn(state)
}

func ledgerIn(s *history.State) *v1alpha1.RetentionLedger {
	ledger := &v1alpha1.RetentionLedger{}
	data, _ := json.Marshal(s.Object) // it came from JSON
	if json.Unmarshal(data, ledger) != nil {
		return &v1alpha1.RetentionLedger{}
	}
	return ledger
}

// countLedger checks that a ledger does not count more objects than were removed. After a quiet period it must not count
// fewer either, except objects whose end no process saw.
func (j *checker) countLedger(s *history.State, ledger *v1alpha1.RetentionLedger, t countRange) {
	total := ledger.Total
	whole := total.Deleted + total.Gone
	wrong := func(why string) {
		j.violated(Exact, history.Request{}, s, 0, fmt.Sprintf("the ledger has deleted %d and gone %d, %s", total.Deleted, total.Gone, why))
	}
	switch {
	case total.Deleted > t.most:
		wrong(fmt.Sprintf("but at most %d objects were removed", t.most))
	case whole < t.least && (!j.Lossy || j.alwaysLedger(s)):
		wrong(fmt.Sprintf("but at least %d objects were removed", t.least))
	case j.isOverdue(ledger):
		wrong(fmt.Sprintf("and still has open entries for deleted objects: %v", ledger.Open))
	default:
		j.countParts(s, ledger)
	}
}

// unsettled returns how many objects of a ledger are open, or were deleted by an unknown client.
func unsettled(l *v1alpha1.RetentionLedger) int64 {
	n := l.Total.Gone
	for _, intents := range l.Open {
		n += int64(len(intents.Objects))
	}
	return n
}

// isOverdue reports whether a ledger that was not written recently has an open entry for a deleted object.
func (j *checker) isOverdue(ledger *v1alpha1.RetentionLedger) bool {
	by, settled := j.settled()
	state := j.Log.At(j.Log.Key("retentionledgers", "", ledger.Name), j.Log.Revision)
	if written, known := j.times.Latest(state.Revision); !settled || !known || written.After(by) {
		return false
	}
	for _, intents := range ledger.Open {
		for _, object := range intents.Objects {
			end, ended := j.Log.End(uidIn(object))
			at, known := j.times.Latest(end.Revision)
			if ended && known && at.Before(by) {
				return true
			}
		}
	}
	return false
}

// alwaysLedger reports whether a policy had a ledger at all times when it was enforced.
func (j *checker) alwaysLedger(s *history.State) bool {
	return !slices.ContainsFunc(j.Log.Of(s.Key), func(c history.Change) bool {
		return c.After != nil && c.After.GetUID() == s.GetUID() && j.policyOf(c.After).enforced() && !j.policyOf(c.After).keepsLedger()
	})
}

// countStatus checks status.deleted. Without a ledger, a crash or a lost answer may lose counts, but never adds any. An
// earlier ledger of the policy may contain some of the counts.
func (j *checker) countStatus(s *history.State, t countRange, left int64) {
	deleted, _, _ := unstructured.NestedInt64(s.Object, "status", "deleted")
	switch {
	case deleted > t.most:
		j.violated(Exact, history.Request{}, s, 0, fmt.Sprintf("status.deleted is %d, but at most %d objects were removed", deleted, t.most))
	case !j.Lossy && deleted+left < t.least:
		j.violated(Exact, history.Request{}, s, 0, fmt.Sprintf("status.deleted is %d, but at least %d objects were removed", deleted, t.least))
	}
}

// writtenFirst checks that a ledger had an open entry for each counted object before the object was deleted.
func (j *checker) writtenFirst() {
	for uid, list := range j.decidedBy() {
		written := j.opened(uid)
		for _, d := range list {
			if slices.ContainsFunc(d.deciders, func(p *policy) bool { return !p.keepsLedger() }) {
				continue
			}
			s := d.change.Before
			line := fmt.Sprintf("%s %s %s", s.GetName(), s.GetUID(), s.GetResourceVersion())
			if at, ok := written[line]; !ok || at > d.change.Revision {
				j.violated(WrittenFirst, d.request, s, d.change.Revision, fmt.Sprintf("the ledger of policy %s had no open entry %q before the DELETE", d.deciders[0].name, line))
			}
		}
	}
}

// opened returns all entries that a policy's ledger ever had open, with the first revision of each.
func (j *checker) opened(uid string) map[string]int64 {
	lines := map[string]int64{}
	for _, c := range j.Log.Of(j.Log.Key("retentionledgers", "", uid)) {
		if c.After == nil {
			continue
		}
		for _, intents := range ledgerIn(c.After).Open {
			for _, line := range intents.Objects {
				if _, known := lines[line]; !known {
					lines[line] = c.Revision
				}
			}
		}
	}
	return lines
}

// deletesLedger reports whether a request deletes a ledger.
func deletesLedger(r history.Request) bool {
	return r.Verb == "delete" && r.Resource == "retentionledgers"
}

// checkLedgerDeletion checks that the policy of a deleted ledger no longer exists.
func (j *checker) checkLedgerDeletion(r history.Request) {
	uid, until := types.UID(r.Name), j.arrival(r)
	for _, c := range j.Log.Of(j.Log.KeyOf(uid)) {
		if c.Revision <= until && c.Gone() && c.Before.GetUID() == uid {
			return
		}
	}
	if s := j.Log.At(j.Log.KeyOf(uid), until); s != nil {
		j.violated(Exact, r, s, until, "its ledger was deleted while the policy existed")
	}
}
