package command

import (
	"fmt"
	"io"

	"github.com/sunset-k8s/sunset/policy/rbac"
)

// missingRole is a missing permission of an account in JSON. The format is stable.
type missingRole struct {
	Policy  string `json:"policy"`
	Message string `json:"message"`
	Role    string `json:"role"` // YAML of one or several objects
}

// writeMissing writes missing permissions, each with the role that grants it and an empty line.
func writeMissing(w io.Writer, absent []rbac.Missing) {
	for _, m := range absent {
		said := rbac.Line(fmt.Sprintf("%s: %s; this role grants the permission:", m.Policy, m))
		fmt.Fprintf(w, "%s\n%s%s\n", said, rbac.Between, m.YAML())
	}
}
