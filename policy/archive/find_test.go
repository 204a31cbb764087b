// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
)

const day = 24 * time.Hour

// TestQuery: the same objects are found with the index and without it.
func TestQuery(t *testing.T) {
	job, pod := schema.GroupKind{Group: "batch", Kind: "Job"}, schema.GroupKind{Kind: "Pod"}
	shop, none := "shop", ""
	selector, err := labels.Parse("app=a")
	expect.NoError(t, err)
	notA, err := labels.Parse("app!=a,app in (b,c)")
	expect.NoError(t, err)
	for name, test := range map[string]struct {
		query archive.Query
		want  string
	}{
		"everything, the newest first":           {archive.Query{}, "late@7: clear@7: d@7: c@7: b@7: a@7:"},
		"by name":                                {archive.Query{Name: "b"}, "b@7:"},
		"by part of a name":                      {archive.Query{Name: "la"}, ""},
		"by kind":                                {archive.Query{Kind: job}, "late@7: clear@7: d@7: c@7: b@7: a@7:"},
		"by kind of another group":               {archive.Query{Kind: schema.GroupKind{Kind: "Job"}}, ""},
		"by kind of a dependent":                 {archive.Query{Kind: pod}, "d@7: c@7:"},
		"by name of a dependent":                 {archive.Query{Kind: pod, Name: "c-1"}, "d@7: c@7:"},
		"by name of the owner and kind":          {archive.Query{Kind: pod, Name: "c"}, ""},
		"by namespace":                           {archive.Query{Namespace: &shop}, "late@7: b@7: a@7:"},
		"cluster-scoped":                         {archive.Query{Namespace: &none}, "clear@7:"},
		"by UID":                                 {archive.Query{UID: "uid-web-c"}, "c@7:"},
		"by label":                               {archive.Query{Selector: selector}, "a@7:"},
		"by labels that differ":                  {archive.Query{Selector: notA}, "c@7: b@7:"},
		"by policy":                              {archive.Query{Policy: "batch"}, "late@7: clear@7: b@7: a@7:"},
		"by policy with a namespace":             {archive.Query{Policy: "web/own"}, "d@7: c@7:"},
		"since":                                  {archive.Query{Since: noon}, "late@7: clear@7: d@7: c@7:"},
		"until":                                  {archive.Query{Until: noon}, "b@7: a@7:"},
		"from midnight to midnight":              {archive.Query{Since: noon.Add(-12 * time.Hour), Until: noon.Add(12 * time.Hour)}, "late@7: clear@7: d@7: c@7:"},
		"a record in the segment of a day later": {archive.Query{Since: noon.Add(time.Hour), Until: noon.Add(12 * time.Hour)}, "late@7:"},
		"nothing of later":                       {archive.Query{Since: noon.Add(48 * time.Hour), Until: noon.Add(72 * time.Hour)}, ""},
		"years":                                  {archive.Query{Until: noon.Add(5000 * day)}, "late@7: clear@7: d@7: c@7: b@7: a@7:"},
		"by a name with characters of JSON":      {archive.Query{Name: `a"`}, ""},
		"nothing by several":                     {archive.Query{Name: "a", Namespace: &none}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, indexed := range []bool{true, false} {
				store := newBucket()
				someDays(t, store, indexed)
				expect.Equal(t, fmt.Sprint("found, indexed: ", indexed), test.want, find(t, &archive.Reader{Bucket: store}, test.query))
			}
		})
	}
}

