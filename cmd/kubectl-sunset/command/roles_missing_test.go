// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/rbac"
)

// TestMissingPermissionIsReportedOnOneLine: the message is followed by a role to apply, and the author of the policy controls the
// account's name.
func TestMissingPermissionIsReportedOnOneLine(t *testing.T) {
	right := rbac.Permission{Policy: "team-a/own", Namespace: "team-a", Account: "a\n---\rb\u2028c", For: "jobs.batch",
		Resources: []schema.GroupResource{{Group: "batch", Resource: "jobs"}}}.And("list")
	var out strings.Builder
	writeMissing(&out, []rbac.Missing{{Permission: right, Denied: []string{"list"}}})
	const said = "team-a/own: ServiceAccount a --- b c may not list jobs.batch in namespace team-a; this role grants the permission:\n"
	if want := said + rbac.Between + right.YAML() + "\n"; out.String() != want {
		t.Errorf("%q\nwant\n%q", out.String(), want)
	}
}
