// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/inputs"
)

// TestHealthChecks runs the tests of the module with the interpreters of Argo CD and Flux.
func TestHealthChecks(t *testing.T) {
	expect.NoError(t, inputs.Files("health", "../../docs/tasks/use-gitops.md"))
	command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "./...")
	command.Dir = "health"
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
