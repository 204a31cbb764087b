// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"slices"
	"sort"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// request checks one request that changes something.
func (j *checker) request(r history.Request) {
	key := j.keyOf(r)
	var named *history.State
	if key != "" {
		named = j.named(r, key)
	}
	j.restrained(r, key, named)
	switch r.Verb {
	case "delete":
		j.deletion(r, named)
	case "patch":
		j.marking(r, named)
	case "deletecollection":
		j.report.Deletions++
		j.violated(Fenced, r, nil, 0, "it deletes a whole collection")
	}
}

func (j *checker) keyOf(r history.Request) string {
	if uid, _ := conditions(r); uid != "" && j.Log.KeyOf(uid) != "" {
		return j.Log.KeyOf(uid)
	}
	return j.Log.Key(r.Resource, r.Namespace, r.Name)
}

// named returns the version that a request names, or else the version that existed when it arrived.
func (j *checker) named(r history.Request, key string) *history.State {
	if s := j.Log.Version(conditions(r)); s != nil {
		return s
	}
	var s *history.State
	for _, c := range j.Log.Of(key) {
		if j.times.Earliest(c.Revision).After(r.Received) {
			break
		}
		if c.After != nil {
			s = c.After
		}
	}
	return s
}

// restrained checks that a policy in effect when the request was sent allows any change of the object.
func (j *checker) restrained(r history.Request, key string, named *history.State) {
	if key == "" || named == nil {
		return // the object never existed
	}
	w := j.windowOf(r, j.before(j.Sent(r)))
	for _, o := range j.orders(named.GetNamespace(), w) {
		if j.mayTouch(r, named, o, w) {
			return
		}
	}
	j.violated(Restrained, r, named, 0, fmt.Sprintf("no policy that was enforced between revisions %d and %d allows this request", w.from, w.to))
}

// arrival returns the last revision that may have existed when a request was answered.
func (j *checker) arrival(r history.Request) int64 {
	if r.Answered.IsZero() {
		return j.Log.Revision
	}
	return j.before(r.Answered)
}

// before returns the last revision that may have existed at a time.
func (j *checker) before(at time.Time) int64 {
	n := sort.Search(len(j.Log.Changes), func(i int) bool { return j.times.Earliest(j.Log.Changes[i].Revision).After(at) })
	if n == 0 {
		return 0
	}
	return j.Log.Changes[n-1].Revision
}

// mayTouch reports whether a policy allows a request. A DELETE needs an enforced rule that selects the object, or that
// deletes the owner of a selected object. A mark needs a rule that marks.
func (j *checker) mayTouch(r history.Request, s *history.State, o order, w window) bool {
	for _, p := range append(slices.Clone(o.cluster), o.teams...) {
		if !p.enforced() || !j.applies(p, s, o) {
			continue
		}
		for _, rule := range p.rules {
			same := rule.kind.GroupKind() == s.GroupVersionKind().GroupKind()
			switch {
			case r.Verb == "delete" && same && rule.selector.Matches(labels.Set(s.GetLabels())),
				r.Verb == "delete" && rule.deletesOwner() && len(j.controlled(s, o, w)) > 0,
				r.Verb == "patch" && same && j.mayMark(rule, r, s, o):
				return true
			}
		}
	}
	return false
}

// deletion checks one DELETE: its form, the version that it names, and its effect.
func (j *checker) deletion(r history.Request, named *history.State) {
	j.report.Deletions++
	uid, version := r.Preconditions()
	if p := r.Options.PropagationPolicy; !brokeOff(r) && (r.Subresource != "" || uid == "" || version == "" || p == nil || *p == "") {
		j.violated(Fenced, r, named, 0, fmt.Sprintf("uid %q, resourceVersion %q, propagationPolicy %v", uid, version, p))
	}
	if d := j.removed(r); d != nil {
		j.removals[d.change.Before.GetUID()] = d
		j.checkAllowed(d, j.windowOf(r, min(d.change.Revision-1, j.before(d.sent)))) // Sunset cannot have known later changes.
		return
	}
	switch s := j.Log.Version(uid, version); {
	case s != nil:
		j.tried(r, s)
	case version != "":
		j.notChecked("%s: UID %s with resourceVersion %s is not in the history", r, uid, version)
	}
}

// tried checks a DELETE that removed nothing against the state when it was sent: Sunset must not even attempt a wrong DELETE.
func (j *checker) tried(r history.Request, named *history.State) {
	sent := j.Sent(r)
	w := j.windowOf(r, j.before(sent))
	j.checkAllowed(&removal{request: r, change: history.Change{Revision: w.to, Before: named}, at: sent, sent: sent, tried: true}, w)
}

// brokeOff reports whether a request ended before the server had read its body: its sender died, and the request had no
// effect.
func brokeOff(r history.Request) bool { return len(r.Body) == 0 && !r.Succeeded() }

