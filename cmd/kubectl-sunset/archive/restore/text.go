// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"io"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// Refuse says that an object was not restored after all.
func (s *Step) Refuse(why string) { s.Object, s.Status, s.Why = nil, nil, why }

// Count returns how many steps restore an object.
func Count(steps []*Step) int {
	n := 0
	for _, s := range steps {
		if s.Object != nil {
			n++
		}
	}
	return n
}

// String names the object as Events do: Job.batch/shop/report.
func (r Ref) String() string {
	name := r.GroupKind().String() + "/" + r.Name
	if r.Namespace != "" {
		name = r.GroupKind().String() + "/" + r.Namespace + "/" + r.Name
	}
	return name
}

// Text is the text about steps.
type Text struct {
	Steps       []*Step
	Created     bool // the objects were created; otherwise the steps are a plan
	OnlyRefused bool // only what is not restored
}

// Write writes a paragraph about each object in the order of the steps, and the numbers.
func (t Text) Write(w io.Writer) error {
	style := text.StyleOf(w)
	verb := "would be restored"
	if t.Created {
		verb = "restored"
	}
	var b strings.Builder
	for _, s := range t.Steps {
		switch {
		case s.Object == nil:
			fmt.Fprintf(&b, "%s %s: %s\n", s.Ref, style.Warning("not restored"), s.Why)
			continue
		case t.OnlyRefused:
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", s.Ref, style.Good(verb))
		for _, note := range s.Notes {
			fmt.Fprintf(&b, "  %s\n", note)
		}
	}
	if !t.OnlyRefused {
		t.writeSummary(&b, verb)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Text) writeSummary(b *strings.Builder, verb string) {
	n := Count(t.Steps)
	fmt.Fprintf(b, "\n%s %s", preview.Count(n, "object"), verb)
	if refused := len(t.Steps) - n; refused > 0 {
		fmt.Fprintf(b, ", %d not", refused)
	}
	switch {
	case n == 0:
		b.WriteString(".\n")
	case t.Created:
		b.WriteString(". Each has a hold: to let policies delete it again, run kubectl sunset unhold.\n")
	default:
		b.WriteString(" (dry run). Each gets a hold. To create them, use --yes; to see them, use -o yaml or --diff.\n")
	}
}
