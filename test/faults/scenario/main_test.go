// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/build"
)

func TestCommandRepeatsAPart(t *testing.T) {
	t.Setenv(build.Variable, "race")
	want := fmt.Sprintf("SUNSET_FAULTS=all SUNSET_FAULTS_BUILD=race go test ./test/faults -run '^TestF17$/^every_write$' -seed %d", Seed())
	if got := (Repeat{}).command("TestF17/every_write", "./test/faults"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want = "SUNSET_FAULTS=all SUNSET_FAULTS_SEEDS=1 SUNSET_FAULTS_BUILD=race go test ./test/faults -run '^TestRandomSchedules$' -seed 7"
	r := Repeat{Test: "TestRandomSchedules", Env: "SUNSET_FAULTS_SEEDS=1", Seed: 7}
	if got := r.command("TestRandomSchedules/seed-7", "./test/faults"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if dir := packageDir(); dir != "./test/faults/scenario" {
		t.Error(dir)
	}
}

func TestVoidRunIsRepeated(t *testing.T) {
	t.Run("void", func(t *testing.T) { Void(t, "nothing happened") })
	expect.Equal(t, "tests to repeat", []string{"TestVoidRunIsRepeated/void"}, voidRuns.names)
	voidRuns.names = nil
}

func TestScenarioFiltersLedgers(t *testing.T) {
	s := &Scenario{Namespace: "t-abc"}
	got := string(s.onlyLedgers([]byte(`{"kind":"RetentionLedgerList","items":[{"policy":{"name":"t-abc-one"}},{"policy":{"name":"t-abd-one"}},` +
		`{"policy":{"namespace":"t-abc","name":"x"}},{"policy":{"namespace":"other","name":"t-abc-x"}}]}`)))
	if want := `{"items":[{"policy":{"name":"t-abc-one"}},{"policy":{"namespace":"t-abc","name":"x"}}],"kind":"RetentionLedgerList"}`; got != want {
		t.Errorf("%s", got)
	}
	if status := `{"kind":"Status"}`; string(s.onlyLedgers([]byte(status))) != status {
		t.Error("an error was changed")
	}
}