// someDays writes records of two days.
func someDays(t *testing.T, store *bucket, indexed bool) {
	w := newWriter(t, store)
	later := noon
	oneLater := func(r *archive.Record) { later = later.Add(time.Second); r.ArchivedAt = later }
	yesterday := func(r *archive.Record) { oneLater(r); r.ArchivedAt = r.ArchivedAt.Add(-day) }
	w.write(noon.Add(-day), "shop", []string{"a", "b"}, yesterday)
	w.write(noon.Add(time.Minute), "web", []string{"c", "d"}, oneLater, func(r *archive.Record) {
		r.Policy = "web/own"
		r.Dependents = []json.RawMessage{json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c-1"}}`)}
	})
	w.write(noon.Add(time.Minute), "", []string{"clear"}, oneLater)
	w.write(noon.Add(12*time.Hour), "shop", []string{"late"}, func(r *archive.Record) { r.ArchivedAt = noon.Add(12*time.Hour - time.Second) })
	if indexed {
		w.flush(noon.Add(13 * time.Hour))
	}
}

func TestFindCollapses(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	first := w.write(noon, "shop", []string{"a@1", "b@1"})
	second := w.write(noon.Add(time.Minute), "shop", []string{"a@1", "b@2"})
	w.write(noon.Add(2*day), "shop", []string{"a@1"})
	w.index.Finish(first.Name, 0, archive.Deleted, noon)
	w.index.Finish(first.Name, 1, archive.Kept, noon)
	w.index.Finish(second.Name, 1, archive.Deleted, noon)
	w.flush(noon)
	r := &archive.Reader{Bucket: store}
	expect.Equal(t, "found", "a@1:deleted b@2:deleted b@1:kept", find(t, r, archive.Query{}))
	expect.Equal(t, "found until", "b@2:deleted a@1:deleted b@1:kept", find(t, r, archive.Query{Until: noon.Add(day)}))
}

func TestResults(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	s := w.write(noon, "shop", []string{"a", "b", "c", "d", "e"})
	w.flush(noon)
	w.index.Finish(s.Name, 0, archive.Unknown, noon)
	w.index.Finish(s.Name, 0, archive.Deleted, noon.Add(time.Second))
	w.index.Finish(s.Name, 1, archive.Gone, noon)
	w.index.Finish(s.Name, 1, archive.Unknown, noon)
	w.flush(noon.Add(time.Minute))
	w.index.Finish(s.Name, 1, archive.Kept, noon) // loses against gone, also from another index object
	w.index.Finish(s.Name, 2, archive.Deleted, noon.Add(day))
	w.index.Finish(s.Name, 3, archive.Gone, noon.Add(day))
	w.flush(noon.Add(8 * day))
	r := &archive.Reader{Bucket: store}
	want := "e@7: d@7:gone c@7:deleted b@7:gone a@7:deleted"
	expect.Equal(t, "all", want, find(t, r, archive.Query{}))
	expect.Equal(t, "of a time", want, find(t, r, archive.Query{Since: noon.Add(-day), Until: noon.Add(time.Second)}))
	found, err := r.Find(t.Context(), archive.Query{Name: "a"})
	expect.NoError(t, err)
	expect.Equal(t, "time of the result", noon.Add(time.Second), found[0].ResultAt)
}

// TestFindReadsFewObjects: with an index, Find reads index objects of the days of the query, and no segment.
func TestFindReadsFewObjects(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	for d := range 40 {
		w.write(noon.Add(time.Duration(d)*day), "shop", []string{fmt.Sprint("a", d)})
		w.flush(noon.Add(time.Duration(d) * day))
	}
	r := &archive.Reader{Bucket: store}
	found, err := r.Find(t.Context(), archive.Query{Since: noon.Add(20 * day), Until: noon.Add(22 * day)})
	expect.NoError(t, err)
	expect.Equal(t, "found", 2, len(found))
	for _, name := range store.reads {
		if !strings.HasPrefix(name, "index/2026/12/") {
			t.Errorf("read %s", name)
		}
	}
	if len(store.reads) > 4+7 { // results may come up to a week later
		t.Errorf("read %d objects", len(store.reads))
	}
}

// TestFindWhileTheIndexChanges: an index object that is replaced between the listing and its reading is not missed.
func TestFindWhileTheIndexChanges(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	w.write(noon, "shop", []string{"a"})
	w.flush(noon)
	replaced := false
	store.onRead = func(string) {
		if !replaced {
			replaced = true
			w.write(noon.Add(time.Second), "shop", []string{"b"})
			w.flush(noon.Add(time.Minute))
		}
	}
	expect.Equal(t, "found", "b@7: a@7:", find(t, &archive.Reader{Bucket: store}, archive.Query{}))
}

// TestFindWhileSegmentsAreListed: that takes longer than an index object lives.
func TestFindWhileSegmentsAreListed(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	w.write(noon, "shop", []string{"a"})
	w.flush(noon)
	i := 0
	store.onList = func(prefix string) {
		if prefix == archive.SegmentPrefix {
			i++
			w.write(noon.Add(time.Duration(i)*time.Second), "shop", []string{fmt.Sprint("b", i)})
			w.flush(noon.Add(time.Duration(i) * time.Minute))
		}
	}
	found, err := (&archive.Reader{Bucket: store}).Find(t.Context(), archive.Query{})
	expect.NoError(t, err)
	expect.Equal(t, "found", 2, len(found))
}

// TestObjectsThatAreOnlyListed: a store lists objects, and says that they do not exist.
func TestObjectsThatAreOnlyListed(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	w.write(noon, "shop", []string{"a"})
	w.flush(noon)
	store.ghosts = []string{strings.Replace(store.names(archive.IndexPrefix)[0], "T12", "T11", 1), strings.Replace(store.names(archive.SegmentPrefix)[0], "T12", "T11", 1)}
	r := &archive.Reader{Bucket: store}
	if _, err := r.Find(t.Context(), archive.Query{}); !errors.Is(err, archive.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
	var unread []string
	r.Skip = func(object string, _ error) { unread = append(unread, object) }
	found, err := r.Find(t.Context(), archive.Query{})
	expect.NoError(t, err)
	expect.Equal(t, "found", 1, len(found))
	expect.Equal(t, "unread", store.ghosts[:1], unread)
	v, err := r.Verify(t.Context(), archive.Retention{}, noon, nil)
	expect.NoError(t, err)
	expect.Equal(t, "damaged", 2, len(v.Damaged))
}

// TestFindLateResults: a result can become known days after the deletion, when a controller runs again.
func TestFindLateResults(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	w.write(noon, "shop", []string{"a"})
	w.flush(noon)
	w.index.FinishVersion("uid-shop-a", "7", archive.Gone, noon.Add(3*day))
	w.flush(noon.Add(3 * day))
	expect.Equal(t, "found", "a@7:gone", find(t, &archive.Reader{Bucket: store}, archive.Query{Since: noon.Add(-day), Until: noon.Add(time.Hour)}))
}

// TestFindEachWhileTheIndexChanges: FindEach reads no index object again after it has begun to pass on metadata.
func TestFindEachWhileTheIndexChanges(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	for i := range 12 {
		at := noon.Add(time.Duration(i) * day)
		w.write(at, "shop", []string{fmt.Sprint("a", i)})
		w.flush(at)
	}
	found := 0
	expect.NoError(t, (&archive.Reader{Bucket: store}).FindEach(t.Context(), archive.Query{}, func(metas []archive.Meta) error {
		for _, object := range store.names(archive.IndexPrefix) {
			expect.NoError(t, store.Delete(t.Context(), object))
		}
		found += len(metas)
		return nil
	}))
	expect.Equal(t, "found", 12, found)
}

// TestFindEachWithIndexObjectsThatStay: two index objects have the same lines because the store refuses to delete one.
func TestFindEachWithIndexObjectsThatStay(t *testing.T) {
	store := newBucket()
	store.refuse = true
	w := newWriter(t, store)
	w.write(noon, "shop", []string{"a", "b@1", "b@2"})
	w.flush(noon)
	w.write(noon.Add(time.Second), "shop", []string{"c", "b@1"})
	w.flush(noon.Add(time.Minute))
	expect.Equal(t, "index objects", 2, len(store.names(archive.IndexPrefix)))
	r := &archive.Reader{Bucket: store}
	expect.Equal(t, "found", "b@1: c@7: b@2: a@7:", find(t, r, archive.Query{}))
	last := 0
	expect.NoError(t, r.FindEach(t.Context(), archive.Query{}, func(metas []archive.Meta) error {
		last = len(metas)
		return nil
	}))
	expect.Equal(t, "versions with several records", 1, last)
	visits, failed := 0, errors.New("failed")
	err := r.FindEach(t.Context(), archive.Query{}, func([]archive.Meta) error {
		visits++
		return failed
	})
	if visits != 1 || !errors.Is(err, failed) {
		t.Errorf("%d visits after an error, and error %v", visits, err)
	}
}

// TestFindWithoutSegment: metadata without a segment, as while the retention of the archive deletes a day, is not found.
func TestFindWithoutSegment(t *testing.T) {
	store := newBucket()
	w := newWriter(t, store)
	s := w.write(noon, "shop", []string{"a"})
	w.write(noon, "shop", []string{"b"})
	w.flush(noon)
	delete(store.objects, s.Name)
	expect.Equal(t, "found", "b@7:", find(t, &archive.Reader{Bucket: store}, archive.Query{}))
}

// TestFindFails: after an error, all reads have ended.
func TestFindFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newBucket()
		w := newWriter(t, store)
		for i := range 40 {
			w.write(noon.Add(time.Duration(i)*time.Second), "shop", []string{"a"})
		}
		damaged := store.names("segments/")[3]
		store.objects[damaged] = nil
		store.onRead = func(name string) {
			if name != damaged {
				time.Sleep(time.Second)
			}
		}
		if found, err := (&archive.Reader{Bucket: store}).Find(t.Context(), archive.Query{}); !errors.Is(err, archive.ErrCorrupt) || found != nil {
			t.Errorf("found %v, error %v", found, err)
		}
	})
}

