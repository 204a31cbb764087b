// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// tooSoon checks a rule without startTime against the history of the object: its time cannot have begun before the object
// became eligible, nor before the rule was first enforced. Marks that another client wrote are not checked.
func (j *checker) tooSoon(d *removal, v verdict, o order) *verdict {
	s, r := d.change.Before, v.by
	if r.StartTime != "" || r.compiled.refers() || !j.isOurMark(s) {
		return nil // soonest checks rules that read references
	}
	start := latest(j.times.Earliest(j.eligibleSince(r, s)), j.times.Earliest(j.enforcedSince(r)))
	due, err := j.openingsOf(r, s, o).moved(start.Add(r.lifetime(s, j.facts(r, s, o.revision).ttl, r.settings(o.teams))))
	if err != nil || !due.After(d.sent) || j.rankOf(r, s, o).excess {
		return nil
	}
	return &verdict{promise: NotEarly, by: r, why: fmt.Sprintf(
		"it was eligible by rule %s since %s at the earliest, so not due before %s, but its DELETE was sent by %s", r.id(), stamp(start), stamp(due), stamp(d.sent))}
}

// isOurMark reports whether Sunset wrote the marks on an object, as far as the audit logs show.
func (j *checker) isOurMark(s *history.State) bool {
	mark := s.GetAnnotations()[v1alpha1.EligibleSinceAnnotation]
	for _, c := range j.Log.Of(s.Key) {
		if c.After == nil || c.After.GetUID() != s.GetUID() || c.After.GetAnnotations()[v1alpha1.EligibleSinceAnnotation] != mark {
			continue
		}
		for _, user := range j.Users {
			if j.writers[c.Revision] == user {
				return true
			}
		}
		return false
	}
	return false
}

// eligibleSince returns the revision since which an object was always eligible, as far as a leader could observe it.
func (j *checker) eligibleSince(r *rule, s *history.State) int64 {
	changes := j.Log.Of(s.Key)
	since := s.Revision
	for i := len(changes) - 1; i >= 0; i-- {
		state := changes[i].After
		switch {
		case state == nil && changes[i].Revision > s.Revision, state != nil && state.Revision > s.Revision:
			continue
		case state == nil || state.GetUID() != s.GetUID():
			return since
		case j.isEligible(r, state):
			since = state.Revision
		case !j.unseen(state.Revision, since):
			return since
		}
	}
	return since
}

func (j *checker) isEligible(r *rule, s *history.State) bool {
	if !r.selector.Matches(labels.Set(s.GetLabels())) {
		return false
	}
	f := j.facts(r, s, s.Revision)
	return f.err == nil && f.eligible
}

// unseen reports whether there may have been no leader while an object had one state, between two revisions.
func (j *checker) unseen(from, to int64) bool {
	until, known := j.times.Latest(to)
	if !known {
		until = j.Ended
	}
	for _, span := range j.Unled {
		if span.meets(Span{j.times.Earliest(from), until}) {
			return true
		}
	}
	return false
}

// enforcedSince returns the first revision at which a policy had this rule and was enforced.
func (j *checker) enforcedSince(r *rule) int64 {
	for _, c := range j.Log.Of(r.state.Key) {
		if c.After == nil || c.After.GetUID() != r.state.GetUID() {
			continue
		}
		p := j.policyOf(c.After)
		for _, other := range p.rules {
			if p.enforced() && other.Name == r.Name && other.Eligible == r.Eligible && other.kind == r.kind {
				return c.Revision
			}
		}
	}
	return r.state.Revision
}
