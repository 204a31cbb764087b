// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"errors"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestVerify(t *testing.T) {
	key := identity(t)
	store := newBucket()
	w := newWriter(t, store, key.Recipient())
	w.write(noon, "shop", []string{"a", "b"})
	gone := w.write(noon, "shop", []string{"c"})
	w.flush(noon)
	w.index = nil
	notIndexed := w.write(noon.Add(day), "shop", []string{"d"})
	damaged := w.write(noon.Add(2*day), "shop", []string{"e"})
	delete(store.objects, gone.Name)
	store.objects[damaged.Name][100] ^= 1
	store.objects["segments/2026/11/27/x.tmp"] = nil
	store.objects["parquet/month=2026-11/20261127-1of1.parquet"] = nil

	var last archive.Progress
	r := &archive.Reader{Bucket: store, Identities: []age.Identity{key}}
	v, err := r.Verify(t.Context(), func(p archive.Progress) {
		if p.Done != last.Done+1 || p.Bytes < last.Bytes || p.Total != 4 {
			t.Errorf("progress %v after %v", p, last)
		}
		last = p
	})
	expect.NoError(t, err)
	expect.Equal(t, "progress", 4, last.Done)
	expect.Equal(t, "segments", 2, v.Segments)
	expect.Equal(t, "index objects", 1, v.IndexObjects)
	expect.Equal(t, "records", 3, v.Records)
	expect.Equal(t, "missing", []string{gone.Name}, v.Missing)
	expect.Equal(t, "not indexed", []string{notIndexed.Name, damaged.Name}, v.NotIndexed)
	expect.Equal(t, "unrelated", []string{"segments/2026/11/27/x.tmp"}, v.Unrelated)
	if len(v.Damaged) != 1 || !errors.Is(v.Damaged[0], archive.ErrCorrupt) || v.OK() {
		t.Errorf("damaged: %v", v.Damaged)
	}
	v, err = (&archive.Reader{Bucket: store}).Verify(t.Context(), nil)
	expect.NoError(t, err)
	expect.Equal(t, "damaged without a key", 1, len(v.Damaged))
	expect.Equal(t, "missing without a key", 0, len(v.Missing))
}

func TestVerifyOfNothing(t *testing.T) {
	v, err := (&archive.Reader{Bucket: newBucket()}).Verify(t.Context(), nil)
	expect.NoError(t, err)
	expect.Equal(t, "OK", true, v.OK())
}

// TestReindex: afterwards everything is indexed, and what is found is the same.
func TestReindex(t *testing.T) {
	key := identity(t)
	store := newBucket()
	w := newWriter(t, store, key.Recipient())
	s := w.write(noon, "shop", []string{"a"})
	w.index.Finish(s.Name, 0, archive.Deleted, noon)
	w.flush(noon)
	w.index = nil
	w.write(noon.Add(time.Hour), "shop", []string{"b"})
	w.write(noon.Add(day), "shop", []string{"c"})
	r := &archive.Reader{Bucket: store, Identities: []age.Identity{key}}
	if _, err := (&archive.Reader{Bucket: store}).Reindex(t.Context(), nil, noon, nil); !errors.Is(err, archive.ErrEncrypted) {
		t.Errorf("without a key: %v", err)
	}
	for _, want := range []int{2, 0} {
		n, err := r.Reindex(t.Context(), []age.Recipient{key.Recipient()}, noon.Add(2*day), nil)
		expect.NoError(t, err)
		expect.Equal(t, "added", want, n)
		v, err := r.Verify(t.Context(), nil)
		expect.NoError(t, err)
		expect.Equal(t, "not indexed", 0, len(v.NotIndexed))
		expect.Equal(t, "found", "c@7: b@7: a@7:deleted", find(t, r, archive.Query{}))
	}
}
