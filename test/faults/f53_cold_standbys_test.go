// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// TestF53StandbysThatWatchNothing runs scenarios about leaders again with --warm-standby=false. There, a new leader begins to list
// objects when it leads, and knows nothing of them from before. These are the scenarios whose result could depend on that; each
// also runs under its own number with the default.
func TestF53StandbysThatWatchNothing(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*testing.T, scenario.Options){
		"F17 killed before the ledger": func(t *testing.T, o scenario.Options) {
			mustKillAt(t, o, moment{"update", "retentionledgers", 1, false})
		},
		"F17 killed after a DELETE": func(t *testing.T, o scenario.Options) {
			mustKillAt(t, o, moment{"delete", "configmaps", 2, true})
		},
		"F18": comesBack,
		"F19": twoLead,
		"F20": losesLease,
		"F23": forgedMarks,
		"F25": func(t *testing.T, o scenario.Options) { stuckObjects(t, o, "Foreground") },
		"F45": func(t *testing.T, o scenario.Options) { keepsMark(t, o, suspendedRule) },
		"F46": func(t *testing.T, o scenario.Options) { vanishes(t, o, deletedPolicy, false) },
	} {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			run(t, scenario.Options{Cold: true})
		})
	}
}
