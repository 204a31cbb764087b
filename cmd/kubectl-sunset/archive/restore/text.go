// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"io"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// Refuse says that an object is not restored after all.
func (s *Step) Refuse(why string) { s.Object, s.Status, s.Why = nil, nil, why }

// Write writes a paragraph about each object in the order of the steps, and the numbers. Without created, the steps are a plan.
func Write(w io.Writer, steps []*Step, created bool) error {
	style := text.StyleOf(w)
	verb := "would be restored"
	if created {
		verb = "restored"
	}
	var b strings.Builder
	n := 0
	for _, s := range steps {
		if s.Object == nil {
			fmt.Fprintf(&b, "%s %s: %s\n", s.Ref, style.Warning("not restored"), s.Why)
			continue
		}
		n++
		fmt.Fprintf(&b, "%s %s\n", s.Ref, style.Good(verb))
		for _, note := range s.Notes {
			fmt.Fprintf(&b, "  %s\n", note)
		}
	}
	fmt.Fprintf(&b, "\n%s %s", preview.Count(n, "object"), verb)
	if refused := len(steps) - n; refused > 0 {
		fmt.Fprintf(&b, ", %d not", refused)
	}
	switch {
	case n == 0:
		b.WriteString(".\n")
	case created:
		b.WriteString(". Each has a hold: to let policies delete it again, run kubectl sunset unhold.\n")
	default:
		b.WriteString(" (dry run). Each gets a hold. To create them, use --yes; to see how they differ, use --diff.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