func TestEach(t *testing.T) {
	key := identity(t)
	store := newBucket()
	w := newWriter(t, store, key.Recipient())
	one := w.write(noon, "shop", []string{"a", "b", "c"})
	two := w.write(noon.Add(time.Second), "shop", []string{"d", "e"})
	r := &archive.Reader{Bucket: store, Identities: []age.Identity{key}}
	var names []string
	for f, err := range r.Each(t.Context(), []archive.Meta{two.Meta[1], one.Meta[2], one.Meta[0], two.Meta[0]}) {
		expect.NoError(t, err)
		var object struct{ Metadata struct{ Name string } }
		expect.NoError(t, json.Unmarshal(f.Record.Object, &object))
		expect.Equal(t, "name", f.Name, object.Metadata.Name)
		names = append(names, f.Name)
	}
	expect.Equal(t, "names", []string{"a", "c", "d", "e"}, names)
	expect.Equal(t, "reads", 2, len(store.reads))
	for f, err := range r.Each(t.Context(), nil) {
		t.Errorf("a record of nothing: %v, %v", f.Name, err)
	}

	for field, change := range map[string]func(*archive.Meta){
		"group":            func(m *archive.Meta) { m.APIVersion = "other/v1" },
		"kind":             func(m *archive.Meta) { m.Kind = "Pod" },
		"namespace":        func(m *archive.Meta) { m.Namespace = "other" },
		"name":             func(m *archive.Meta) { m.Name = "other" },
		"UID":              func(m *archive.Meta) { m.UID = "other" },
		"resource version": func(m *archive.Meta) { m.ResourceVersion = "other" },
		"dependents":       func(m *archive.Meta) { m.Dependents = []string{"Pod/p"} },
	} {
		m := one.Meta[0]
		change(&m)
		if _, err := get(t, r, m); !errors.Is(err, archive.ErrCorrupt) {
			t.Errorf("metadata with another %s: %v", field, err)
		}
	}
	wrong := one.Meta[0]
	wrong.Line = 1
	if _, err := get(t, r, wrong); !errors.Is(err, archive.ErrCorrupt) {
		t.Errorf("a record of another object: %v", err)
	}
	wrong.Line = 9
	if _, err := get(t, r, wrong); !errors.Is(err, archive.ErrCorrupt) {
		t.Errorf("a line that is not there: %v", err)
	}
	wrong.Segment = "other"
	if _, err := get(t, r, wrong); err == nil {
		t.Error("a name that is not one of an archive")
	}
	delete(store.objects, one.Name)
	if _, err := get(t, r, one.Meta[0]); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("a segment that is not there: %v", err)
	}
}

