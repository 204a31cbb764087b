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

// LogWriter writes the logs of records, in the order of Read and each once. Of several logs, each line begins with its Pod and container,
// as in kubectl logs --prefix. Control characters of logs do not reach a terminal.
type LogWriter struct {
	Out       io.Writer
	Notes     io.Writer // gets a line for each log that is missing or not complete
	Container string    // the only one whose logs to write; empty for all

	N       int  // logs of the records
	HasText bool // at least one of them is not empty

	place string // of the last record
	seen  map[archive.Log]bool
	first *archive.Log // held until a second one shows that there are several
}

// Add writes the logs of a record, but holds the first one of all.
func (w *LogWriter) Add(c Content) error {
	logs, err := c.Logs(w.Container)
	if w.place != c.Place() {
		w.place, w.seen = c.Place(), map[archive.Log]bool{}
	}
	for i := 0; i < len(logs) && err == nil; i++ {
		if w.seen[logs[i]] {
			continue
		}
		w.seen[logs[i]] = true
		if w.N++; w.N == 1 {
			w.first = &logs[i]
			continue
		}
		if err = w.Flush(); err == nil {
			err = w.write(logs[i])
		}
	}
	return err
}

// Flush writes the log that is held, if there is one.
func (w *LogWriter) Flush() error {
	held := w.first
	if w.first = nil; held == nil {
		return nil
	}
	return w.write(*held)
}

func (w *LogWriter) write(l archive.Log) error {
	prefix := text.EscapeLine(fmt.Sprintf("[pod/%s/%s] ", l.Pod, l.Container))
	switch {
	case l.Missing != "":
		fmt.Fprintf(w.Notes, "%sthe archive has no log: %s\n", prefix, text.EscapeLine(l.Missing))
	case l.Truncated:
		fmt.Fprintf(w.Notes, "%sthe archive has only the end of the log\n", prefix)
	}
	if w.N == 1 {
		prefix = ""
	}
	for line := range strings.Lines(l.Text) {
		w.HasText = true
		if _, err := fmt.Fprintf(w.Out, "%s%s\n", prefix, text.ForTerminal(w.Out, strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	return nil
}
