package command

import (
	"fmt"
	"io"

	"github.com/sunset-k8s/sunset/policy/rbac"
)

// missingRole is a permission that an account lacks, in JSON. The format is stable.
type missingRole struct {
	Policy  string `json:"policy"`
	Message string `json:"message"`
	Role    string `json:"role"` // YAML, perhaps of several objects
}

// writeMissing writes who lacks what, each with the role that gives it and an empty line.
func writeMissing(w io.Writer, absent []rbac.Missing) {
	for _, m := range absent {
		said := rbac.Line(fmt.Sprintf("%s: %s; with this it may:", m.Policy, m))
		fmt.Fprintf(w, "%s\n%s%s\n", said, rbac.Between, m.YAML())
	}
}