// manySegments indexes segments with 500 records each, which all have results, and flushes now and then.
func manySegments(t *testing.T, store *bucket, n int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	x := archive.NewIndexer(store)
	for s := range n {
		data := []byte(fmt.Sprint("segment ", s))
		segment := archive.Segment{Name: "segments/2026/11/27/20261127T120000Z-" + sha(data) + ".jsonl.zst"}
		for line := range archive.MaxRecords {
			o, _ := subject("shop", fmt.Sprintf("job-%d-%d", s, line), "7")
			o.UID = types.UID(fmt.Sprintf("%016x-%016x", random.Uint64(), random.Uint64()))
			segment.Meta = append(segment.Meta, archive.Meta{Segment: segment.Name, Line: line, Object: o, Policy: "batch", Rule: "jobs", ArchivedAt: noon.Add(time.Duration(s) * time.Second)})
			x.Finish(segment.Name, line, archive.Deleted, noon)
		}
		x.Add(segment)
		store.objects[segment.Name] = data
		if s%10 == 9 {
			expect.NoError(t, x.Flush(t.Context(), noon))
		}
	}
}

// TestSearch100000: all of 100,000 records are found, and one of them, and no search reads a segment.
func TestSearch100000(t *testing.T) {
	store := newBucket()
	manySegments(t, store, 200)
	r := &archive.Reader{Bucket: store}
	start := time.Now()
	expect.Equal(t, "found", "job-123-456@7:deleted", find(t, r, archive.Query{Name: "job-123-456"}))
	t.Logf("found one of 100,000 records in %s", time.Since(start))
	all, err := r.Find(t.Context(), archive.Query{Until: noon.Add(day)})
	expect.NoError(t, err)
	expect.Equal(t, "all", 100_000, len(all))
	for _, name := range store.reads {
		if !strings.HasPrefix(name, "index/") {
			t.Fatalf("a search reads %s", name)
		}
	}
}

