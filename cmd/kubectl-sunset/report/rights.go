package report

import (
	"fmt"
	"io"

	"github.com/sunset-k8s/sunset/policy/grant"
)

// missing is a right that somebody lacks, in JSON. The format is stable.
type missing struct {
	Policy  string `json:"policy"`
	Message string `json:"message"`
	Role    string `json:"role"` // YAML, perhaps of several objects
}

// MissingRights writes who lacks what, each with the role that gives it and an empty line.
func MissingRights(w io.Writer, lacking []grant.Missing) {
	for _, m := range lacking {
		fmt.Fprintf(w, "%s: %s; with this it may:\n%s%s\n", m.Policy, m, grant.Between, m.YAML())
	}
}
