package oracle

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

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
	}
	members, doubt := j.members(r, s.GetNamespace(), o.revision)
	if doubt != nil && isUnknown(doubt) {
		return standing{unknown: doubt}
	}
	place, inGroup := 0, 0
	group := j.facts(r, s, o.revision).group
	for _, m := range members {
		if m.s.GetUID() == s.GetUID() {
			break
		}
		place++
		if m.group == group {
			inGroup++
		}
	}
	most, bounded := j.room(r, s, o)
	return standing{newest: keep > 0 && (doubt != nil || inGroup < keep), excess: bounded && place >= most}
}

// members are the objects of a namespace that take a place at a revision, the newest first. doubt is an expression that failed
// on one of them.
func (j *judge) members(r *rule, namespace string, revision int64) (members []member, doubt error) {
	for _, s := range j.Log.Kind(r.kind.GroupKind(), revision) {
		if s.GetNamespace() != namespace || isTerminating(s) || isMirror(s) || !r.selector.Matches(labels.Set(s.GetLabels())) {
			continue
		}
		f := j.facts(r, s, revision)
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
