// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// spent checks the deletions that ledgers charge to limits. Each version of a ledger must have at least the count of the
// window before it, and at most the total count.
func (j *checker) spent() {
	for _, kind := range []string{clusterKind.Kind, teamKind.Kind} {
		for _, s := range j.finally(kind) {
			p := j.policyOf(s)
			if p.spec.Limits == nil || j.limitedSince(p, j.Log.Revision) > 0 {
				continue // a policy without limits charges nothing
			}
			j.spentOf(s, p, j.Log.Of(j.Log.Key("retentionledgers", "", p.uid)))
		}
	}
}

func (j *checker) spentOf(s *history.State, p *policy, changes []history.Change) {
	span, err := duration(p.spec.Limits.Window)
	if err != nil {
		return
	}
	var forms []*v1alpha1.RetentionLedger
	for at, c := range changes {
		if c.After == nil {
			return // another ledger follows, for example because a user deleted this one
		}
		forms = append(forms, ledgerIn(c.After))
		before := 0 // the last version that certainly existed when the window began
		for i := range at {
			if latest, known := j.times.Latest(changes[i].Revision); known && latest.Before(j.times.Earliest(c.Revision).Add(-span)) {
				before = i
			}
		}
		var charged int64
		for _, spending := range forms[at].Spent {
			charged += spending.Count
		}
		counted, ever := whole(forms[at])-whole(forms[before]), whole(forms[at])
		if charged < counted || charged > ever {
			j.violated(Limited, history.Request{}, s, c.Revision, fmt.Sprintf(
				"its ledger has charged %d, counted %d within %s and %d in total", charged, counted, span, ever))
			return
		}
	}
}

func whole(l *v1alpha1.RetentionLedger) int64 { return l.Total.Deleted + l.Total.Gone }
