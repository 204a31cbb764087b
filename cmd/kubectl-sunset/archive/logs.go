// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy/archive"
)

// Logs returns the logs of a record: those of a container, or of all if it is empty. If the entry is a dependent, they are those of the
// Pods that it is or owns.
func (c Content) Logs(container string) ([]archive.Log, error) {
	pods := map[string]bool{}
	if c.Dependent != "" {
		if _, err := c.Manifest(); err != nil {
			return nil, err
		}
		all, err := c.objects("")
		if err != nil {
			return nil, err
		}
		for o := range ownedBy(all[c.Position+1].Archived, all) {
			if o.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Pod"}) {
				pods[o.GetName()] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(c.Record.Logs), func(l archive.Log) bool {
		return container != "" && l.Container != container || c.Dependent != "" && !pods[l.Pod]
	}), nil
}

// WriteLogs writes logs. Of several logs, each line begins with its Pod and container, as in kubectl logs --prefix. notes gets a
// line for each missing log. Control characters of logs do not reach a terminal.
func WriteLogs(w, notes io.Writer, logs []archive.Log) error {
	for _, l := range logs {
		prefix := text.EscapeLine(fmt.Sprintf("[pod/%s/%s] ", l.Pod, l.Container))
		switch {
		case l.Missing != "":
			fmt.Fprintf(notes, "%sthe archive has no log: %s\n", prefix, text.EscapeLine(l.Missing))
		case l.Truncated:
			fmt.Fprintf(notes, "%sthe archive has only the end of the log\n", prefix)
		}
		if len(logs) == 1 {
			prefix = ""
		}
		for line := range strings.Lines(l.Text) {
			if _, err := fmt.Fprintf(w, "%s%s\n", prefix, text.ForTerminal(w, strings.TrimSuffix(line, "\n"))); err != nil {
				return err
			}
		}
	}
	return nil
}
