// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"

	"github.com/sunset-k8s/sunset/policy"
)

// These limits keep every status smaller than etcd accepts, which is 1.5 MiB by default.
const (
	problemsShown = 5 // problems of a rule; also warnings
	readsShown    = 50
	lineShown     = 512 // bytes
)

// first returns the first lines, shortened, and a line with the number of the others.
func first(limit int, lines []string) []string {
	var out []string
	for _, line := range lines[:min(limit, len(lines))] {
		out = append(out, policy.Shorten(line, lineShown))
	}
	if more := len(lines) - limit; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}

func lines(problems []policy.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}
