// SPDX-License-Identifier: Apache-2.0

package crds_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// columns returns the columns that kubectl get shows without -o wide.
func columns(crd *apiextensionsv1.CustomResourceDefinition) (names []string) {
	for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
		if column.Priority == 0 {
			names = append(names, column.Name)
		}
	}
	return names
}

func TestPrinterColumns(t *testing.T) {
	want := []string{"Mode", "Matched", "Due", "Blocked", "Deleted", "Ready", "Age"}
	if diff := cmp.Diff(want, columns(definition(t))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Long but usual values of columns.
const (
	policyName = "finished-jobs"
	uid        = "0b5b0b5e-2f4e-4a0a-9d55-3b8a1c6f8f31"
	hash       = "9f2c1d40b7a3e8155d0c6e2f8a914b37"
)

// usual has the values of the columns in the table of each kind.
var usual = map[string]map[string]string{
	"ClusterRetentionPolicy":   policyColumns,
	"RetentionPolicy":          policyColumns,
	"ClusterRetentionApproval": approvalColumns,
	"RetentionApproval":        approvalColumns,
	"RetentionArchive":         {"Name": "history-of-builds", "Records": "1234567", "Bytes": "81234567890", "Ready": "Unknown", "Reason": "StoreUnavailable", "Age": "100d"},
	"RetentionDigest":          {"Name": "team-a-every-week", "Schedule": "0 8 * * 1-5", "Ready": "Unknown", "Reason": "NotAccepted", "Accepted": "100d", "Age": "100d"},
	"RetentionLedger":          {"Name": uid, "Policy": policyName, "Deleted": "1234567", "Gone": "1234", "Age": "100d"},
	"NodeImageRules":           {"Name": policyName, "Age": "100d"},
	"NodeImageReport":          {"Name": "ip-10-0-12-34.eu-central-1.compute.internal", "Images": "123", "Used %": "85", "Ready": "True", "Observed": "100d"},
}

var (
	policyColumns = map[string]string{"Name": policyName, "Mode": "Suspend", "Matched": "1234567", "Due": "12345", "Blocked": "12345", "Deleted": "1234567",
		"Ready": "Unknown", "Age": "100d"}
	approvalColumns = map[string]string{"Name": policyName + "-" + hash, "Policy": policyName, "Objects": "12345", "Age": "100d"}
)

// gap is the number of spaces that kubectl writes between two columns.
const gap = 3

// TestTablesFitInto80Columns: kubectl get shows each object on one line of a terminal, in one namespace and without -o wide.
func TestTablesFitInto80Columns(t *testing.T) {
	seen := map[string]bool{}
	for _, crd := range definitions(t) {
		kind := crd.Spec.Names.Kind
		width := 0
		for _, name := range append([]string{"Name"}, columns(crd)...) {
			value, ok := usual[kind][name]
			if !ok {
				t.Errorf("%s: a value of column %s is not known", kind, name)
			}
			width += gap + max(len(name), len(value))
		}
		if width -= gap; width > 80 {
			t.Errorf("the table of %s has %d columns", kind, width)
		}
		seen[kind] = true
	}
	if len(seen) != len(usual) {
		t.Errorf("%d kinds have values, %d are defined", len(usual), len(seen))
	}
}
