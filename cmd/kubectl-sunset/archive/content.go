// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy/archive"
)

// Content is an entry with its record.
type Content struct {
	Entry
	Record archive.Record
}

// place is where a record is.
type place struct {
	segment string
	line    int
}

func placeOf(m archive.Meta) place { return place{m.Segment, m.Line} }

// Read reads the records of entries, in the order of the bucket, and each segment once. After an error it ends.
func Read(ctx context.Context, r *archive.Reader, entries []Entry, yield func(Content) error) error {
	of, metas := map[place][]Entry{}, []archive.Meta(nil)
	for _, e := range entries {
		at := placeOf(e.Meta)
		if of[at] == nil {
			metas = append(metas, e.Meta)
		}
		of[at] = append(of[at], e)
	}
	for found, err := range r.Each(ctx, metas) {
		if err != nil {
			return err
		}
		for _, e := range of[placeOf(found.Meta)] {
			if err := yield(Content{e, found.Record}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Manifest returns the archived object: that of the record, or a dependent.
func (c Content) Manifest() (map[string]any, error) {
	documents := []json.RawMessage{c.Record.Object}
	if c.Dependent != "" {
		documents = c.Record.Dependents
	}
	for _, document := range documents {
		var object map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(document, &object); err != nil {
			return nil, fmt.Errorf("%s in %s: %w", c.Object, c.Segment, err)
		}
		if c.Dependent == "" || nameOf(object) == c.Dependent {
			return object, nil
		}
	}
	return nil, fmt.Errorf("the record of %s in %s has no dependent %s, although the index names it", c.Object, c.Segment, c.Dependent)
}

// Document is a record in JSON and YAML, of kind ArchiveRecord.
type Document struct {
	metav1.TypeMeta `json:",inline"`
	Segment         string         `json:"segment"` // name of the object in the bucket that has the record
	Line            int            `json:"line"`    // of the segment; the first is 0
	Result          string         `json:"result"`  // deleted, gone (it no longer existed when Sunset asked to delete it), kept (Sunset did not delete this version), unknown, or none
	ResultTime      time.Time      `json:"resultTime,omitzero"`
	Record          archive.Record `json:"record"`
}

// Document returns the whole record.
func (c Content) Document() *Document {
	return &Document{
		TypeMeta: preview.TypeMeta("ArchiveRecord"), Segment: c.Segment, Line: c.Line, Result: cmp.Or(string(c.Result), "none"),
		ResultTime: c.ResultAt, Record: c.Record,
	}
}

// nameOf returns KIND.GROUP/NAME of an object.
func nameOf(object map[string]any) string {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind().String() + "/" + name
}

// Logs returns the logs of a record: those of a container, or of all if it is empty. If the entry is a Pod among the dependents, they
// are those of this Pod.
func (c Content) Logs(container string) []archive.Log {
	pod, isPod := strings.CutPrefix(c.Dependent, "Pod/")
	return slices.DeleteFunc(slices.Clone(c.Record.Logs), func(l archive.Log) bool {
		return container != "" && l.Container != container || isPod && l.Pod != pod
	})
}

// WriteLogs writes logs. Of several logs, each line begins with its Pod and container, as in kubectl logs --prefix. notes gets a
// line for each missing log.
func WriteLogs(w, notes io.Writer, logs []archive.Log) error {
	for _, l := range logs {
		name := fmt.Sprintf("[pod/%s/%s] ", l.Pod, l.Container)
		if l.Previous {
			name = fmt.Sprintf("[pod/%s/%s, previous instance] ", l.Pod, l.Container)
		}
		switch {
		case l.Missing != "":
			fmt.Fprintf(notes, "%sthe archive has no log: %s\n", name, l.Missing)
			continue
		case l.Truncated:
			fmt.Fprintf(notes, "%sthe archive has only the end of the log\n", name)
		}
		if len(logs) == 1 {
			name = ""
		}
		for line := range strings.Lines(l.Text) {
			if _, err := fmt.Fprintf(w, "%s%s\n", name, strings.TrimSuffix(line, "\n")); err != nil {
				return err
			}
		}
	}
	return nil
}

// ToRestore returns the objects of the record to restore: that of the record with its dependents, or the entry's dependent alone.
// name names the archive.
func (c Content) ToRestore(name string) ([]restore.Record, error) {
	all, err := restore.Records(name, archive.Found{Meta: c.Meta, Record: c.Record})
	if err != nil || c.Dependent == "" {
		return all, err
	}
	for _, r := range all[1:] {
		if nameOf(r.Object) == c.Dependent {
			return []restore.Record{r}, nil
		}
	}
	object, err := c.Manifest() // of a kind that is never restored; the plan says why
	return []restore.Record{{Object: object, From: all[0].From, ArchivedAt: c.ArchivedAt}}, err
}
