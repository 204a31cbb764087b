// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestCommandLineChecksTheInstallation: the published schemas have all fields of the CustomResourceDefinitions, and the Lease of a
// controller counts as renewed while it runs. The test has no Deployment.
func TestCommandLineChecksTheInstallation(t *testing.T) {
	w := newEnv(t)
	run := w.commandLine(w.plane.Config(), "-n", w.namespace)
	results := func() map[string]string {
		w.Helper()
		out, err := run("check", "-o", "json")
		var report struct {
			Checks []struct{ Name, Result string }
		}
		if json.Unmarshal([]byte(out), &report) != nil {
			w.Fatalf("%v: %s", err, out)
		}
		found := map[string]string{}
		for _, check := range report.Checks {
			found[check.Name] = check.Result
		}
		return found
	}
	before := results()
	expect.Equal(t, "kinds", "PASS", before["kinds"])
	expect.Equal(t, "clock", "PASS", before["clock"])
	expect.Equal(t, "controller", "FAIL", before["controller"])
	expect.Equal(t, "leader without a controller", "WARN", before["leader"])
	stop := w.sunset(func(c *manager.Config) {
		c.Namespace, c.Identity, c.Election = w.namespace, "first", manager.Election{Enabled: true, RetryPeriod: time.Second}
	})
	cluster.Eventually(t, patience, func() error {
		return cluster.Want(results()["leader"] == "PASS", "no leader: %v", results())
	})
	stop() // which releases the Lease
	expect.Equal(t, "leader after the controller stopped", "FAIL", results()["leader"])
}

// TestCommandLineWatchesPolicies: status --watch prints a row for each change of a real watch.
func TestCommandLineWatchesPolicies(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	run := w.command(w.plane.Config()) // builds the command, which may take long
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	command := run(ctx, "status", "--watch")
	out, err := command.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, command.Start())
	lines := bufio.NewScanner(out)
	next := func(what string, has func(fields []string) bool) {
		t.Helper()
		for lines.Scan() {
			if has(strings.Fields(lines.Text())) {
				return
			}
		}
		t.Fatalf("no line with %s", what)
	}
	next("a header", func(fields []string) bool { return fields[0] == "NAMESPACE" })
	p := w.policy("previews", fmt.Sprintf(previews, "DryRun", "0s"))
	next("the policy", func(fields []string) bool { return fields[1] == p.Name })
	w.configMap("one", preview)
	next("its first object", func(fields []string) bool { return fields[1] == p.Name && fields[3] == "True" && fields[4] == "1" })
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Matched == 1, "%d objects", s.Matched)
	})
	expect.NoError(t, w.Delete(w.Context(), p))
	next("its deletion", func(fields []string) bool { return fields[1] == p.Name && fields[4] == "(Deleted)" })
	stop()
	_ = command.Wait()
}
