// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/stores"
)

// kinds are the stores of these tests.
var kinds = map[string]func(testing.TB) *stores.Store{"S3": stores.S3, "GCS": stores.GCS, "files": stores.Files}

// opened opens a prefix of a store, as the controller does.
func opened(t *testing.T, s *stores.Store, prefix string) *store.Store {
	t.Helper()
	return openedAt(t, s.URL(prefix), s.Credentials)
}

func openedAt(t *testing.T, url string, credentials map[string][]byte) *store.Store {
	t.Helper()
	b, err := store.Open(t.Context(), url, credentials)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func read(t *testing.T, b archive.Bucket, name string) ([]byte, error) {
	t.Helper()
	r, err := b.Read(t.Context(), name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(r)
}

func names(t *testing.T, b archive.Bucket, prefix string) []string {
	t.Helper()
	var all []string
	for e, err := range b.List(t.Context(), prefix) {
		expect.NoError(t, err)
		all = append(all, e.Name)
	}
	return all
}

// TestStore is what every store must do. The subtests of one store share it, each with a prefix of its own where the store has
// prefixes.
func TestStore(t *testing.T) {
	for kind, start := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			for name, test := range map[string]func(*testing.T, archive.Bucket){
				"what was written can be read":                       roundTrip,
				"a second writer of a name does not replace it":      secondWriter,
				"the same bytes can be written again":                again,
				"of many writers of one name, one wins":              manyWriters,
				"more than one page is listed in the order of names": pages(map[string]int{"S3": 1100, "GCS": 100, "files": 1100}[kind]), // fake-gcs-server is slow
				"a deleted object is gone, and can be deleted again": deletes,
				"an object that does not exist is not found":         notFound,
				"a write that is cancelled writes nothing":           cancelled,
			} {
				t.Run(name, func(t *testing.T) {
					if kind == "files" {
						s = stores.Files(t)
					}
					test(t, opened(t, s, fmt.Sprintf("prefix-%d", len(name))))
				})
			}
		})
	}
}

func roundTrip(t *testing.T, b archive.Bucket) {
	for _, size := range []int{0, 1, 70_000, 6 << 20} {
		data, name := bytes.Repeat([]byte("0123456\n"), size/8), fmt.Sprintf("segments/2026/11/27/%d", size)
		expect.NoError(t, b.Write(t.Context(), name, data))
		got, err := read(t, b, name)
		expect.NoError(t, err)
		if !bytes.Equal(got, data) {
			t.Errorf("%d bytes were written, and %d other bytes read", len(data), len(got))
		}
	}
}

func secondWriter(t *testing.T, b archive.Bucket) {
	expect.NoError(t, b.Write(t.Context(), "segments/a", []byte("first")))
	if err := b.Write(t.Context(), "segments/a", []byte("other")); !errors.Is(err, archive.ErrCorrupt) {
		t.Errorf("the second write returned %v", err)
	}
	got, err := read(t, b, "segments/a")
	expect.NoError(t, err)
	expect.Equal(t, "content", "first", string(got))
}

func again(t *testing.T, b archive.Bucket) {
	for range 2 {
		expect.NoError(t, b.Write(t.Context(), "segments/a", []byte("first")))
	}
}

func manyWriters(t *testing.T, b archive.Bucket) {
	results := make(chan error, 8)
	for i := range cap(results) {
		go func() { results <- b.Write(t.Context(), "segments/a", fmt.Appendf(nil, "writer %d", i)) }()
	}
	won := 0
	for range cap(results) {
		switch err := <-results; {
		case err == nil:
			won++
		case !errors.Is(err, archive.ErrCorrupt):
			t.Logf("a writer that lost: %v", err) // some stores answer a conflict instead
		}
	}
	expect.Equal(t, "writers that won", 1, won)
}

// pages writes and lists n objects. A page has 1000.
func pages(n int) func(*testing.T, archive.Bucket) {
	return func(t *testing.T, b archive.Bucket) { listed(t, b, n) }
}

