// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"math/rand"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// TestPredictIntentIsTheLaterDecision: PredictIntent for a later time is the same as Decide at that time.
func TestPredictIntentIsTheLaterDecision(t *testing.T) {
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		for i := range w.evaluations {
			w.evaluations[i].Facts.Outcome = w.evaluations[i].Rule.ID.String()
			w.evaluations[i].Facts.Size.Class = w.evaluations[i].Rule.ID.String()
		}
		at := now.Add(time.Duration(r.Intn(6)-2) * time.Hour)
		v, permit := w.decide(at)
		i, ok := policy.PredictIntent(w.subject, w.evaluations, at)
		if !ok {
			return v.Action != policy.Delete && i == policy.Intent{}
		}
		return v.Action == policy.Delete && i == permit.Intent() && i.Rule == permit.Rule() && i.Outcome == v.Rule.String() && i.Size.Class == v.Rule.String() && i.Due.Equal(v.Due)
	})
}
