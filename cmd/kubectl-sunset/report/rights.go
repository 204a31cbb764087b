package report

import (
	"fmt"
	"io"

	"github.com/sunset-k8s/sunset/policy/rbac"
)

// missing is a right that somebody lacks, in JSON. The format is stable.
type missing struct {
	Policy  string `json:"policy"`
	Message string `json:"message"`
	Role    string `json:"role"` // YAML, perhaps of several objects
}

// MissingRights writes who lacks what, each with the role that gives it and an empty line.
func MissingRights(w io.Writer, lacking []rbac.Missing) {
	for _, m := range lacking {
		said := rbac.Line(fmt.Sprintf("%s: %s; with this it may:", m.Policy, m))
		fmt.Fprintf(w, "%s\n%s%s\n", said, rbac.Between, m.YAML())
	}
}
