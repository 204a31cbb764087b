// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// List is the result of ls. It is the format in JSON and YAML, of kind ArchivedObjectList.
type List struct {
	metav1.TypeMeta `json:",inline"`
	Archive         string           `json:"archive"` // name of the RetentionArchive, or the URL
	Items           []ArchivedObject `json:"items"`   // the newest first
}

// ArchivedObject is one object in a List.
type ArchivedObject struct {
	APIVersion      string            `json:"apiVersion,omitempty"` // absent for dependents
	Group           string            `json:"group,omitempty"`
	Kind            string            `json:"kind"`
	Namespace       string            `json:"namespace,omitempty"`
	Name            string            `json:"name"`
	UID             string            `json:"uid,omitempty"`             // absent for dependents
	ResourceVersion string            `json:"resourceVersion,omitempty"` // absent for dependents
	RecordOf        string            `json:"recordOf,omitempty"`        // the object of the record, if this is a dependent that was deleted along with it
	Labels          map[string]string `json:"labels,omitempty"`
	ArchivedAt      time.Time         `json:"archivedAt"`
	Result          string            `json:"result"`              // deleted, gone (after a request without a definite answer, it did not exist), kept (Sunset did not delete this version), unknown, or none
	ResultTime      time.Time         `json:"resultTime,omitzero"` // the deletion was no later than this
	Policy          string            `json:"policy"`
	Rule            string            `json:"rule"`
	Reason          string            `json:"reason,omitempty"`  // why the object was due
	Outcome         string            `json:"outcome,omitempty"` // result of the rule's outcome expression
	DueTime         time.Time         `json:"dueTime"`
	Bytes           int               `json:"bytes"`   // of the record, before compression
	Segment         string            `json:"segment"` // name of the object in the bucket that has the record
	Line            int               `json:"line"`    // of the segment; the first is 0
}

// NewList makes a List.
func NewList(archive string, entries []Entry) *List {
	l := &List{TypeMeta: preview.TypeMeta("ArchivedObjectList"), Archive: archive, Items: make([]ArchivedObject, len(entries))}
	for i, e := range entries {
		kind, name := e.Kind()
		o := ArchivedObject{
			Group: kind.Group, Kind: kind.Kind, Namespace: e.Namespace, Name: name, ArchivedAt: e.ArchivedAt, Result: cmp.Or(string(e.Result), "none"),
			ResultTime: e.ResultAt, Policy: e.Policy, Rule: e.Rule, Reason: e.Reason, Outcome: e.Outcome, DueTime: e.Due, Bytes: e.Bytes,
			Segment: e.Segment, Line: e.Line,
		}
		if e.Dependent != "" {
			o.RecordOf = e.Object.String()
		} else {
			o.APIVersion, o.UID, o.ResourceVersion, o.Labels = e.APIVersion, string(e.UID), e.ResourceVersion, e.Labels
		}
		l.Items[i] = o
	}
	return l
}

// header has the columns of the table; those after NAME's neighbors only for wide.
var (
	header     = []string{"NAMESPACE", "KIND", "NAME", "ARCHIVED", "RESULT", "OUTCOME", "POLICY", "RULE"}
	headerWide = []string{"REASON", "UID", ">BYTES", "RECORD OF", "SEGMENT"}
)

// WriteText writes a table. wide adds columns.
func (l *List) WriteText(w io.Writer, wide bool, now time.Time) error {
	columns := header
	if wide {
		columns = append(columns[:len(columns):len(columns)], headerWide...)
	}
	return text.NewTable(columns...).Write(w, len(l.Items), func(i int) []string {
		return l.Items[i].row(duration.HumanDuration(now.Sub(l.Items[i].ArchivedAt)) + " ago")[:len(columns)]
	})
}

func (o *ArchivedObject) row(archived string) []string {
	return []string{
		cmp.Or(o.Namespace, "-"), o.Kind, o.Name, archived, o.Result, cmp.Or(o.Outcome, "-"), o.Policy, o.Rule,
		cmp.Or(o.Reason, "-"), cmp.Or(o.UID, "-"), strconv.Itoa(o.Bytes), cmp.Or(o.RecordOf, "-"), fmt.Sprintf("%s#%d", o.Segment, o.Line),
	}
}
