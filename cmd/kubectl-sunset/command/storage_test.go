// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

var priced = []string{"--prices", "PersistentVolumeClaim=0.10,PersistentVolume=0.20,VolumeSnapshot.snapshot.storage.k8s.io=0.05", "--currency", "EUR"}

// TestUnusedShowsSizes: the sizes of claims and volumes, their sum, and costs if there are prices.
func TestUnusedShowsSizes(t *testing.T) {
	args := []string{"unused", "-f", samples + "/unused/volumes/objects.yaml"}
	got := run(t, "", args...)
	wants(t, got, command.ExitOK, "SIZE   SINCE", "left          10.7GB   unknown", "\nTotal size: 42.9GB\n")
	if strings.Contains(got.out, "Estimated") {
		t.Errorf("the capacity of volumes is called an estimate:\n%s", got.out)
	}
	wants(t, run(t, "", append(args, priced...)...), command.ExitOK, "10.7GB, 1.00 EUR", "10.7GB, 2.00 EUR", "\nTotal size: 42.9GB, 5.00 EUR\n", "\nEstimated: costs for a month\n")
	if got := run(t, "", "unused", "-f", samples+"/unused/network/objects.yaml"); strings.Contains(got.out, "SIZE") {
		t.Errorf("there is a column for sizes that are not known:\n%s", got.out)
	}
	wants(t, run(t, "", append(args, "--prices", "PersistentVolumeClaim=0.10")...), command.ExitError, "--prices: there are prices, but no currency")
}

func TestExplainShowsTheSize(t *testing.T) {
	args := []string{"explain", "volumesnapshot/db-january", "-f", samples + "/volume-snapshots"}
	wants(t, run(t, "", args...), command.ExitOK, " old, 21.5GB\n")
	wants(t, run(t, "", append(args, "-o", "custom-columns=BYTES:.object.bytes")...), command.ExitOK, "21474836480\n")
	expect.Equal(t, "jsonpath", "21474836480", run(t, "", append(args, "-o", "jsonpath={.object.bytes}")...).out)
}

func TestStatusShowsSizes(t *testing.T) {
	s := newAPIServer(t)
	s.inForce(told("ClusterRetentionPolicy", "", "batch", enforced, isReady+`,"storage":{"due":{"now":{"bytes":21474836480}},"kept":{"bytes":1},"deleted":{"bytes":2}}`))
	s.teams()
	wants(t, s.run(t, "", "status", "-o", "wide"), command.ExitOK, "HELD     SIZE\n", "0   21.5GB\n")
	wants(t, s.run(t, "", "status", "-o", "jsonpath={.items[*].storage.deleted.bytes}"), command.ExitOK, "2")
}

// TestPreviewShowsSizes in the tables, on the page, and in JSON and YAML.
func TestPreviewShowsSizes(t *testing.T) {
	args := append([]string{"preview", "-f", samples + "/volume-snapshots"}, priced...)
	wants(t, run(t, "", args...), command.ExitOK, "db-january          21.5GB, 1.00 EUR", "2 (21.5GB, 1.00 EUR)", "8 (37.6GB, 1.75 EUR)",
		"\nEstimated: sizes that rules compute with bytes, costs for a month\n")
	wants(t, run(t, "", append(args, "-o", "html")...), command.ExitOK, "<dt>Due now</dt><dd>2 (21.5GB, 1.00 EUR)</dd>",
		"<dt>Storage</dt><dd>Estimated: sizes that rules compute with bytes, costs for a month</dd>", "21.5GB, 1.00 EUR")
	inJSON := run(t, "", append(args, "-o", "json")...)
	wants(t, inJSON, command.ExitOK, `"currency": "EUR"`, `"bytes":21474836480,"estimatedMonthlyCost":"1.00"`)
	sameInYAML(t, inJSON, run(t, "", append(args, "-o", "yaml")...))
	wants(t, run(t, "", append(args, "-o", "jsonpath={.currency} {.verdicts[*].estimatedMonthlyCost}")...), command.ExitOK, "EUR 1.00 1.00 1.00 0.25 0.25 0.25")
}
