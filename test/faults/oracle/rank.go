package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// standing is an object's place among the others of its rule.
type standing struct {
	newest, excess bool
	unknown        error
}

type member struct {
	s     *history.State
	start time.Time
	group string
}

// standing counts the others as they were at the order's revision.
func (j *judge) standing(r *rule, s *history.State, o order) standing {
	keep := r.keeps(r.settings(o.teams))
	switch {
	case keep == 0 && r.Capacity == nil:
		return standing{}
	case r.Capacity != nil && (r.Capacity.PercentOfQuota != nil || r.Capacity.Share == v1alpha1.ShareFair):
		return standing{unknown: fmt.Errorf("%w capacity of quotas or shares", errUnknown)}
	}
	members, doubt := j.members(r, s, o)
	if doubt != nil && isUnknown(doubt) {
		return standing{unknown: doubt}
	}
	place, inGroup := 0, 0
	group := j.facts(r, s).group
	for _, m := range members {
		if m.s.GetUID() == s.GetUID() {
			break
		}
		place++
		if m.group == group {
			inGroup++
		}
	}
	return standing{
		newest: keep > 0 && (doubt != nil || inGroup < keep),
		excess: r.Capacity != nil && r.Capacity.Max != nil && place >= int(*r.Capacity.Max),
	}
}

// members are the objects of a namespace that take a place, the newest first. doubt is an expression that failed on one of
// them.
func (j *judge) members(r *rule, of *history.State, o order) (members []member, doubt error) {
	for _, s := range j.Log.Kind(r.kind.GroupKind(), o.revision) {
		if s.GetNamespace() != of.GetNamespace() || isTerminating(s) || isMirror(s) || !r.selector.Matches(labels.Set(s.GetLabels())) {
			continue
		}
		f := j.facts(r, s)
		switch {
		case f.err != nil:
			doubt = f.err
		case f.eligible && !f.start.IsZero():
			members = append(members, member{s, f.start, f.group})
		}
	}
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(b.start.Compare(a.start), cmp.Compare(a.s.GetUID(), b.s.GetUID()))
	})
	return members, doubt
}
