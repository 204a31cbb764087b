// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// dueKey identifies a configuration change by its revision, a policy, and the revision at which its objects are counted.
type dueKey struct {
	uid         string
	change, now int64
}

// changed checks the deletion of an object that became due because of another change than one of its own policy: of another
// policy, an override, the namespace or a quota. Its policy was enforced since a revision. changed counts the objects that
// the change made due at that moment, and fails if they needed an approval that was not given. Sunset counts more: objects
// that become due within 7 days, and objects that are kept for another reason. So if the number here is above the thresholds,
// Sunset's number is above them too.
func (j *checker) changed(d *removal, v verdict, o order, since int64) *verdict {
	p := v.by.policy
	c := j.latestChange(d.change.Before, p, since, o.revision)
	if c == nil {
		return nil
	}
	due, selected := j.dueBy(p, c.Revision, c.Revision)
	if !p.exceeds(due, selected) || j.isApproved(p, c.Revision, o) {
		return nil
	}
	if left, all := j.dueBy(p, c.Revision, o.revision); !p.exceeds(left, all) {
		return nil // the rest has been deleted
	}
	return &verdict{promise: Approved, by: v.by, why: fmt.Sprintf(
		"%s changed at revision %d, which made %d of %d objects of policy %s due immediately, without approval",
		nameOf(stateOf(c)), c.Revision, due, selected, p.name)}
}

func stateOf(c *history.Change) *history.State {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// latestChange returns the last configuration change between two revisions that made an object due immediately; nil for none.
func (j *checker) latestChange(s *history.State, p *policy, after, upTo int64) *history.Change {
	changes := j.configured(s.GetNamespace(), p, after, upTo)
	for _, c := range slices.Backward(changes) {
		if was := j.Log.At(s.Key, c.Revision); was != nil && was.GetUID() == s.GetUID() && j.flips(was, p, c.Revision, c.Revision) {
			return &c
		}
	}
	return nil
}

// configured returns the changes that may have made objects of a namespace due, without changes of the policy itself.
func (j *checker) configured(namespace string, p *policy, after, upTo int64) (all []history.Change) {
	for _, kind := range []schema.GroupKind{clusterKind, teamKind, {Kind: "Namespace"}, {Kind: "ResourceQuota"}} {
		for _, c := range j.Log.Between(kind, after, upTo) {
			s := stateOf(&c)
			switch {
			case s.GetUID() == p.state.GetUID(), kind.Kind == "Namespace" && s.GetName() != namespace,
				kind != clusterKind && kind.Kind != "Namespace" && s.GetNamespace() != namespace,
				kind.Group == clusterKind.Group && !j.Sees(s), c.Before == nil && kind != teamKind, isStatusOnly(c):
				continue
			}
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b history.Change) int { return int(a.Revision - b.Revision) })
	return all
}

// isStatusOnly reports whether a change keeps spec, labels and annotations.
func isStatusOnly(c history.Change) bool {
	return c.Before != nil && c.After != nil && c.Before.GetUID() == c.After.GetUID() && c.Before.GetDeletionTimestamp() == nil && c.After.GetDeletionTimestamp() == nil &&
		fmt.Sprint(c.Before.Object["spec"], c.Before.GetLabels(), c.Before.GetAnnotations()) == fmt.Sprint(c.After.Object["spec"], c.After.GetLabels(), c.After.GetAnnotations())
}

// flips reports whether a policy deletes an object under the configuration after a change, but not under the configuration
// before it. The object's state and the time are those of a revision.
func (j *checker) flips(s *history.State, p *policy, change, moment int64) bool {
	at, known := j.times.Latest(moment)
	if !known {
		return false
	}
	with := j.decide(s, j.orderAt(s, change), at)
	if !with.deleted || with.by.policy.uid != p.uid {
		return false
	}
	without := j.decide(s, j.orderAt(s, change-1), at)
	return !without.deleted && without.unknown == nil
}

func (j *checker) orderAt(s *history.State, revision int64) order {
	return j.orders(s.GetNamespace(), window{revision, revision})[0]
}

// dueBy counts the objects of a policy that existed at a revision: those that a change made due, and all that the policy
// selects.
func (j *checker) dueBy(p *policy, change, revision int64) (due, selected int64) {
	key := dueKey{p.uid, change, revision}
	if known, ok := j.due[key]; ok {
		return known[0], known[1]
	}
	for _, s := range j.selected(p, revision) {
		selected++
		if j.flips(s, p, change, revision) {
			due++
		}
	}
	j.due[key] = [2]int64{due, selected}
	return due, selected
}
