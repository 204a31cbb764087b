// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"io"
	"strconv"
	"strings"
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
	Entry
	Result     string    `json:"result"`              // deleted, gone (it no longer existed when Sunset asked to delete it), kept (Sunset did not delete this version), unknown, or none
	ResultTime time.Time `json:"resultTime,omitzero"` // the deletion was no later than this
}

// NewList makes a List.
func NewList(archive string, entries []Entry) *List {
	l := &List{TypeMeta: preview.TypeMeta("ArchivedObjectList"), Archive: archive, Items: make([]ArchivedObject, len(entries))}
	for i, e := range entries {
		l.Items[i] = ArchivedObject{e, cmp.Or(string(e.Result), "none"), e.ResultAt}
	}
	return l
}

// Titles are those of the columns of a Row. Numbers begin with ">", as in a text.Table.
var Titles = []string{"Namespace", "Kind", "Name", "Archived", "Result", "Outcome", "Policy", "Rule", "Reason", ">Bytes", "Record of", "UID", "Segment"}

const narrow = 8 // columns of the table that is not wide

// WriteText writes a table. wide adds columns.
func (l *List) WriteText(w io.Writer, wide bool, now time.Time) error {
	columns := len(Titles)
	if !wide {
		columns = narrow
	}
	header := make([]string, columns)
	for i := range header {
		header[i] = strings.ToUpper(Titles[i])
	}
	return text.NewTable(header...).Write(w, len(l.Items), func(i int) []string {
		return l.Items[i].Row(duration.HumanDuration(now.Sub(l.Items[i].ArchivedAt)) + " ago")[:columns]
	})
}

// Row returns a row for a table. archived is the text for the time.
func (o *ArchivedObject) Row(archived string) []string {
	kind, name := o.Kind()
	uid, recordOf := string(o.UID), "-"
	if o.Dependent != "" {
		uid, recordOf = "-", o.Object.String()
	}
	return []string{
		cmp.Or(o.Namespace, "-"), kind.Kind, name, archived, o.Result, cmp.Or(o.Outcome, "-"), o.Policy, o.Rule,
		cmp.Or(o.Reason, "-"), strconv.Itoa(o.Bytes), recordOf, uid, o.Place(),
	}
}
