// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestFlushReplaces: each day has one index object, however often it is flushed.
func TestFlushReplaces(t *testing.T) {
	key := identity(t)
	for name, recipients := range map[string][]age.Recipient{"plain": nil, "encrypted": {key.Recipient()}} {
		t.Run(name, func(t *testing.T) {
			store := newBucket()
			w := newWriter(t, store, recipients...)
			for i := range 10 {
				at := noon.Add(time.Duration(i) * time.Minute)
				s := w.write(at, "shop", []string{fmt.Sprint("a", i)})
				w.index.Finish(s.Name, 0, archive.Deleted, at)
				w.flush(at)
			}
			expect.Equal(t, "index objects", 1, len(store.names("index/")))
			w.flush(noon.Add(time.Hour))
			expect.Equal(t, "index objects", 1, len(store.names("index/")))
			for _, s := range store.names("segments/") {
				store.objects[s] = nil // only the index is read
			}
			got := find(t, &archive.Reader{Bucket: store, Identities: []age.Identity{key}}, archive.Query{})
			expect.Equal(t, "found", 10, strings.Count(got, ":deleted"))
		})
	}
}

// TestFlushBounds: an index object that is large enough is complete, and the next lines begin another.
func TestFlushBounds(t *testing.T) {
	store := newBucket()
	manySegments(t, store, 150)
	index := store.names("index/")
	if len(index) < 2 {
		t.Fatalf("%d index objects", len(index))
	}
	for _, name := range index {
		if n := len(store.objects[name]); n > 3<<18 {
			t.Errorf("%s has %d bytes", name, n)
		}
	}
}

func TestFlushFails(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	s := w.write(noon, "shop", []string{"a", "b"})
	w.index.Finish(s.Name, 0, archive.Deleted, noon)
	store.fail = errors.New("the store is down")
	if err := w.index.Flush(t.Context(), noon); !errors.Is(err, store.fail) {
		t.Fatalf("error %v", err)
	}
	expect.Equal(t, "index objects", 0, len(store.names("index/")))
	w.index.Finish(s.Name, 1, archive.Gone, noon)
	store.fail = nil
	w.flush(noon)
	expect.Equal(t, "found", "b@7:gone a@7:deleted", find(t, &archive.Reader{Bucket: store}, archive.Query{}))
}

// TestFlushRefused: if the store refuses to delete, index objects do not grow.
func TestFlushRefused(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	store.refuse = true
	for i := range 5 {
		w.write(noon.Add(time.Duration(i)*time.Second), "shop", []string{fmt.Sprint("a", i)})
		w.flush(noon.Add(time.Duration(i) * time.Second))
	}
	index := store.names("index/")
	expect.Equal(t, "index objects", 5, len(index))
	if first, last := len(store.objects[index[2]]), len(store.objects[index[4]]); last > first*5/4 {
		t.Errorf("index objects grow: %d, then %d bytes", first, last)
	}
	expect.Equal(t, "found", "a4@7: a3@7: a2@7: a1@7: a0@7:", find(t, &archive.Reader{Bucket: store}, archive.Query{}))
}

// TestCrashes omits any writes and deletions at the end of a history, as a crash does. The index still finds each segment of the
// bucket, and results are only lost.
func TestCrashes(t *testing.T) {
	for seed := range uint64(15) {
		random := rand.New(rand.NewPCG(seed, 1))
		store := newBucket()
		w := newWriter(t, store)
		deleted := map[string]bool{}
		for i := range 12 {
			at := noon.Add(time.Duration(i) * 7 * time.Hour)
			name := fmt.Sprint("a", i)
			s := w.write(at, "shop", []string{name})
			if random.IntN(2) == 0 {
				w.index.Finish(s.Name, 0, archive.Deleted, at)
				deleted[name] = true
			}
			store.refuse = random.IntN(3) == 0
			switch random.IntN(3) {
			case 0:
				w.flush(at)
			case 1: // the process ends, and the next one begins
				w.index = archive.NewIndexer(store)
			}
		}
		found, err := (&archive.Reader{Bucket: store}).Find(t.Context(), archive.Query{})
		expect.NoError(t, err)
		for _, m := range found {
			if m.Result == archive.Deleted && !deleted[m.Name] || m.Result != "" && m.Result != archive.Deleted {
				t.Errorf("seed %d: %s has result %q", seed, m.Name, m.Result)
			}
		}
		expect.Equal(t, "found", 12, len(found))
	}
}

// TestFinishVersion: an Indexer that does not know the records of a version adds its result, also a day later.
func TestFinishVersion(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	w.write(noon, "shop", []string{"a", "b", "a@8"})
	s := w.write(noon.Add(time.Second), "shop", []string{"a", "c"})
	w.index.Finish(s.Name, 1, archive.Deleted, noon)
	w.flush(noon)
	w.index = archive.NewIndexer(store) // the process has ended
	o, _ := subject("shop", "a", "7")
	other, _ := subject("shop", "c", "7")
	later := noon.Add(13 * time.Hour)
	w.index.FinishVersion(o.UID, "7", archive.Gone, later)
	w.index.FinishVersion(other.UID, "7", archive.Gone, later)
	w.index.FinishVersion("uid-without-records", "7", archive.Gone, later)
	w.flush(later)
	r := &archive.Reader{Bucket: store}
	expect.Equal(t, "found", "c@7:deleted a@7:gone a@8: b@7:", find(t, r, archive.Query{}))
	expect.Equal(t, "found on the day", "c@7:deleted a@7:gone a@8: b@7:", find(t, r, archive.Query{Since: noon.Add(-time.Hour), Until: noon.Add(time.Hour)}))
	v, err := r.Verify(t.Context(), archive.Retention{}, noon, nil)
	expect.NoError(t, err)
	expect.Equal(t, "verified", true, v.OK())
}

// TestNewRecipients: what was not written, also after an error, is encrypted for the new recipients, and written objects stay.
func TestNewRecipients(t *testing.T) {
	key := identity(t)
	store := newBucket()
	w := newWriter(t, store)
	w.write(noon, "shop", []string{"a"})
	w.flush(noon)
	s := w.write(noon.Add(time.Second), "shop", []string{"b"})
	store.fail = errors.New("the store is down")
	if err := w.index.Flush(t.Context(), noon); !errors.Is(err, store.fail) {
		t.Fatalf("error %v", err)
	}
	store.fail = nil
	w.index.Finish(s.Name, 0, archive.Deleted, noon)
	w.index.Use(key.Recipient())
	w.flush(noon)
	w.flush(noon)
	index := store.names("index/")
	expect.Equal(t, "index objects", 2, len(index))
	expect.Equal(t, "encrypted", 1, strings.Count(strings.Join(index, " "), ".age"))
	for _, s := range store.names("segments/") {
		store.objects[s] = nil // only the index is read
	}
	expect.Equal(t, "found", "b@7:deleted a@7:", find(t, &archive.Reader{Bucket: store, Identities: []age.Identity{key}}, archive.Query{}))
}

func TestConcurrentUse(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	s := w.write(noon, "shop", []string{"a", "b"})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			w.index.Finish(s.Name, 0, archive.Deleted, noon)
			w.index.Finish(s.Name, 1, archive.Gone, noon)
		}
	}()
	for range 20 {
		w.flush(noon)
	}
	<-done
	w.flush(noon)
	expect.Equal(t, "found", "b@7:gone a@7:deleted", find(t, &archive.Reader{Bucket: store}, archive.Query{}))
}
