// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/inputs"
)

// child is the environment variable of a process whose inputs the test reads.
const child = "SUNSET_INPUTS_CHILD"

// TestGoTestSeesInputs reads what a test process tells go test.
func TestGoTestSeesInputs(t *testing.T) {
	if os.Getenv(child) != "" {
		expect.NoError(t, inputs.Sources(t.Context(), "github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"))
		expect.NoError(t, inputs.Files("../../charts", "../gitops/health/go.mod"))
		return
	}
	file := filepath.Join(t.TempDir(), "log")
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.testlogfile="+file)
	command.Env = append(os.Environ(), child+"=1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log, err := os.ReadFile(file)
	expect.NoError(t, err)
	root, err := filepath.Abs("../..")
	expect.NoError(t, err)
	for _, want := range []string{
		"stat " + root + "/go.mod", "stat " + root + "/go.sum",
		"stat " + root + "/cmd/kubectl-sunset/load", "stat " + root + "/cmd/kubectl-sunset/load/builtin.txt", "stat " + root + "/policy/v1alpha1/rule.go",
		"open ../../charts/sunset/templates", "stat ../gitops/health/go.mod",
	} {
		if !strings.Contains(string(log), "\n"+want+"\n") {
			t.Errorf("go test does not learn: %s", want)
		}
	}
	if strings.Contains(string(log), "_test.go\n") {
		t.Errorf("tests are inputs:\n%s", log)
	}
}

func TestUnknownPackageIsAnError(t *testing.T) {
	if err := inputs.Sources(t.Context(), "github.com/sunset-k8s/sunset/no/such"); err == nil || !strings.Contains(err.Error(), "no/such") {
		t.Errorf("error %v", err)
	}
	if inputs.Files("no-such-file") == nil {
		t.Error("no error for a file that does not exist")
	}
}