func listed(t *testing.T, b archive.Bucket, n int) {
	var want []string
	turns := make(chan struct{}, 16)
	failed := make(chan error, n)
	for i := range n {
		name := fmt.Sprintf("segments/2026/11/%02d/%04d", i%28+1, i)
		want = append(want, name)
		go func() {
			turns <- struct{}{}
			failed <- b.Write(t.Context(), name, []byte("x"))
			<-turns
		}()
	}
	for range n {
		expect.NoError(t, <-failed)
	}
	expect.NoError(t, b.Write(t.Context(), "index/2026/11/01/x", []byte("x")))
	slices.Sort(want)
	expect.Equal(t, "names", want, names(t, b, "segments/"))
	expect.Equal(t, "names of a day", (n+27)/28, len(names(t, b, "segments/2026/11/01/")))
	expect.Equal(t, "objects with another prefix", 0, len(names(t, b, "nothing/")))
	for e, err := range b.List(t.Context(), "segments/") { // a reader can stop
		expect.NoError(t, err)
		expect.Equal(t, "first object", archive.Entry{Name: want[0], Size: 1}, e)
		break
	}
}

func deletes(t *testing.T, b archive.Bucket) {
	expect.NoError(t, b.Write(t.Context(), "segments/a", []byte("x")))
	for range 2 {
		expect.NoError(t, b.Delete(t.Context(), "segments/a"))
	}
	if _, err := read(t, b, "segments/a"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("reading a deleted object returns %v", err)
	}
}

func notFound(t *testing.T, b archive.Bucket) {
	if _, err := read(t, b, "segments/none"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

func cancelled(t *testing.T, b archive.Bucket) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Write(ctx, "segments/a", []byte("x")); err == nil {
		t.Error("a cancelled write succeeded")
	}
	expect.Equal(t, "objects", 0, len(names(t, b, "")))
}

// TestProbe says what a store can do.
func TestProbe(t *testing.T) {
	for kind, start := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := opened(t, start(t), "probed")
			p := b.Probe(t.Context())
			expect.NoError(t, errors.Join(p.Write, p.Read, p.Delete))
			expect.Equal(t, "objects that the probe left", 0, len(names(t, b, "")))
		})
	}
}

// TestUnusable are stores that cannot be used: every operation is an error, and no error has a key.
func TestUnusable(t *testing.T) {
	s3, gcs := stores.S3(t), stores.GCS(t)
	wrong := map[string][]byte{"AWS_ACCESS_KEY_ID": []byte(stores.AccessKey), "AWS_SECRET_ACCESS_KEY": []byte("not-the-secret-key")}
	unmounted := filepath.Join(t.TempDir(), "unmounted")
	stopped := stores.S3(t)
	stopped.Kill()
	for name, test := range map[string]struct {
		url         string
		credentials map[string][]byte
	}{
		"the key is wrong":                   {s3.URL("x"), wrong},
		"the bucket does not exist":          {replaced(s3.URL("x")), s3.Credentials},
		"the bucket does not exist in GCS":   {replaced(gcs.URL("x")), nil},
		"the server has stopped":             {stopped.URL("x"), stopped.Credentials},
		"the directory is not mounted there": {"file://" + unmounted, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := store.Open(t.Context(), test.url, test.credentials)
			if err == nil {
				defer func() { _ = b.Close() }()
				ctx, cancel := context.WithTimeout(t.Context(), retriesMost)
				defer cancel()
				p := b.Probe(ctx)
				if p.Write == nil || p.Read == nil || p.Delete == nil {
					t.Errorf("the probe reports %+v", p)
				}
				err = b.Write(ctx, "segments/a", []byte("x"))
			}
			if err == nil {
				t.Fatal("no error")
			}
			if bytes.Contains([]byte(err.Error()), wrong["AWS_SECRET_ACCESS_KEY"]) {
				t.Errorf("the error has the key: %v", err)
			}
			t.Log(err)
		})
	}
	if _, err := os.Stat(unmounted); err == nil {
		t.Error("a directory that does not exist was created")
	}
}
