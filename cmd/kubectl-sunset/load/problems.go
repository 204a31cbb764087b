// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy"
)

// WriteProblems writes every problem of every policy: position, message, the line of the expression with a caret below, and
// hint.
func WriteProblems(w io.Writer, policies []Policy) {
	for _, p := range policies {
		for _, problem := range p.InOrder() {
			fmt.Fprint(w, describe(p, problem))
		}
	}
}

func describe(p Policy, problem policy.Problem) string {
	var b strings.Builder
	hint := problem.Hint
	problem.Hint = ""
	where := p.Where()
	if line := p.Line(problem); line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, line)
	}
	fmt.Fprintf(&b, "%s: %s: %s\n", where, cmp.Or(p.Name, "-"), problem)
	if snippet := problem.Snippet(); snippet != "" {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(snippet, "\n", "\n  "))
	}
	if hint != "" {
		fmt.Fprintf(&b, "    hint: %s\n", hint)
	}
	return b.String()
}

// WriteWarnings writes the warnings of every policy. Warnings do not make a policy invalid.
func WriteWarnings(w io.Writer, policies []Policy) {
	style, checked := text.StyleOf(w), false
	for _, p := range policies {
		checked = checked || len(p.Checked) > 0
		for _, warning := range p.Warnings() {
			warning.Message = style.Warning("warning:") + " " + warning.Message
			fmt.Fprint(w, describe(p, warning))
		}
	}
	if checked {
		fmt.Fprintf(w, "Kinds and fields are those of Kubernetes %s, which this version of Sunset was built with; a newer one may have more.\n", KubernetesVersion())
	}
}
