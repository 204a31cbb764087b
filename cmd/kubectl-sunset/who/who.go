// SPDX-License-Identifier: Apache-2.0

package who

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/audit"
)

// Report is what is known about the deletions of one object. It is the format in JSON and YAML, of kind DeletionReport.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	Object          Name       `json:"object"`
	ExistsSince     *time.Time `json:"existsSince,omitempty"` // creation of the object of that name that exists now; nil if none exists, or if the cluster was not asked
	Deletions       []Deletion `json:"deletions"`             // the oldest first

	withoutOptions int // deletions that may have been dry runs
}

// WithoutOptions is the number of deletions that may have been dry runs: the audit log of the API server does not have their options.
func (r *Report) WithoutOptions() int { return r.withoutOptions }

// Name names the object that the user asks about.
type Name struct {
	Kind      string `json:"kind"` // kind or resource, with or without the group
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Deletion is one deletion of an object of that name, as one source shows it.
type Deletion struct {
	Time   time.Time     `json:"time,omitzero"`    // of the answer to the request; no later than this for a record of an archive; zero if Sunset has recorded the deletion and does not know the answer yet
	By     string        `json:"by"`               // Sunset, or a user of the API server
	Result string        `json:"result"`           // deleted; collection if the request deleted several objects, maybe also this one; unknown if the request had no definite answer. From an archive, it may also be gone (the object no longer existed after a request without a definite answer), absent (another client deleted it before) or none
	Object audit.Object  `json:"object"`           // the object that was deleted
	Note   string        `json:"note,omitempty"`   // what else the source says
	Source string        `json:"source"`           // such as the line of a file
	Record *audit.Record `json:"record,omitempty"` // the audit record, or what an archive has of it; nil for other sources
}

// Sunset is the name of Sunset in Deletion.By.
const Sunset = "Sunset"

// Is reports whether a record is about the object of this name. An empty namespace of the name stands for all.
func (n Name) Is(o audit.Object) bool {
	return n.Name == o.Name && (n.Namespace == "" || o.Namespace == "" || n.Namespace == o.Namespace) && n.isKind(o.GroupKind())
}

// isKind compares without a cluster: each name may be a kind or a resource, and the user may leave out the group.
func (n Name) isKind(kind schema.GroupKind) bool {
	asked := schema.ParseGroupKind(n.Kind)
	if asked.Group != "" && asked.Group != kind.Group {
		return false
	}
	return resourcesOf(asked).HasAny(sets.List(resourcesOf(kind))...)
}

// resourcesOf returns the name in lower case, and its plural.
func resourcesOf(kind schema.GroupKind) sets.Set[string] {
	plural, singular := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	return sets.New(plural.Resource, singular.Resource)
}

// FindInLine adds the deletion that a line shows: an audit record of Sunset, or an event of the audit log of the API server.
func (r *Report) FindInLine(line []byte, source string) {
	if record, ok := audit.Parse(line); ok {
		r.addRecord(record, source)
	} else if d, options, ok := readRequest(line, r.Object.Name); ok && r.Object.Is(d.Object) {
		d.Source = source
		r.Add(d)
		if !options {
			r.withoutOptions++
		}
	}
}

// addRecord adds a record about the object, or about an object that Sunset deleted by deleting this one.
func (r *Report) addRecord(record audit.Record, source string) {
	d := Deletion{Time: record.Time, By: Sunset, Result: record.Result, Object: record.Object, Source: source, Record: &record}
	switch owner := record.Owner; {
	case r.Object.Is(record.Object):
	case owner != nil && r.Object.Is(*owner):
		d.Object = *owner
	default:
		return
	}
	r.Add(d)
}

// Add adds what Sunset says elsewhere.
func (r *Report) Add(d Deletion) { r.Deletions = append(r.Deletions, d) }

// Sort orders the deletions by time.
func (r *Report) Sort() {
	slices.SortStableFunc(r.Deletions, func(a, b Deletion) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Source, b.Source)) })
}