// removed finds the object that a DELETE removed; nil for none.
func (j *checker) removed(r history.Request) *removal {
	uid, version := r.Preconditions()
	if uid == "" {
		uid = j.answeredUID(r)
	}
	end, ended := j.Log.End(uid)
	switch {
	case !ended, r.Unreceived, j.removals[uid] != nil:
		return nil
	case !r.Succeeded() && (!r.Unsure() || j.someoneElse(uid, r)):
		return nil
	case version != "" && version != end.Before.GetResourceVersion():
		return nil
	}
	at := j.by(end.Revision, r)
	return &removal{request: r, change: end, at: at, sent: earliest(at, j.Sent(r))}
}

// answeredUID returns the UID of the deleted object for a DELETE that names no UID.
func (j *checker) answeredUID(r history.Request) types.UID {
	if uid := r.AnsweredUID(); uid != "" {
		return uid
	}
	if s := j.named(r, j.keyOf(r)); s != nil {
		return s.GetUID()
	}
	return ""
}

// someoneElse reports whether another DELETE is known to have removed an object.
func (j *checker) someoneElse(uid types.UID, than history.Request) bool {
	return slices.ContainsFunc(j.Requests, func(r history.Request) bool {
		return r.Verb == "delete" && r.ID != than.ID && r.Writes() && r.Succeeded() && j.answeredUID(r) == uid
	})
}

// by returns a time at which a revision certainly existed.
func (j *checker) by(revision int64, r history.Request) time.Time {
	at, known := j.times.Latest(revision)
	if !known || !r.Answered.IsZero() && r.Succeeded() && r.Answered.Before(at) {
		at = r.Answered
	}
	if at.IsZero() {
		at = j.Ended
	}
	return at
}

// checkAllowed checks that some order within the window allows a DELETE of one version of an object.
func (j *checker) checkAllowed(d *removal, w window) {
	j.report.Checked++
	s := d.change.Before
	orders := j.orders(s.GetNamespace(), w)
	var last verdict
	for i, revision := range j.rankings(d, orders, w) {
		for _, o := range slices.Backward(orders) {
			o.revision = revision
			v := j.decideRemoval(d, o, w)
			if v.deleted && !slices.Contains(d.deciders, v.by.policy) {
				d.deciders = append(d.deciders, v.by.policy)
			}
			if v.deleted && !slices.Contains(d.rules, v.by) {
				d.rules = append(d.rules, v.by)
			}
			if i == 0 && (last.why == "" || last.unknown == nil && v.unknown != nil) {
				last = v
			}
		}
	}
	switch {
	case len(d.deciders) > 0:
		j.propagated(d, orders)
		j.archived(d)
		j.snapshotted(d)
	case last.unknown != nil:
		j.notChecked("%s: %v", nameOf(s), last.unknown)
	default:
		j.violated(last.promise, d.request, s, d.change.Revision,
			fmt.Sprintf("%s; no policies between revisions %d and %d allow its deletion", last.why, w.from, w.to))
	}
}

// propagated checks that the propagation policy is that of the rule. If it is not, it says what each rule decides in the last order.
func (j *checker) propagated(d *removal, orders []order) {
	written := d.request.Options.PropagationPolicy
	if written == nil || slices.ContainsFunc(d.rules, func(r *rule) bool { return r.propagation() == *written }) {
		return // deletion reports a missing propagation policy
	}
	r := d.rules[0]
	why := fmt.Sprintf("propagationPolicy is %s, but %s in rule %s", *written, r.propagation(), r.id())
	s := d.change.Before
	why += fmt.Sprintf("; the object was created at %s", stamp(s.GetCreationTimestamp().Time))
	for _, v := range j.votes(s, orders[len(orders)-1], d.sent) {
		why += fmt.Sprintf("; rule %s with ttl %s: due at %s%s", v.rule.id(), v.rule.TTL, stamp(v.due), v.keep)
	}
	j.violated(Fenced, d.request, s, d.change.Revision, why)
}

func (r *rule) propagation() metav1.DeletionPropagation {
	if r.Delete == nil || r.Delete.PropagationPolicy == "" {
		return metav1.DeletePropagationBackground
	}
	return r.Delete.PropagationPolicy
}

// decideRemoval reports whether an order allows the deletion of an object: for its own sake, or as the owner of another object.
func (j *checker) decideRemoval(d *removal, o order, w window) verdict {
	s := d.change.Before
	v := j.decide(s, o, d.sent)
	if v.deleted {
		return j.inTime(d, v, o)
	}
	if owned := j.asOwner(d, o, w); owned.deleted || owned.unknown != nil {
		return owned
	}
	return v
}

// inTime adds checks that need the history of an object: since when it was eligible, and whether it needed approval.
func (j *checker) inTime(d *removal, v verdict, o order) verdict {
	if early := j.tooSoon(d, v, o); early != nil {
		return *early
	}
	if waits := j.waits(d, v, o); waits != nil {
		return *waits
	}
	return v
}
