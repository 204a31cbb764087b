// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
)

const digestHead = "apiVersion: sunset-k8s.io/v1alpha1\nkind: RetentionDigest\nmetadata: {name: weekly}\nspec:\n"

func TestValidateDigest(t *testing.T) {
	valid := digestHead + "  schedule: '@weekly'\n  webhook: {urlFrom: {name: slack, key: url}, format: Slack}\n"
	wants(t, run(t, valid, "validate", "-f", "-"), command.ExitOK, "0 policies and 1 digest in 1 file: no problems")
	invalid := digestHead + "  schedule: 0 25 * * *\n  namespace: [shop]\n  webhook: {url: 'https://169.254.169.254/'}\n"
	got := run(t, invalid, "validate", "-f", "-")
	wants(t, got, command.ExitFindings, "stdin:5: weekly: spec.schedule: ", "hint: write minute, hour, day of month, month and day of week",
		"stdin:7: weekly: spec.webhook.url: loopback, link-local and metadata addresses are not allowed", "stdin:6: weekly: spec.namespace: unknown field")
	wants(t, run(t, invalid, "validate", "-f", "-", "-o", "json"), command.ExitFindings, `"digests": 1`, `"policies": 0`, `"policy": "weekly"`)
	wants(t, run(t, valid, "preview", "-f", "-", "-f", samples+"/finished-jobs"), command.ExitOK, "finished-jobs/jobs")
	for _, args := range [][]string{{"preview"}, {"rbac", "--local"}} { // they fail because of the digest, and say so
		wants(t, run(t, invalid, append(args, "-f", "-", "-f", samples+"/finished-jobs")...), command.ExitFindings, "stdin:5: weekly: spec.schedule: ")
	}
}
