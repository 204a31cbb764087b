package command

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/rbac"
)

// TestWhatIsMissingIsToldOnOneLine: below stands a role to apply, and whoever wrote the policy chose the account.
func TestWhatIsMissingIsToldOnOneLine(t *testing.T) {
	right := rbac.Right{Policy: "team-a/own", Namespace: "team-a", Account: "a\n---\rb\u2028c", For: "jobs.batch",
		Resources: []schema.GroupResource{{Group: "batch", Resource: "jobs"}}}.And("list")
	var out strings.Builder
	writeMissing(&out, []rbac.Missing{{Right: right, Denied: []string{"list"}}})
	const said = "team-a/own: ServiceAccount a --- b c may not list jobs.batch in namespace team-a; with this it may:\n"
	if want := said + rbac.Between + right.YAML() + "\n"; out.String() != want {
		t.Errorf("%q\nwant\n%q", out.String(), want)
	}
}
