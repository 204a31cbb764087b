// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// bucket is a Bucket in memory.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	reads   []string // names, in the order of Read
	refuse  bool     // to delete
	fail    error    // of every write
	onRead  func(name string)
	onList  func(prefix string)
	ghosts  []string // listed, and not found
}

func newBucket() *bucket { return &bucket{objects: map[string][]byte{}} }

func (b *bucket) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	if b.onRead != nil {
		b.onRead(name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads = append(b.reads, name)
	data, ok := b.objects[name]
	if !ok {
		return nil, fmt.Errorf("object %q: %w", name, archive.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(data)), ctx.Err()
}

func (b *bucket) names(prefix string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := slices.Sorted(maps.Keys(b.objects))
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, prefix) })
}

func (b *bucket) List(_ context.Context, prefix string) iter.Seq2[archive.Entry, error] {
	if b.onList != nil {
		b.onList(prefix)
	}
	return func(yield func(archive.Entry, error) bool) {
		for _, ghost := range b.ghosts {
			if strings.HasPrefix(ghost, prefix) && !yield(archive.Entry{Name: ghost}, nil) {
				return
			}
		}
		for _, n := range b.names(prefix) {
			if !yield(archive.Entry{Name: n}, nil) {
				return
			}
		}
	}
}

func (b *bucket) Write(_ context.Context, name string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return b.fail
	}
	if old, ok := b.objects[name]; ok && !bytes.Equal(old, data) {
		return fmt.Errorf("object %q exists", name)
	}
	b.objects[name] = bytes.Clone(data)
	return nil
}

func (b *bucket) Delete(_ context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse {
		return fmt.Errorf("object %q: %w", name, archive.ErrRefused)
	}
	delete(b.objects, name)
	return nil
}

// subject is a Job, and a record of it.
func subject(namespace, name, version string) (audit.Object, archive.Record) {
	o := audit.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name), ResourceVersion: version}
	return o, archive.Record{ArchivedAt: noon, Policy: "batch", PolicyUID: "p", Rule: "jobs", Due: noon.Add(-time.Minute), Reason: "Expired", Object: jobOf(o)}
}

func jobOf(o audit.Object) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":%q,`+
		`"labels":{"app":%q}},"spec":{"parallelism":1}}`, o.Name, o.Namespace, o.UID, o.ResourceVersion, o.Name))
}

// edit changes the record of a subject.
type edit func(*archive.Record)

// writer writes segments with some records each.
type writer struct {
	t          testing.TB
	bucket     archive.Bucket
	recipients []age.Recipient
	index      *archive.Indexer // nil: segments are not indexed
}

func newWriter(t testing.TB, b archive.Bucket, recipients ...age.Recipient) *writer {
	return &writer{t: t, bucket: b, recipients: recipients, index: archive.NewIndexer(b, recipients...)}
}

// write writes one segment with the objects of a namespace. Names are NAME or NAME@VERSION.
func (w *writer) write(at time.Time, namespace string, names []string, edits ...edit) archive.Segment {
	w.t.Helper()
	b := archive.NewBuilder(w.recipients...)
	for _, name := range names {
		name, version, _ := strings.Cut(name, "@")
		if version == "" {
			version = "7"
		}
		o, r := subject(namespace, name, version)
		r.ArchivedAt = at
		for _, edit := range edits {
			edit(&r)
		}
		_, err := b.Add(o, r)
		expect.NoError(w.t, err)
	}
	s, err := b.Seal(at)
	expect.NoError(w.t, err)
	expect.NoError(w.t, w.bucket.Write(w.t.Context(), s.Name, s.Data))
	if w.index != nil {
		w.index.Add(s)
	}
	return s
}

func (w *writer) flush(at time.Time) {
	w.t.Helper()
	expect.NoError(w.t, w.index.Flush(w.t.Context(), at))
}

// find is what a query finds, each as NAME@VERSION:RESULT. FindEach must find the same.
func find(t testing.TB, r *archive.Reader, q archive.Query) string {
	t.Helper()
	var all []string
	found, err := r.Find(t.Context(), q)
	expect.NoError(t, err)
	expect.Equal(t, "found by FindEach", found, findEach(t, r, q))
	for _, m := range found {
		all = append(all, m.Name+"@"+m.ResourceVersion+":"+string(m.Result))
	}
	return strings.Join(all, " ")
}

func findEach(t testing.TB, r *archive.Reader, q archive.Query) (found []archive.Meta) {
	t.Helper()
	expect.NoError(t, r.FindEach(t.Context(), q, func(metas []archive.Meta) error {
		found = append(found, metas...)
		return nil
	}))
	slices.SortFunc(found, archive.CompareNewest)
	return found
}

// get reads one record.
func get(t testing.TB, r *archive.Reader, m archive.Meta) (archive.Record, error) {
	t.Helper()
	for f, err := range r.Each(t.Context(), []archive.Meta{m}) {
		return f.Record, err
	}
	return archive.Record{}, errors.New("no record and no error")
}

func identity(t testing.TB) *age.X25519Identity {
	t.Helper()
	i, err := age.GenerateX25519Identity()
	expect.NoError(t, err)
	return i
}

// anything is a random JSON value.
func anything(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n < 2 && depth > 0:
		m := map[string]any{}
		for range r.IntN(4) {
			m[text(r)] = anything(r, depth-1)
		}
		return m
	case n < 4 && depth > 0:
		l := make([]any, 0, 3)
		for range r.IntN(4) {
			l = append(l, anything(r, depth-1))
		}
		return l
	case n == 4:
		return r.NormFloat64()
	case n == 5:
		return nil
	case n == 6:
		return r.IntN(2) == 0
	default:
		return text(r)
	}
}

// text is a random text with characters that JSON and HTML escape.
func text(r *rand.Rand) string {
	const characters = "ab/<>&\"\\\n\t\u2028ü語 \x00"
	var b strings.Builder
	all := []rune(characters)
	for range r.IntN(12) {
		b.WriteRune(all[r.IntN(len(all))])
	}
	return b.String()
}
