// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// farthest is how far ahead the checker looks for a time at which all windows are open, and soon is when there must be none if a condition
// says so. Sunset looks at a hundred openings.
const (
	farthest = 7 * 24 * time.Hour
	soon     = time.Hour
)

// common returns the first time from another one on at which all rules allow a deletion. The time is later than farthest if there is none
// until then.
func common(all []openings, from time.Time) (time.Time, error) {
	at := from
	for !at.After(from.Add(farthest)) {
		before := at
		for _, o := range all {
			for _, f := range o.freezes {
				if !at.Before(f.From.Time) {
					at = latest(at, f.To.Time)
				}
			}
			for _, t := range o.windows {
				_, opens, err := t.around(at)
				if err != nil {
					return at, err
				}
				at = latest(at, opens.From)
			}
		}
		if at.Equal(before) {
			break
		}
	}
	return at, nil
}

// apart are the objects that the rules of a policy find due, and whose windows do not open together.
type apart struct {
	example *history.State // certainly kept; nil for none
	perhaps bool           // whether there may be others
}

// checkCommonWindows compares the condition NoCommonWindow of the final policies with their windows.
func (j *checker) checkCommonWindows(by time.Time) {
	var policies []*history.State
	for _, kind := range []string{clusterKind.Kind, teamKind.Kind} {
		policies = append(policies, j.finally(kind)...)
	}
	if !slices.ContainsFunc(policies, func(s *history.State) bool { return len(j.policyOf(s).spec.Windows) > 0 || saysNoCommonWindow(s) }) {
		return
	}
	found := j.apart(by)
	for _, s := range policies {
		p, says := j.policyOf(s), saysNoCommonWindow(s)
		of := found[p.uid]
		switch {
		case !p.enforced() || !j.cameBy(p.state, by):
		case says && (of == nil || of.example == nil && !of.perhaps):
			j.violated(Told, history.Request{}, s, 0, fmt.Sprintf("its condition NoCommonWindow is True, but all windows open together within %s of %s", soon, stamp(by)))
		case !says && of != nil && of.example != nil:
			j.violated(Told, history.Request{}, of.example, 0, fmt.Sprintf(
				"no time was found at which the windows of all rules allow its deletion, but policy %s has no condition NoCommonWindow", s.GetName()))
		}
	}
}

// apart finds these objects by the UID of each policy.
func (j *checker) apart(by time.Time) map[string]*apart {
	all := map[string]*apart{}
	for _, revision := range []int64{j.times.Passed(by), j.Log.Revision} { // a status may not contain the last changes yet
		for kind := range j.targets() {
			for _, s := range j.Log.Kind(kind, revision) {
				j.addApart(s, by, all)
			}
		}
	}
	return all
}

func (j *checker) addApart(s *history.State, by time.Time, all map[string]*apart) {
	o := j.orders(s.GetNamespace(), window{j.Log.Revision, j.Log.Revision})[0]
	o.quiet = j.Quiet
	says := j.votes(s, o, by)
	at, err := common(opensOf(says), by)
	_, kept := j.flagged(s, o, true)
	doubt := err != nil || kept || slices.ContainsFunc(says, func(v vote) bool { return v.keep != "" || v.unknown != nil })
	last := j.Log.At(s.Key, j.Log.Revision)
	for _, v := range says {
		id := v.rule.policy.uid
		if all[id] == nil {
			all[id] = &apart{}
		}
		if v.unknown != nil || !v.due.IsZero() && (err != nil || at.Sub(by) > soon) {
			all[id].perhaps = true
		}
		if !v.due.IsZero() && !doubt && at.Sub(by) > farthest && last == s && j.cameBy(s, by) {
			all[id].example = s
		}
	}
}

// saysNoCommonWindow reports whether the status of a policy has the condition NoCommonWindow.
func saysNoCommonWindow(s *history.State) bool {
	conditions, _ := mapIn(s.Object, "status")["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == v1alpha1.ConditionNoCommonWindow && condition["status"] == "True"
	})
}
