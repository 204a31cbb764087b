// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Query selects records. The zero Query selects all. All set fields must match.
type Query struct {
	Kind      schema.GroupKind // of the object or of a dependent
	Namespace *string          // nil: all; empty: cluster-scoped objects
	Name      string           // of the object; or, if Kind is a kind of dependents, of a dependent
	UID       string
	Selector  labels.Selector // of labels of the object; nil: all
	Policy    string          // as in Record
	Since     time.Time       // archived at this time or later; zero: no limit
	Until     time.Time       // archived before this time; zero: no limit
}

// maxDelay is how long a record may wait for its segment to be complete.
const maxDelay = 24 * time.Hour

// maxDoubt is for how long after a DELETE without a definite answer a query with Until still finds its result. A result is in the index of
// the day when it became known, for example when a controller runs again after a weekend.
const maxDoubt = 7 * 24 * time.Hour

// matchesDay tells whether the objects of a day can have matching records.
func (q Query) matchesDay(start time.Time) bool {
	return start.AddDate(0, 0, 1).After(q.Since) && (q.Until.IsZero() || start.Before(q.Until.Add(maxDelay)))
}

func (q Query) matches(m Meta) bool {
	return q.matchesObject(m) && !m.ArchivedAt.Before(q.Since) && (q.Until.IsZero() || m.ArchivedAt.Before(q.Until)) &&
		(q.Namespace == nil || *q.Namespace == m.Namespace) &&
		(q.UID == "" || q.UID == string(m.UID)) &&
		(q.Policy == "" || q.Policy == m.Policy) &&
		(q.Selector == nil || q.Selector.Matches(labels.Set(m.Labels)))
}

func (q Query) matchesObject(m Meta) bool {
	named := q.Name == "" || q.Name == m.Name
	if q.Kind.Empty() || q.Kind == m.GroupKind() && named {
		return named
	}
	return slices.ContainsFunc(m.Dependents, func(d string) bool {
		name, ok := strings.CutPrefix(d, q.Kind.String()+"/")
		return ok && (q.Name == "" || q.Name == name)
	})
}

// filter has texts that lines with matching metadata contain. It saves decoding most others.
type filter [][]byte

func (q Query) filter() (f filter) {
	texts := []string{q.Kind.Kind, q.Name, q.UID, q.Policy}
	if q.Namespace != nil {
		texts = append(texts, *q.Namespace)
	}
	if q.Selector != nil {
		requirements, _ := q.Selector.Requirements()
		for _, r := range requirements {
			if values := r.Values().UnsortedList(); len(values) == 1 && r.Matches(labels.Set{r.Key(): values[0]}) {
				texts = append(texts, values[0])
			}
		}
	}
	for _, text := range texts {
		escaped, _ := marshal(text) // as in the line
		f = append(f, bytes.Trim(escaped, "\"\n"))
	}
	return f
}

// passes reports whether a line may match.
func (f filter) passes(line []byte) bool {
	return !slices.ContainsFunc(f, func(text []byte) bool { return !bytes.Contains(line, text) })
}
