// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// mutants maps each mutant to the scenario that catches it and to text that its output contains. docs/contributing/reliability-tests.md has
// the same table.
var mutants = map[string]struct {
	scenario string // for -run
	says     string // a regular expression
}{
	"no-resource-version":       {"^TestF01ObjectsChangeBetweenReadAndDelete$", `broken: every DELETE names UID`},
	"no-uid":                    {"^TestF02AnotherObjectOfTheSameName$", `broken: every DELETE names UID`},
	"no-skew-check":             {"^TestF22ClocksComeApart$/^ahead$", `Enforcing is True`},
	"no-fence":                  {"^TestF04APolicyChangesInTheMiddle$/^suspended$", `broken: (dry runs|the policies allow)`},
	"checked-before":            {"^TestF43AnOwnerBehindASlowRead$", `broken: (dry runs|the policies allow)|should have been kept`},
	"error-is-a-match":          {"^TestExpressionThatFailsKeeps$", `should have been kept`},
	"limits-in-memory":          {"^TestF18ALeaderThatComesBackFromTheDead$", `broken: limits apply`},
	"no-retry":                  {"^TestF14DeletesGetRetryAfter$", `still exists`},
	"no-throttling":             {"^TestF44TheWebhookOfANamespaceIsSlow$", `DELETEs in .* within ten minutes|deletions a second with the webhook`},
	"believes-marks":            {"^TestF53StandbysThatWatchNothing$/^F45$", `too early|has the earlier mark`},
	"changes-uncounted":         {"^TestF46WhatKeptObjectsGoesAway$/^a_policy_is_deleted_with_a_leader$", `broken: many objects are not deleted`},
	"restarts-uncounted":        {"^TestF46WhatKeptObjectsGoesAway$/^a_policy_is_deleted_without_a_leader$", `broken: many objects are not deleted`},
	"terminating-again":         {"^TestF25FinalizersThatNobodyRemoves$/^background$", `broken: a terminating object is not deleted again`},
	"managed-deleted":           {"^TestF32ChildrenInheritTheLabel$", `should have been kept|broken: the policies allow`},
	"approval-of-any-policy":    {"^TestF31APolicyIsDeletedAndCreatedAgain$", `broken: many objects are not deleted`},
	"endless-doubt":             {"^TestF26DoubtAboutRefusedDeletionsEnds$", `objects left`},
	"endless-loops":             {"^TestF49ALoopEnds$", `the loop continued`},
	"all-wait-for-compiling":    {"^TestF47FiftyTenantsEditAllTheTime$", `due objects were deleted .* late|due objects are deleted`},
	"counted-without-facts":     {"^TestF48RelistsOverlapEdits$", `broken: many objects are not deleted|does not wait with`},
	"believes-lists":            {"^TestF11StreamedListsLackSome$", `broken: |should have been kept|sent DELETE`},
	"standby-unread":            {"^TestF51AStandbyKnowsDeletedObjects$", `requests have arrived, want 10|DELETEs of objects that the leader had deleted|deletions are counted`},
	"selector-of-any-version":   {"^TestF52ASelectorIsReadLate$", `should have been kept|broken: the policies allow`},
	"broken-watch-unnoticed":    {"^TestF52ALabelChangesWhileTheWatchIsBroken$", `should have been kept|broken: the policies allow`},
	"missing-at-once":           {"^TestF52ATargetDisappearsForAMoment$", `should have been kept|broken: no object is deleted before it is due`},
	"unlisted-is-missing":       {"^TestF52TargetsCannotBeListed$", `sent DELETE|ReferencesKnown is|broken: the policies allow`},
	"record-of-another-version": {"^TestF56ObjectsChangeAfterTheyWereArchived$", `broken: a verified record of the version`},
	"record-not-read-back":      {"^TestF54TheStoreOfAnArchiveFails$/^it_answers_success_and_writes_nothing$", `broken: a verified record of the version`},
	"counted-before-result":     {"^TestF55TheLeaderIsKilledWhileItArchives$/^before_the_index_is_written$", `broken: the records and results in an archive`},
	"copies-not-redacted":       {"^TestF59RecordsAreComplete$/^Pods_cannot_be_listed$", `has managedFields, which may have copies`},
	"dependents-not-redacted":   {"^TestF59RecordsAreComplete$/^Pods_cannot_be_listed$", `has dependent Pod .*, which`},
	"one-dependent":             {"^TestF59RecordsAreComplete$/^Pods_cannot_be_listed$", `lacks dependent Pod`},
	"one-event":                 {"^TestF59RecordsAreComplete$/^Pods_cannot_be_listed$", `lacks Event`},
	"beginning-of-log":          {"^TestF59RecordsAreComplete$/^Pods_cannot_be_listed$", `has a wrong log`},
	"always-open":               {"^TestF58TheLeaderIsKilledAfterAFreeze$", `broken: no object is deleted before it is due`},
	"no-spread":                 {"^TestF58TheLeaderIsKilledAfterAFreeze$", `broken: no object is deleted before it is due`},
	"snapshot-not-ready":        {"^TestF60TheSnapshotControllerFails$/^it_is_slow$", `broken: a claim is deleted only with a VolumeSnapshot|should have been kept`},
	"snapshot-of-other-leader":  {"^TestF60TheLeaderIsKilledBetweenSnapshotAndDelete$/^after_create_volumesnapshots_1$", `broken: a claim is deleted only with a VolumeSnapshot`},
	"marks-stay":                {"^TestTimeToLiveStartsAgain$", `broken: no object is deleted before it is due`},
}

// TestEveryMutantHasAScenario checks that each mutant has a scenario that catches it.
func TestEveryMutantHasAScenario(t *testing.T) {
	for _, name := range build.Mutants() {
		if mutants[name].scenario == "" {
			t.Errorf("mutant %s has no scenario", name)
		}
	}
}

// TestMutantsAreCaught runs scenarios with controllers that lack one safety mechanism. Each must fail and report the error.
// Each runs in its own test process and control plane, because all its replicas have that build.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	for name := range mutants {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			expectCaught(t, name)
		})
	}
}

// expectCaught runs the scenario of a mutant with a controller that is that mutant.
func expectCaught(t *testing.T, mutant string) {
	t.Helper()
	if os.Getenv(build.Variable) != "" {
		t.Skip("the tests already run with a selected build")
	}
	build.AsInputs(t)
	mutantPlaces <- struct{}{}
	defer func() { <-mutantPlaces }()
	m := mutants[mutant]
	out, err := scenarioWith(t, mutant, m.scenario)
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	test, _, _ := strings.Cut(m.scenario, "/")
	switch says := regexp.MustCompile(m.says); {
	case !strings.Contains(string(out), "--- FAIL: "+strings.Trim(test, "^$")+" "):
		t.Errorf("%s does not fail with mutant %s\n%s", m.scenario, mutant, out)
	case !says.Match(out):
		t.Errorf("%s fails, but its output does not match %q\n%s", m.scenario, m.says, out)
	}
}

// mutantPlaces is the maximum number of mutants that run in parallel: each has a whole control plane, which mostly waits.
var mutantPlaces = make(chan struct{}, 3)

func scenarioWith(t *testing.T, mutant, name string) (out []byte, err error) {
	t.Helper()
	binary, err := os.Executable()
	expect.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", name, "-test.v", "-test.timeout", "30m", "-patience", "1m") // many mutants are caught by a timeout
	cmd.Env = append(os.Environ(), "SUNSET_FAULTS=all", build.Variable+"="+mutant)
	return cmd.CombinedOutput()
}
