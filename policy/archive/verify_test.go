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
	store.objects["index/probe/x"] = nil
	store.objects["parquet/month=2026-11/20261127-1of1.parquet"] = nil

	last := 0
	r := &archive.Reader{Bucket: store, Identities: []age.Identity{key}}
	v, err := r.Verify(t.Context(), archive.Retention{}, noon, func(objects int) {
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
	v, err = (&archive.Reader{Bucket: store}).Verify(t.Context(), archive.Retention{}, noon, nil)
	expect.NoError(t, err)
	expect.Equal(t, "damaged without a key", 1, len(v.Damaged))
	expect.Equal(t, "missing without a key", 0, len(v.Missing))
}

// TestVerifyWithUnreadableIndex: an object that cannot be decrypted hides no segment that another index object names.
func TestVerifyWithUnreadableIndex(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	gone := w.write(noon, "shop", []string{"a"})
	w.flush(noon)
	other := newWriter(t, store, identity(t).Recipient())
	other.write(noon, "shop", []string{"b"})
	other.flush(noon)
	delete(store.objects, gone.Name)
	v, err := (&archive.Reader{Bucket: store}).Verify(t.Context(), archive.Retention{}, noon, nil)
	expect.NoError(t, err)
	expect.Equal(t, "missing", []string{gone.Name}, v.Missing)
	expect.Equal(t, "encrypted", 2, v.Encrypted)
	expect.Equal(t, "encrypted index objects", 1, v.EncryptedIndex)
	expect.Equal(t, "not indexed", 0, len(v.NotIndexed))
}

func TestVerifyOfNothing(t *testing.T) {
	v, err := (&archive.Reader{Bucket: newBucket()}).Verify(t.Context(), archive.Retention{}, noon, nil)
	expect.NoError(t, err)
	expect.Equal(t, "OK", true, v.OK())
}

// TestVerifyAfterRetain: a day of which only the index is left has expired, if the retention says so, or if no older segment is left. A
// day in the middle is lost, and so is one with a hold.
func TestVerifyAfterRetain(t *testing.T) {
	tenDays := archive.Retention{Retain: 10 * day}
	for name, test := range map[string]struct {
		keep    archive.Retention
		now     time.Time
		lost    []int // days that have only an index
		missing []int
	}{
		"retain is over":                        {tenDays, noon.Add(12 * day), []int{0, 1}, nil},
		"retain is over for the first":          {tenDays, noon.Add(11 * day), []int{0, 1}, []int{1}},
		"retain is not over":                    {tenDays, noon.Add(10 * day), []int{0}, []int{0}},
		"retain is over, with a hold":           {archive.Retention{Retain: day, Holds: []string{"segments/2026/11/27/"}}, noon.Add(12 * day), []int{0, 1}, []int{0}},
		"a lifecycle rule may have deleted it":  {archive.Retention{}, noon.Add(3 * day), []int{0, 1}, nil},
		"a day in the middle":                   {archive.Retention{}, noon.Add(3 * day), []int{1}, []int{1}},
		"an old day, and one in the middle":     {archive.Retention{}, noon.Add(3 * day), []int{0, 2}, []int{2}},
		"all days, without retain":              {archive.Retention{}, noon.Add(100 * day), []int{0, 1, 2, 3}, []int{0, 1, 2, 3}},
		"all days, and retain is over for most": {tenDays, noon.Add(13 * day), []int{0, 1, 2, 3}, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			store, names := newBucket(), []string{}
			for n := range 4 {
				at := noon.Add(time.Duration(n) * day)
				w := newWriter(t, store)
				names = append(names, w.write(at, "shop", []string{"a"}).Name)
				w.flush(at)
			}
			for _, n := range test.lost {
				delete(store.objects, names[n])
			}
			v, err := (&archive.Reader{Bucket: store}).Verify(t.Context(), test.keep, test.now, nil)
			expect.NoError(t, err)
			var missing []string
			for _, n := range test.missing {
				missing = append(missing, names[n])
			}
			expect.Equal(t, "missing", missing, v.Missing)
			expect.Equal(t, "expired", len(test.lost)-len(test.missing), v.Expired)
		})
	}
}
