// SPDX-License-Identifier: Apache-2.0

package status

import "github.com/sunset-k8s/sunset/policy"

// These limits keep most statuses small; fit shortens the others.
const (
	problemsShown = 5 // problems of a rule; also warnings, and messages about overrides
	readsShown    = 50
	lineShown     = 512 // bytes
)

// first returns the first lines, shortened, and a line with the number of the others.
func first(limit int, lines []string) []string {
	var out []string
	for _, line := range policy.Shortlist(lines, limit, "") {
		out = append(out, policy.Shorten(line, lineShown))
	}
	return out
}
