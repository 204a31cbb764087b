// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

const (
	// lateStep is the interval between the moments at which late looks for overdue objects.
	lateStep = 5 * time.Second
	// drain is how many removals of a kind within the deadline indicate a backlog: then other objects may wait for their
	// turn.
	drain = 100
	// slow is how long a request may take before it counts as a disturbance.
	slow = time.Second
)

// late checks undisturbed moments: a due object must not exist for longer than the deadline while neither the object nor the
// policies change. It checks only rules that depend on the object alone. For rules that rank objects or read references, only
// the end of the run is checked.
func (j *checker) late() {
	told := map[types.UID]bool{}
	for _, span := range j.Undisturbed {
		for at := span.From.Add(j.Deadline); !at.Add(j.Deadline).After(span.To); at = at.Add(lateStep) {
			if !j.hasSlowRequests(at) {
				j.lateAt(at, told)
			}
		}
	}
}

// hasSlowRequests reports whether a request of Sunset failed or was slow around a moment, in a way that may delay others.
func (j *checker) hasSlowRequests(at time.Time) bool {
	from, to := at.Add(-j.Deadline), at.Add(j.Deadline)
	return slices.ContainsFunc(j.Requests, func(r history.Request) bool {
		if !j.isOurs(r) || r.Verb == "watch" || r.Received.Before(from) || r.Received.After(to) {
			return false
		}
		return r.Code == 0 || r.Code == 403 || r.Code == 422 || r.Code == 429 || r.Code >= 500 || r.Answered.Sub(r.Received) > slow
	})
}

func (j *checker) lateAt(at time.Time, told map[types.UID]bool) {
	end := at.Add(j.Deadline)
	w := window{j.times.Passed(at.Add(-j.Deadline)), j.before(end)}
	now := j.times.Passed(at)
	for kind := range j.everTargeted() {
		if j.drains(kind, at, end) {
			continue
		}
		for _, s := range j.Log.Kind(kind, now) {
			if !told[s.GetUID()] && j.stayed(s, now, w.to) && j.isLate(s, w, now, at) {
				told[s.GetUID()] = true
			}
		}
	}
}

// isLate reports an object that was due at a moment and still existed unchanged after the deadline.
func (j *checker) isLate(s *history.State, w window, now int64, at time.Time) bool {
	orders := j.orders(s.GetNamespace(), w)
	if len(orders) != 1 || j.permissionsChange(w) || j.wasTried(s) {
		return false
	}
	o := orders[0]
	o.revision, o.from = now, now
	if j.ranks(s, o) || j.reads(s, o) {
		return false
	}
	v := j.decide(s, o, at)
	if !v.deleted || v.unknown != nil || !v.staysOpen(at, at.Add(j.Deadline)) || j.mayWait(v.by.policy, at) ||
		j.pending(v.by.policy, now) || j.waits(&removal{sent: at, change: history.Change{Before: s}}, v, o) != nil || j.mayLoop(s) {
		return false
	}
	j.violated(Lively, history.Request{}, s, 0, fmt.Sprintf("rule %s allows its deletion since %s, without faults or changes, but it still existed at %s; %s",
		v.by.id(), stamp(v.due), stamp(at.Add(j.Deadline)), j.statusOf(v.by.policy, j.before(at.Add(j.Deadline)))))
	return true
}

// staysOpen reports whether the windows and freezes of all rules allow a deletion in a period. Sunset begins no deletion in the last
// second before a closing.
func (v verdict) staysOpen(from, to time.Time) bool {
	return !slices.ContainsFunc(v.opens, func(o openings) bool { return !o.staysOpen(from, to.Add(time.Second)) })
}

// stayed reports whether an object did not change between two revisions.
func (j *checker) stayed(s *history.State, from, to int64) bool {
	return !slices.ContainsFunc(j.Log.Of(s.Key), func(c history.Change) bool { return c.Revision > from && c.Revision <= to })
}

// wasTried reports whether a DELETE of an object failed: Sunset retries it with increasing backoff.
func (j *checker) wasTried(s *history.State) bool {
	return slices.ContainsFunc(j.Requests, func(r history.Request) bool {
		uid, _ := conditions(r)
		return r.Verb == "delete" && uid == s.GetUID() && j.isOurs(r) && !r.Succeeded()
	})
}

// pending reports whether a policy's status said that it waits for approval. The scenarios check that it does not wait too
// long.
func (j *checker) pending(p *policy, revision int64) bool {
	s := j.Log.At(p.state.Key, revision)
	return s == nil || len(mapIn(mapIn(s.Object, "status"), "pendingApproval")) > 0
}

// drains reports whether so many objects of a kind were deleted in a period that others may have waited for their turn.
func (j *checker) drains(kind schema.GroupKind, from, to time.Time) bool {
	n := 0
	for _, d := range j.removals {
		if !d.tried && d.change.Before.GroupVersionKind().GroupKind() == kind && !d.at.Before(from) && !d.at.After(to) {
			n++
		}
	}
	return n >= drain
}

// permissionsChange reports whether RBAC objects changed within a window.
func (j *checker) permissionsChange(w window) bool {
	for _, kind := range []string{"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"} {
		if len(j.Log.Between(schema.GroupKind{Group: rbacGroup, Kind: kind}, w.from, w.to)) > 0 {
			return true
		}
	}
	return false
}

// everTargeted returns the kinds that any policy ever targeted.
func (j *checker) everTargeted() map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	for _, of := range []schema.GroupKind{clusterKind, teamKind} {
		for _, c := range j.Log.Between(of, 0, j.Log.Revision) {
			if c.After == nil || !j.Sees(c.After) {
				continue
			}
			for _, r := range j.policyOf(c.After).rules {
				kinds[r.kind.GroupKind()] = true
			}
		}
	}
	return kinds
}
