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
	Archive         string  `json:"archive"` // name of the RetentionArchive, or the URL
	Items           []Entry `json:"items"`   // the newest first
}

// NewList makes a List.
func NewList(archive string, entries []Entry) *List {
	return &List{TypeMeta: preview.TypeMeta("ArchivedObjectList"), Archive: archive, Items: append([]Entry{}, entries...)}
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
func (e Entry) Row(archived string) []string {
	kind, name := e.Kind()
	uid, recordOf := string(e.UID), "-"
	if e.Dependent != "" {
		uid, recordOf = "-", e.Object.String()
	}
	return []string{
		cmp.Or(e.Namespace, "-"), kind.Kind, name, archived, e.Result, cmp.Or(e.Outcome, "-"), e.Policy, e.Rule,
		cmp.Or(e.Reason, "-"), strconv.Itoa(e.Bytes), recordOf, uid, e.Place(),
	}
}
