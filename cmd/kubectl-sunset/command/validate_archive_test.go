// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
)

const archiveHead = "apiVersion: sunset-k8s.io/v1alpha1\nkind: RetentionArchive\nmetadata: {name: history}\nspec:\n"

func TestValidateArchive(t *testing.T) {
	wants(t, run(t, archiveHead+"  url: s3://bucket\n  retain: 90d\n", "validate", "-f", "-"), command.ExitOK, "0 policies and 1 archive in 1 file: no problems")
	invalid := archiveHead + "  url: bucket\n  retain: 1h\n  encrypted: true\n  encryption: {recipients: [ssh-rsa]}\n"
	wants(t, run(t, invalid, "validate", "-f", "-"), command.ExitFindings, `stdin:5: history: spec.url: it has the scheme ""; use s3, gs, azblob or file`,
		"stdin:6: history: spec.retain: it is shorter than a day", "stdin:7: history: spec.encrypted: unknown field", "spec.encryption.recipients[0]: it is not a public key of age")
	wants(t, run(t, invalid, "validate", "-f", "-", "-o", "json"), command.ExitFindings, `"archives": 1`, `"policies": 0`)
	spelling := archiveHead + "  url: s3://bucket?regoin=eu-central-1\n  legalHolds: [segments/, /segments/2026/]\n  encryption:\n    recipients:\n    - age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8q\n"
	wants(t, run(t, spelling, "validate", "-f", "-"), command.ExitFindings, `stdin:5: history: spec.url: it has the parameter "regoin", and s3 has only: region`,
		`stdin:6: history: spec.legalHolds[1]: no name of an object begins with "/segments/2026/"`, "stdin:9: history: spec.encryption.recipients[0]: it is not a public key of age")
}
