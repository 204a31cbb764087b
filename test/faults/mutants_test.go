package faults_test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/faults/scene"
)

// mutants are caught by these scenarios, which say these words. docs/reliability.md has the same table.
var mutants = map[string]struct {
	scenario string // as -run has it
	says     string // a regular expression
	mark     func(*testing.T)
}{
	"no-resource-version":    {"^TestF01ObjectsChangeBetweenReadAndDelete$", `broken: every DELETE names UID`, scene.Short},
	"no-uid":                 {"^TestF02AnotherObjectOfTheSameName$", `broken: every DELETE names UID`, scene.Long},
	"no-skew-check":          {"^TestF22ClocksComeApart$/^ahead$", `Enforcing is True`, scene.Long},
	"no-fence":               {"^TestF04APolicyChangesInTheMiddle$/^suspended$", `broken: (dry runs|what goes)`, scene.Long},
	"checked-before":         {"^TestF43AnOwnerBehindASlowRead$", `broken: (dry runs|what goes)|should have stayed`, scene.Long},
	"error-is-a-match":       {"^TestAnExpressionThatFailsKeeps$", `should have stayed`, scene.Long},
	"limits-in-memory":       {"^TestF18ALeaderThatComesBackFromTheDead$", `broken: limits hold`, scene.Long},
	"no-retry":               {"^TestF14DeletesAreToldToComeBackLater$", `is still there`, scene.Long},
	"no-throttling":          {"^TestF44TheWebhookOfANamespaceIsSlow$", `DELETEs in .* within two minutes|a second with the webhook`, scene.Long},
	"believes-marks":         {"^TestF45AMarkThatCouldNotBeRemoved$", `before its time`, scene.Long},
	"changes-uncounted":      {"^TestF46WhatKeptObjectsGoesAway$/^a_policy_is_deleted_while_one_leads$", `broken: nothing big goes`, scene.Long},
	"restarts-uncounted":     {"^TestF46WhatKeptObjectsGoesAway$/^a_policy_is_deleted_while_none_leads$", `broken: nothing big goes`, scene.Long},
	"endless-loops":          {"^TestF49ALoopEnds$", `the loop went on`, scene.Long},
	"all-wait-for-compiling": {"^TestF47FiftyTenantsEditAllTheTime$", `what fell due was .* late|that fell due have gone`, scene.Long},
	"counted-without-facts":  {"^TestF48RelistsOverlapEdits$", `broken: nothing big goes|does not wait with`, scene.Long},
	"believes-lists":         {"^TestF11StreamedListsLackSome$", `broken: |should have stayed|sent DELETE`, scene.Long},
	"marks-stay":             {"^TestATimeStartsAnew$", `broken: nothing goes before its time`, scene.Short},
}

// TestEveryMutantHasAScenario: whoever adds one says by what it is caught.
func TestEveryMutantHasAScenario(t *testing.T) {
	for _, name := range build.Mutants() {
		if mutants[name].scenario == "" {
			t.Errorf("nothing catches the mutant %s", name)
		}
	}
}

// TestMutantsAreCaught runs scenarios with controllers that lack one of the safety mechanisms: each must fail, and say what is
// wrong. Each runs in a test process of its own, on a control plane of its own, as its replicas are all of that build.
func TestMutantsAreCaught(t *testing.T) {
	if os.Getenv(build.Variable) != "" {
		t.Skip("this is about a build already")
	}
	t.Parallel()
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			m.mark(t)
			oneMutant <- struct{}{}
			defer func() { <-oneMutant }()
			out, err := scenarioWith(t, name, m.scenario)
			var failed *exec.ExitError
			switch says := regexp.MustCompile(m.says); {
			case err == nil:
				t.Errorf("the mutant lives: %s passes\n%s", m.scenario, out)
			case !errors.As(err, &failed):
				t.Error(err)
			case !says.Match(out):
				t.Errorf("%s fails, and does not say %q\n%s", m.scenario, m.says, out)
			}
		})
	}
}

// oneMutant is taken while one runs: each has a whole control plane.
var oneMutant = make(chan struct{}, 1)

func scenarioWith(t *testing.T, mutant, scenario string) (out []byte, err error) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", scenario, "-test.v", "-test.timeout", "10m", "-patience", "1m") // many mutants are caught by waiting in vain
	cmd.Env = append(os.Environ(), "SUNSET_FAULTS=all", build.Variable+"="+mutant)
	return cmd.CombinedOutput()
}
