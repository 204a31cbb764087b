// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"errors"
	"testing"

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
	store.objects["index/probe/x"] = nil
	store.objects["parquet/month=2026-11/20261127-1of1.parquet"] = nil

	last := 0
	r := &archive.Reader{Bucket: store, Identities: []age.Identity{key}}
	v, err := r.Verify(t.Context(), func(objects int) {
		expect.Equal(t, "progress", last+1, objects)
		last = objects
	})
	expect.NoError(t, err)
	expect.Equal(t, "progress", 4, last)
	expect.Equal(t, "segments", 3, v.Segments)
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
