// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
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
	mark     func(*testing.T)
}{
	"no-resource-version":       {"^TestF01ObjectsChangeBetweenReadAndDelete$", `broken: every DELETE names UID`, scenario.Short},
	"no-uid":                    {"^TestF02AnotherObjectOfTheSameName$", `broken: every DELETE names UID`, scenario.Long},
	"no-skew-check":             {"^TestF22ClocksComeApart$/^ahead$", `Enforcing is True`, scenario.Long},
	"no-fence":                  {"^TestF04APolicyChangesInTheMiddle$/^suspended$", `broken: (dry runs|the policies allow)`, scenario.Long},
	"checked-before":            {"^TestF43AnOwnerBehindASlowRead$", `broken: (dry runs|the policies allow)|should have been kept`, scenario.Long},
	"error-is-a-match":          {"^TestExpressionThatFailsKeeps$", `should have been kept`, scenario.Long},
	"limits-in-memory":          {"^TestF18ALeaderThatComesBackFromTheDead$", `broken: limits apply`, scenario.Long},
	"no-retry":                  {"^TestF14DeletesGetRetryAfter$", `still exists`, scenario.Long},
	"no-throttling":             {"^TestF44TheWebhookOfANamespaceIsSlow$", `DELETEs in .* within ten minutes|deletions a second with the webhook`, scenario.Long},
	"believes-marks":            {"^TestF53StandbysThatWatchNothing$/^F45$", `too early|has the earlier mark`, scenario.Long},
	"changes-uncounted":         {"^TestF46WhatKeptObjectsGoesAway$/^a_policy_is_deleted_with_a_leader$", `broken: many objects are not deleted`, scenario.Long},
	"restarts-uncounted":        {"^TestF46WhatKeptObjectsGoesAway$/^a_policy_is_deleted_without_a_leader$", `broken: many objects are not deleted`, scenario.Long},
	"endless-loops":             {"^TestF49ALoopEnds$", `the loop continued`, scenario.Long},
	"all-wait-for-compiling":    {"^TestF47FiftyTenantsEditAllTheTime$", `due objects were deleted .* late|due objects are deleted`, scenario.Long},
	"counted-without-facts":     {"^TestF48RelistsOverlapEdits$", `broken: many objects are not deleted|does not wait with`, scenario.Long},
	"believes-lists":            {"^TestF11StreamedListsLackSome$", `broken: |should have been kept|sent DELETE`, scenario.Long},
	"standby-unread":            {"^TestF51AStandbyKnowsDeletedObjects$", `requests have arrived, want 10|DELETEs of objects that the leader had deleted|deletions are counted`, scenario.Long},
	"selector-of-any-version":   {"^TestF52ASelectorIsReadLate$", `should have been kept|broken: the policies allow`, scenario.Long},
	"broken-watch-unnoticed":    {"^TestF52ALabelChangesWhileTheWatchIsBroken$", `should have been kept|broken: the policies allow`, scenario.Long},
	"missing-at-once":           {"^TestF52ATargetDisappearsForAMoment$", `should have been kept|broken: no object is deleted before it is due`, scenario.Long},
	"unlisted-is-missing":       {"^TestF52TargetsCannotBeListed$", `sent DELETE|ReferencesKnown is|broken: the policies allow`, scenario.Long},
	"record-of-another-version": {"^TestF56ObjectsChangeAfterTheyWereArchived$", `broken: a verified record of the version`, scenario.Long},
	"record-not-read-back":      {"^TestF54TheStoreOfAnArchiveFails$/^it_answers_success_and_writes_nothing$", `broken: a verified record of the version`, scenario.Long},
	"counted-before-result":     {"^TestF55TheLeaderIsKilledWhileItArchives$/^before_the_index_is_written$", `broken: the records and results in an archive`, scenario.Long},
	"copies-not-redacted":       {"^TestF59RecordsAreComplete$/^Pods_cannot_be_listed$", `has managedFields, which may have copies`, scenario.Long},
	"dependents-not-redacted":   {"^TestF59RecordsAreComplete$/^Pods_cannot_be_listed$", `has dependent Pod .*, which`, scenario.Long},
	"one-dependent":             {"^TestF59RecordsAreComplete$/^Pods_cannot_be_listed$", `lacks dependent Pod`, scenario.Long},
	"one-event":                 {"^TestF59RecordsAreComplete$/^Pods_cannot_be_listed$", `lacks Event`, scenario.Long},
	"beginning-of-log":          {"^TestF59RecordsAreComplete$/^Pods_cannot_be_listed$", `has a wrong log`, scenario.Long},
	"always-open":               {"^TestF58TheLeaderIsKilledAfterAFreeze$", `broken: no object is deleted before it is due`, scenario.Long},
	"no-spread":                 {"^TestF58TheLeaderIsKilledAfterAFreeze$", `broken: no object is deleted before it is due`, scenario.Long},
	"snapshot-not-ready":        {"^TestF60TheSnapshotControllerFails$/^it_is_slow$", `broken: a claim is deleted only with a VolumeSnapshot|should have been kept`, scenario.Long},
	"snapshot-of-other-leader":  {"^TestF60TheLeaderIsKilledBetweenSnapshotAndDelete$/^after_create_volumesnapshots_1$", `broken: a claim is deleted only with a VolumeSnapshot`, scenario.Long},
	"marks-stay":                {"^TestTimeToLiveStartsAgain$", `broken: no object is deleted before it is due`, scenario.Short},
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
	if os.Getenv(build.Variable) != "" {
		t.Skip("the tests already run with a selected build")
	}
	t.Parallel()
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			m.mark(t)
			mutantPlaces <- struct{}{}
			defer func() { <-mutantPlaces }()
			out, err := scenarioWith(t, name, m.scenario)
			var failed *exec.ExitError
			switch says := regexp.MustCompile(m.says); {
			case err == nil:
				t.Errorf("%s passes with the mutant\n%s", m.scenario, out)
			case !errors.As(err, &failed):
				t.Error(err)
			case !says.Match(out):
				t.Errorf("%s fails, but its output does not match %q\n%s", m.scenario, m.says, out)
			}
		})
	}
}

// mutantPlaces is the maximum number of mutants that run in parallel: each has a whole control plane, which mostly waits.
var mutantPlaces = make(chan struct{}, 3)

func scenarioWith(t *testing.T, mutant, scenario string) (out []byte, err error) {
	t.Helper()
	binary, err := os.Executable()
	expect.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", scenario, "-test.v", "-test.timeout", "30m", "-patience", "1m") // many mutants are caught by a timeout
	cmd.Env = append(os.Environ(), "SUNSET_FAULTS=all", build.Variable+"="+mutant)
	return cmd.CombinedOutput()
}