// TestSkip: objects that cannot be read are named and left out, and nothing else. The segments of such an index object are read.
func TestSkip(t *testing.T) {
	later := compress(t, `{"version":2,"object":{}}`+"\n")
	otherMeta := func(s archive.Segment) []byte {
		return compress(t, fmt.Sprintf(`{"segment":%q,"line":0,"apiVersion":"batch/v1","kind":"Job","namespace":"shop","name":"forged","uid":"x","resourceVersion":"1","labels":7}`+"\n", s.Name))
	}
	for name, test := range map[string]struct {
		damage func(store *bucket, s, notIndexed archive.Segment)
		skip   string // prefix of what is skipped
		found  string
		read   int // records
	}{
		"a damaged segment": {func(store *bucket, s, _ archive.Segment) { store.objects[s.Name][9] ^= 1 }, archive.SegmentPrefix, "c@7: b@7:deleted a@7:deleted", 1},
		"a damaged index object": {func(store *bucket, _, _ archive.Segment) { store.objects[store.names(archive.IndexPrefix)[0]][9] ^= 1 },
			archive.IndexPrefix, "c@7: b@7: a@7:", 3},
		"an index object with a line that is not metadata": {func(store *bucket, _, s archive.Segment) { foreign(store, archive.IndexPrefix, otherMeta(s), "") },
			archive.IndexPrefix, "c@7: b@7:deleted a@7:deleted", 3},
		"a segment of a newer version": {func(store *bucket, _, _ archive.Segment) { foreign(store, archive.SegmentPrefix, later, "") },
			archive.SegmentPrefix, "c@7: b@7:deleted a@7:deleted", 3},
		"an encrypted segment": {func(store *bucket, _, _ archive.Segment) {
			other := newBucket()
			foreign(store, archive.SegmentPrefix, newWriter(t, other, identity(t).Recipient()).write(noon, "shop", []string{"x"}).Data, ".age")
		}, archive.SegmentPrefix, "c@7: b@7:deleted a@7:deleted", 3},
	} {
		t.Run(name, func(t *testing.T) {
			store := newBucket()
			w := newWriter(t, store)
			s := w.write(noon, "shop", []string{"a", "b"})
			w.index.Finish(s.Name, 0, archive.Deleted, noon)
			w.index.Finish(s.Name, 1, archive.Deleted, noon)
			w.flush(noon)
			w.index = nil
			test.damage(store, s, w.write(noon.Add(time.Second), "shop", []string{"c"}))
			if _, err := (&archive.Reader{Bucket: store}).Find(t.Context(), archive.Query{}); err == nil && test.read == 3 {
				t.Error("no error without Skip")
			}
			var mu sync.Mutex
			skipped := map[string]bool{}
			r := &archive.Reader{Bucket: store, Skip: func(object string, err error) {
				mu.Lock()
				defer mu.Unlock()
				if skipped[object] = true; !strings.HasPrefix(object, test.skip) || !strings.Contains(err.Error(), object) {
					t.Errorf("skipped %s: %v", object, err)
				}
			}}
			expect.Equal(t, "found", test.found, find(t, r, archive.Query{}))
			metas, err := r.Find(t.Context(), archive.Query{})
			expect.NoError(t, err)
			read := 0
			for _, err := range r.Each(t.Context(), metas) {
				expect.NoError(t, err)
				read++
			}
			expect.Equal(t, "records read", test.read, read)
			expect.Equal(t, "objects skipped", 1, len(skipped))
		})
	}
}

// foreign adds an object with a correct digest that the archive did not write.
func foreign(store *bucket, prefix string, data []byte, suffix string) {
	store.objects[prefix+"2026/11/27/20261127T130000Z-"+sha(data)+".jsonl.zst"+suffix] = data
}

// TestSkipRecord: a record that is not that of its metadata is left out, and the others of its segment are not.
func TestSkipRecord(t *testing.T) {
	store := newBucket()
	s := newWriter(t, store).write(noon, "shop", []string{"a", "b", "c"})
	s.Meta[1].Name = "other"
	skipped, names := 0, ""
	r := &archive.Reader{Bucket: store, Skip: func(string, error) { skipped++ }}
	for f, err := range r.Each(t.Context(), append(s.Meta, archive.Meta{Segment: s.Name, Line: 7})) {
		expect.NoError(t, err)
		names += f.Name
	}
	expect.Equal(t, "read", "ac", names)
	expect.Equal(t, "skipped", 2, skipped)
	expect.NoError(t, store.Delete(t.Context(), s.Name))
	for f, err := range r.Each(t.Context(), s.Meta) {
		t.Errorf("record %v, error %v of a segment that was deleted", f, err)
	}
}
