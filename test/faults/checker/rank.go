// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// rank is an object's rank among the objects of its rule.
type rank struct {
	newest, excess bool
	unknown        error
}

type candidate struct {
	s     *history.State
	start time.Time
	group string
}

// rankOf ranks the objects as of the order's revision.
func (j *checker) rankOf(r *rule, s *history.State, o order) rank {
	keep := r.keeps(r.settings(o.teams))
	switch {
	case keep == 0 && r.Capacity == nil:
		return rank{}
	}
	members, err := j.candidates(r, s.GetNamespace(), o.revision)
	if err != nil {
		return rank{unknown: err}
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
	most, bounded := j.capacity(r, s, o)
	return rank{newest: inGroup < keep, excess: bounded && place >= most}
}

// candidates returns the objects of a namespace that are ranked at a revision, the newest first; an object for which an
// expression fails is not ranked. The error says what the checker does not implement.
func (j *checker) candidates(r *rule, namespace string, revision int64) (members []candidate, err error) {
	for _, s := range j.Log.Kind(r.kind.GroupKind(), revision) {
		if s.GetNamespace() != namespace || isTerminating(s) || isMirror(s) || !r.selector.Matches(labels.Set(s.GetLabels())) {
			continue
		}
		f := j.facts(r, s, revision)
		switch {
		case f.err != nil && isUnknown(f.err):
			err = f.err
		case f.err != nil:
		case f.eligible && !f.start.IsZero():
			members = append(members, candidate{s, f.start, f.group})
		}
	}
	slices.SortFunc(members, func(a, b candidate) int {
		return cmp.Or(b.start.Compare(a.start), cmp.Compare(a.s.GetUID(), b.s.GetUID()))
	})
	return members, err
}
