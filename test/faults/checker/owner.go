// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// asOwner reports whether an object may be deleted as the owner of an object that it controls.
func (j *checker) asOwner(d *removal, o order, w window) verdict {
	s := d.change.Before
	best := verdict{why: "no object that it controls allows its deletion", promise: Allowed}
	for _, owned := range j.controlled(s, o, w) {
		if _, kept := j.flagged(owned, o, true); kept {
			continue
		}
		v := combine(j.votes(owned, o, d.sent), d.sent)
		switch {
		case v.unknown != nil:
			best = v
		case v.deleted && v.by.deletesOwner():
			if v = j.ownerMay(s, v, o, d.sent); v.deleted {
				return v
			}
			best = v
		}
	}
	return best
}

// controlled returns the versions, within a window, of objects that an object controls and whose rules delete the owner.
func (j *checker) controlled(s *history.State, o order, w window) []*history.State {
	var all []*history.State
	for _, p := range append(o.cluster[:len(o.cluster):len(o.cluster)], o.teams...) {
		for _, r := range p.rules {
			if !r.deletesOwner() || !p.enforced() {
				continue
			}
			states := j.Log.Kind(r.kind.GroupKind(), w.to)
			for _, c := range j.Log.Between(r.kind.GroupKind(), w.from, w.to) {
				if c.Before != nil {
					states = append(states, c.Before)
				}
			}
			for _, owned := range states {
				if owner := controllerIn(owned.Object); owner != nil && owner["uid"] == string(s.GetUID()) {
					all = append(all, owned)
				}
			}
		}
	}
	return all
}

// ownerMay returns whether the owner itself may be deleted.
func (j *checker) ownerMay(s *history.State, v verdict, o order, now time.Time) verdict {
	stays := func(why string) verdict { return verdict{promise: Allowed, why: why, by: v.by} }
	if flagged, kept := j.flagged(s, o, false); kept {
		return flagged
	}
	if !v.by.Delete.AllowUnfinishedOwner {
		e, err := endOf(s.Object)
		switch {
		case err != nil && isUnknown(err):
			return verdict{unknown: err, why: err.Error()}
		case err != nil || !e.ended:
			return stays("the owner has not finished")
		}
	}
	if isManaged(s) && !v.by.allowsManaged() {
		return stays("the owner is managed by another controller")
	}
	own := combine(j.votes(s, o, now), now)
	switch {
	case own.unknown != nil:
		return own
	case own.by != nil && !own.deleted:
		return stays(fmt.Sprintf("a rule for the owner keeps it: %s", own.why))
	}
	return v
}
