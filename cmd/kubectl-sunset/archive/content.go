// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/archive/redact"
)

// Content is an entry with its record.
type Content struct {
	Entry
	Record archive.Record
}

// Read reads the records of entries, in the order of the bucket, and each segment once. It leaves out what r skips. After an error it ends.
func Read(ctx context.Context, r *archive.Reader, entries []Entry, yield func(Content) error) error {
	entries = slices.SortedStableFunc(slices.Values(entries), func(a, b Entry) int { // as Each
		return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Line, b.Line))
	})
	metas := make([]archive.Meta, len(entries))
	for i, e := range entries {
		metas[i] = e.Meta
	}
	next := 0
	for found, err := range r.Each(ctx, metas) {
		for err == nil && (entries[next].Segment != found.Segment || entries[next].Line != found.Line) { // it skips what it cannot read
			next++
		}
		if err == nil {
			err = yield(Content{entries[next], found.Record})
		}
		if err != nil {
			return err
		}
		next++
	}
	return nil
}

// Unread is the entries whose records were not read.
type Unread map[string]Entry // by place, and position of the dependent

// NewUnread returns an Unread with all entries.
func NewUnread(entries []Entry) Unread {
	u := Unread{}
	for _, e := range entries {
		u[u.key(e)] = e
	}
	return u
}

func (u Unread) key(e Entry) string { return fmt.Sprint(e.Place(), " ", e.Dependent, " ", e.Position) }

// Remove notes that the record of an entry was read.
func (u Unread) Remove(e Entry) { delete(u, u.key(e)) }

// Newest returns when the newest record of each object was archived, by the String of its name. Dependents are as in the namespace of
// the object.
func (u Unread) Newest() map[string]time.Time {
	newest := map[string]time.Time{}
	for _, e := range u {
		names := []string{e.Object.String()}
		for _, d := range e.Dependents {
			kind, name, _ := strings.Cut(d, "/")
			if e.Namespace != "" {
				name = e.Namespace + "/" + name
			}
			names = append(names, kind+"/"+name)
		}
		for _, name := range names {
			if e.ArchivedAt.After(newest[name]) {
				newest[name] = e.ArchivedAt
			}
		}
	}
	return newest
}

// Manifest returns the archived object: that of the record, or a dependent.
func (c Content) Manifest() (*unstructured.Unstructured, error) {
	if c.Dependent == "" {
		return c.decode(c.Record.Object)
	}
	if c.Position >= len(c.Record.Dependents) {
		return nil, fmt.Errorf("the record of %s in %s has no dependent %s, although the index names it", c.Object, c.Place(), c.Dependent)
	}
	return c.decode(c.Record.Dependents[c.Position])
}

func (c Content) decode(document json.RawMessage) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(document, &o.Object); err != nil {
		return nil, fmt.Errorf("record of %s in %s: %w", c.Object, c.Place(), err)
	}
	return o, nil
}

// Document is a record in JSON and YAML, of kind ArchiveRecord.
type Document struct {
	metav1.TypeMeta `json:",inline"`
	Segment         string         `json:"segment"` // name of the object in the bucket that has the record
	Line            int            `json:"line"`    // of the segment; the first is 0
	Result          string         `json:"result"`  // as in an ArchivedObjectList
	ResultTime      time.Time      `json:"resultTime,omitzero"`
	Record          archive.Record `json:"record"`
}

// Document returns the whole record.
func (c Content) Document() *Document {
	return &Document{preview.TypeMeta("ArchiveRecord"), c.Segment, c.Line, c.Result, c.ResultTime, c.Record}
}

// ToRestore returns the objects of the record to restore: that of the record with its dependents, or the entry's dependent alone.
// archive is its name. Dependents are foreign if the object of the record does not own them or, with a namespace, if they are outside of
// it: who can write to the bucket could add them to a record. A restored object needs none of redact.Copies, so it does not lack them.
func (c Content) ToRestore(archive string, namespace *string) ([]restore.Record, error) {
	if _, err := c.Manifest(); err != nil {
		return nil, err
	}
	all, err := c.objects(archive)
	if err != nil {
		return nil, err
	}
	c.setForeign(all, namespace)
	if c.Dependent != "" {
		one := all[c.Position+1]
		one.Others = slices.Delete(all, c.Position+1, c.Position+2)
		return []restore.Record{one}, nil
	}
	var others []restore.Record
	restorable := []restore.Record{all[0]}
	for _, r := range all[1:] {
		if restore.IsViewOnly(r.Archived) {
			others = append(others, r)
		} else {
			restorable = append(restorable, r)
		}
	}
	restorable[0].Left = len(others)
	if len(restorable) > 1 { // they can be owners of these
		restorable[0].Others = others
	}
	return restorable, nil
}

// objects returns the object of the record, and its dependents.
func (c Content) objects(archive string) (all []restore.Record, err error) {
	r := restore.Record{From: archive + "/" + c.Place(), ArchivedAt: c.ArchivedAt, Outcome: c.Record.Outcome, Snapshot: c.Record.Snapshot}
	r.Redacted = slices.DeleteFunc(slices.Clone(c.Record.Redacted), func(path string) bool { return slices.Contains(redact.Copies, path) })
	for _, document := range slices.Concat([]json.RawMessage{c.Record.Object}, c.Record.Dependents) {
		if r.Archived, err = c.decode(document); err != nil {
			return nil, err
		}
		all = append(all, r)
		r.Outcome, r.Snapshot = "", "" // they are those of the object
	}
	return all, nil
}

// setForeign sets Foreign of the dependents.
func (c Content) setForeign(all []restore.Record, namespace *string) {
	owned := ownedBy(all[0].Archived, all)
	for i := range all {
		switch o := all[i].Archived; {
		case i == 0:
		case !owned[o]:
			all[i].Foreign = fmt.Sprintf("it is in the record of %s, which did not own it; Sunset does not write such a record: find out who can write to the bucket", c.Object)
		case namespace != nil && o.GetNamespace() != *namespace:
			all[i].Foreign = fmt.Sprintf("it is not in namespace %s; to restore it with its owner, use -A", *namespace)
		}
	}
}

// ownedBy returns an object and those that it owns, perhaps through others of them. As for garbage collection, an owner with a
// namespace has dependents only there.
func ownedBy(first *unstructured.Unstructured, all []restore.Record) map[*unstructured.Unstructured]bool {
	found, by := map[*unstructured.Unstructured]bool{}, map[types.UID][]*unstructured.Unstructured{}
	for _, r := range all {
		for _, owner := range r.Archived.GetOwnerReferences() {
			by[owner.UID] = append(by[owner.UID], r.Archived)
		}
	}
	var add func(*unstructured.Unstructured)
	add = func(owner *unstructured.Unstructured) {
		found[owner] = true
		for _, o := range by[owner.GetUID()] {
			if !found[o] && (owner.GetNamespace() == "" || owner.GetNamespace() == o.GetNamespace()) {
				add(o)
			}
		}
	}
	add(first)
	return found
}
