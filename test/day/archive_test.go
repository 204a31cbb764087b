// SPDX-License-Identifier: Apache-2.0

package day_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/archives"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// history is the RetentionArchive of Snapshots.
var history = &v1alpha1.RetentionArchive{
	ObjectMeta: metav1.ObjectMeta{Name: "history", UID: "uid-history", Generation: 1}, Spec: v1alpha1.ArchiveSpec{URL: "mem://history"},
}

// onlyHistory is a client of RetentionArchives, whose status no test reads. A fake client would take most of the time of the test.
type onlyHistory struct{ client.Client }

func (onlyHistory) List(_ context.Context, l client.ObjectList, _ ...client.ListOption) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(history)
	l.(*unstructured.UnstructuredList).Items = []unstructured.Unstructured{{Object: object}}
	return err
}

func (onlyHistory) Status() client.SubResourceWriter { return noStatus{} }

// noStatus forgets each status.
type noStatus struct{ client.SubResourceWriter }

func (noStatus) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}

// bucket is the store of the archive, in memory. All processes share it.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	records map[version]bool // in segments
	fails   bool             // requests fail; half of the writes have their effect nevertheless
	decoder *zstd.Decoder
}

// version is a version of an object.
type version struct {
	uid             types.UID
	resourceVersion string
}

func versionOf(o *thing) version { return version{o.uid, strconv.Itoa(o.version)} }

func newBucket() *bucket {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return &bucket{objects: map[string][]byte{}, records: map[version]bool{}, decoder: decoder}
}

// put stores an object. It reads records as docs/reference/archive-format.md says.
func (b *bucket) put(name string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known, ok := b.objects[name]; ok && !bytes.Equal(known, data) {
		return fmt.Errorf("%s: %w", name, archive.ErrCorrupt)
	}
	b.objects[name] = bytes.Clone(data)
	if !strings.HasPrefix(name, "segments/") {
		return nil
	}
	text, err := b.decoder.DecodeAll(data, nil)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		var record struct{ Object metav1.PartialObjectMetadata }
		if err := json.Unmarshal(line, &record); err != nil {
			return err
		}
		b.records[version{record.Object.UID, record.Object.ResourceVersion}] = true
	}
	return nil
}

// has reports whether the archive has a record of the current version of a thing.
func (b *bucket) has(o *thing) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.records[versionOf(o)]
}

func (b *bucket) setFails(fails bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails = fails
}

// shelf is the bucket as one process reaches it. It implements archives.Store.
type shelf struct {
	*bucket
	process *process
}

var errDown = errors.New("the store does not answer")

// ask does a request with a delay. It may fail before or after its effect.
func (s shelf) ask(do func() error) error {
	server := s.process.server
	server.wait(40 * time.Millisecond)
	s.mu.Lock()
	fails := s.fails
	s.mu.Unlock()
	switch {
	case s.process.dead.Load():
		return errCut
	case fails && server.chance(500), server.chance(3):
		return errDown
	}
	err := do()
	if fails || s.process.dead.Load() || server.chance(3) {
		return errLost
	}
	return err
}

func (s shelf) Write(_ context.Context, name string, data []byte) error {
	return s.ask(func() error { return s.put(name, data) })
}

func (s shelf) Delete(_ context.Context, name string) error {
	return s.ask(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.objects, name)
		return nil
	})
}

func (s shelf) Read(_ context.Context, name string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.objects[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, archive.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (s shelf) List(_ context.Context, prefix string) iter.Seq2[archive.Entry, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []archive.Entry
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(name, prefix) {
			all = append(all, archive.Entry{Name: name, Size: int64(len(s.objects[name]))})
		}
	}
	return func(yield func(archive.Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s shelf) Probe(context.Context) store.Probe {
	err := s.ask(func() error { return nil })
	return store.Probe{Write: err, Read: err, Delete: err}
}

func (s shelf) Close() error { return nil }

// open implements archives.Opener.
func (p *process) open(context.Context, string, map[string][]byte) (archives.Store, error) {
	return shelf{p.bucket, p}, nil
}

// leading is the lease of a process: it ends before another process leads.
type leading struct{ *process }

func (l leading) Check() error {
	if l.latest.Load() != l.process {
		return errors.New("another process leads")
	}
	return l.process.Check()
}

// agree compares the archive with the ledger and with the deletions.
func (d *day) agree(l *v1alpha1.RetentionLedger) {
	found, err := (&archive.Reader{Bucket: shelf{bucket: d.bucket}}).Find(d.Context(), archive.Query{})
	if err != nil {
		d.Error(err)
	}
	results, outcomes := map[version]archive.Result{}, map[string]int64{}
	for _, m := range found {
		v := version{m.UID, m.ResourceVersion}
		if before, known := results[v]; known && before != m.Result {
			d.Errorf("records of one version have the results %q and %q: %v", before, m.Result, m)
		} else if !known && counts(m.Result) {
			outcomes[m.Outcome]++
		}
		results[v] = m.Result
	}
	for v := range d.removals {
		if !counts(results[v]) {
			d.Errorf("Sunset deleted %v, and its record has the result %q", v, results[v])
		}
	}
	for v, result := range results {
		if result == archive.Deleted && !d.removals[v] {
			d.Errorf("the record of %v has the result %q, and Sunset has not deleted this version", v, result)
		}
		if counts(result) && slices.ContainsFunc(d.all[snapshots], func(o *thing) bool { return o.uid == v.uid }) {
			d.Errorf("the record of %v has the result %q, and the object exists", v, result)
		}
	}
	ledger := map[string]int64{}
	for _, r := range l.Rules {
		for _, o := range r.Outcomes {
			ledger[o.Name] = o.Deleted + o.Gone
		}
	}
	if !maps.Equal(ledger, outcomes) {
		d.Errorf("the ledger counts %v, and the index of the archive has %v as deleted or gone; open are %v", ledger, outcomes, l.Open)
	}
	d.Logf("%d versions of Snapshots recorded, %v of them deleted or gone", len(results), outcomes)
}

// counts reports whether a ledger counts a result.
func counts(r archive.Result) bool { return r == archive.Deleted || r == archive.Gone }
