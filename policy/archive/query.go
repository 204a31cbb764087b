// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
)

// Query selects records. The zero Query selects all. All set fields must match.
type Query struct {
	Kind      schema.GroupKind // of the object or of a dependent
	Namespace *string          // nil: all; empty: cluster-scoped objects
	Name      string           // of the object; or, if Kind is a kind of dependents, of a dependent
	UID       string
	Selector  labels.Selector // of labels of the object; nil: all
	Policy    string          // as in Record
	Rule      string
	Since     time.Time       // archived at this time or later; zero: no limit
	Until     time.Time       // archived before this time; zero: no limit, which costs the names of the whole archive
	Results   []Result        // what happened; empty: all. "" is a record without a result
	Match     func(Meta) bool // nil: all; called last, from one goroutine at a time
}

// matches tells whether everything except Results and Match matches.
func (q Query) matches(m Meta) bool {
	return q.matchesObject(m) && q.matchesTime(m.ArchivedAt) &&
		(q.Namespace == nil || *q.Namespace == m.Namespace) &&
		(q.UID == "" || q.UID == string(m.UID)) &&
		(q.Policy == "" || q.Policy == m.Policy) &&
		(q.Rule == "" || q.Rule == m.Rule) &&
		(q.Selector == nil || q.Selector.Matches(labels.Set(m.Labels)))
}

func (q Query) matchesTime(t time.Time) bool {
	return !t.Before(q.Since) && (q.Until.IsZero() || t.Before(q.Until))
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

func (q Query) matchesResult(m Meta) bool {
	return (len(q.Results) == 0 || slices.Contains(q.Results, m.Result)) && (q.Match == nil || q.Match(m))
}

// filter rejects most lines that cannot match without decoding them. A line must contain one text of each list.
type filter [][][]byte

// filter is the filter of a query. Its texts are as marshal writes them.
func (q Query) filter() filter {
	var f filter
	add := func(value string, texts ...string) {
		if value == "" || strings.Trim(value, plain) != "" {
			return
		}
		var any [][]byte
		for _, t := range texts {
			any = append(any, []byte(t))
		}
		f = append(f, any)
	}
	add(q.UID, `"uid":"`+q.UID+`"`)
	add(q.Name, q.Name)
	for key, value := range q.equal() {
		add(key+value, `"`+key+`":"`+value+`"`)
	}
	if q.Namespace != nil {
		add(*q.Namespace, `"namespace":"`+*q.Namespace+`"`)
	}
	add(q.Policy, `"policy":"`+q.Policy+`"`)
	add(q.Rule, `"rule":"`+q.Rule+`"`)
	add(q.Kind.Kind+q.Kind.Group, `"kind":"`+q.Kind.Kind+`"`, `"`+q.Kind.String()+`/`)
	return f
}

// plain are characters that no JSON encoder escapes.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:/"

// equal are the labels that must have one value.
func (q Query) equal() map[string]string {
	if q.Selector == nil {
		return nil
	}
	equal := map[string]string{}
	requirements, _ := q.Selector.Requirements()
	for _, r := range requirements {
		one := r.Operator() == selection.Equals || r.Operator() == selection.DoubleEquals || r.Operator() == selection.In
		if values := r.Values().UnsortedList(); one && len(values) == 1 {
			equal[r.Key()] = values[0]
		}
	}
	return equal
}

// passes reports whether a line may match.
func (f filter) passes(line []byte) bool {
	for _, any := range f {
		if !slices.ContainsFunc(any, func(text []byte) bool { return bytes.Contains(line, text) }) {
			return false
		}
	}
	return true
}
