// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// checkDue checks the end of the run: objects that were due under the final policies for longer than the deadline must be gone.
// Together with the checks of each deletion, this makes the end the same as without faults: due objects are gone, and no
// other object was deleted.
func (j *checker) checkDue() {
	by, settled := j.settled()
	if !settled {
		if !j.Quiet.IsZero() {
			j.notChecked("overdue objects at the end: the quiet period from %s to %s is shorter than %s", stamp(j.Quiet), stamp(j.Ended), j.Deadline)
		}
		return
	}
	end := window{j.Log.Revision, j.Log.Revision}
	left := map[types.UID]bool{} // reports the owner of several objects only once
	for kind := range j.targets() {
		for _, s := range j.Log.Kind(kind, j.Log.Revision) {
			o := j.orders(s.GetNamespace(), end)[0]
			o.quiet = j.Quiet
			if j.cameBy(s, by) {
				j.overdue(s, o, by, left)
			}
		}
	}
	j.checkCommonWindows(by)
}

func (j *checker) cameBy(s *history.State, by time.Time) bool {
	came, known := j.times.Latest(s.Revision)
	return known && !came.After(by)
}

// whenOpen returns the last time up to another one from which windows and freezes allowed the deletion of an object for as long as the
// deadline. It returns the zero time if there was none since the faults and the last change.
func (j *checker) whenOpen(s *history.State, o order, by time.Time) time.Time {
	for at := by; !at.Before(j.Quiet); at = at.Add(-lateStep) {
		since := j.times.Passed(at)
		if at.Before(by) && (len(j.orders(s.GetNamespace(), window{since, j.Log.Revision})) > 1 || !j.cameBy(s, at)) {
			break
		}
		if (verdict{opens: opensOf(j.votes(s, o, at))}).staysOpen(at, at.Add(j.Deadline)) {
			return at
		}
	}
	return time.Time{}
}

// overdue checks one object at the end, or the owner that the object's rule deletes.
func (j *checker) overdue(s *history.State, o order, by time.Time, left map[types.UID]bool) {
	if by = j.whenOpen(s, o, by); by.IsZero() {
		return
	}
	v := j.decide(s, o, by)
	if _, kept := j.flagged(s, o, true); !v.deleted && v.unknown == nil && !kept {
		if owner := j.ownerOf(s); owner != nil && j.cameBy(owner, by) {
			if lets := combine(j.votes(s, o, by), by); lets.deleted && lets.by.deletesOwner() {
				s, v = owner, j.ownerMay(owner, lets, o, by)
			}
		}
	}
	switch {
	case left[s.GetUID()]:
	case v.unknown != nil:
		j.notChecked("whether %s is overdue: %v", nameOf(s), v.unknown)
	case !v.deleted, j.mayWait(v.by.policy, by), j.waits(&removal{sent: by, change: history.Change{Before: s}}, v, o) != nil, j.mayLoop(s):
		return
	default:
		j.violated(Lively, history.Request{}, s, 0, fmt.Sprintf("rule %s allows its deletion since %s, without faults since %s, but it still existed at %s; %s",
			v.by.id(), stamp(v.due), stamp(j.Quiet), stamp(j.Ended), j.statusOf(v.by.policy, j.Log.Revision)))
	}
	left[s.GetUID()] = true
}

// statusOf returns the status of a policy, to help find the reason for a violation.
func (j *checker) statusOf(p *policy, revision int64) string {
	s := j.Log.At(p.state.Key, revision)
	if s == nil {
		return "its policy was deleted"
	}
	status := mapIn(s.Object, "status")
	text := fmt.Sprintf("status of its policy: due %v, ledger %v", status["due"], status["ledger"])
	if p.keepsLedger() {
		text += "; its ledger: " + j.lastOpen(p, revision)
	}
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		text += fmt.Sprintf("; %v=%v %v: %v", condition["type"], condition["status"], condition["reason"], condition["message"])
	}
	return text
}

// lastOpen returns the open entries of a policy's ledger after each of its last changes up to a revision.
func (j *checker) lastOpen(p *policy, revision int64) string {
	const shown = 20 // changes
	var changes []string
	for _, c := range j.Log.Of(j.Log.Key("retentionledgers", "", p.uid)) {
		if c.After == nil || c.Revision > revision {
			continue
		}
		var open []string
		ledger := ledgerIn(c.After)
		for _, intents := range ledger.Open {
			for _, line := range intents.Objects {
				name, _, _ := strings.Cut(line, " ")
				open = append(open, name)
			}
		}
		at, _ := j.times.Latest(c.Revision)
		changes = append(changes, fmt.Sprintf("%s by %s: open %v, deleted %d", stamp(at), ledger.Holder, open, ledger.Total.Deleted))
	}
	return strings.Join(changes[max(0, len(changes)-shown):], "; ")
}

// ownerOf returns the controller of an object at the end; nil for none.
func (j *checker) ownerOf(s *history.State) *history.State {
	named := controllerIn(s.Object)
	if named == nil {
		return nil
	}
	uid := types.UID(fmt.Sprint(named["uid"]))
	if owner := j.Log.At(j.Log.KeyOf(uid), j.Log.Revision); owner != nil && owner.GetUID() == uid {
		return owner
	}
	return nil
}

// unmarked returns since when an object without a mark must have been eligible. It is the next whole second after it was
// eligible, its rule was enforced and the faults had ended.
func (j *checker) unmarked(r *rule, s *history.State, o order) time.Time {
	start := o.quiet
	for _, revision := range []int64{j.eligibleSince(r, s), j.enforcedSince(r)} {
		if at, known := j.times.Latest(revision); known {
			start = latest(start, at)
		}
	}
	return start.Truncate(time.Second).Add(time.Second)
}

// targets returns the kinds that the final policies target.
func (j *checker) targets() map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	for _, kind := range []string{clusterKind.Kind, teamKind.Kind} {
		for _, s := range j.finally(kind) {
			for _, r := range j.policyOf(s).rules {
				kinds[r.kind.GroupKind()] = true
			}
		}
	}
	return kinds
}

// uidIn returns the UID of a ledger entry "NAME UID RESOURCEVERSION".
func uidIn(line string) types.UID {
	if words := strings.Fields(line); len(words) == 3 {
		return types.UID(words[1])
	}
	return ""
}

func versionIn(line string) string {
	if words := strings.Fields(line); len(words) == 3 {
		return words[2]
	}
	return ""
}
