// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestExpired(t *testing.T) {
	midnight := noon.Add(12 * time.Hour) // the end of the first day
	for name, test := range map[string]struct {
		keep  archive.Retention
		now   time.Time
		limit int
		want  string
	}{
		"nothing without retain":                        {archive.Retention{}, noon.Add(1000 * day), 100, ""},
		"one nanosecond before the end of the day":      {archive.Retention{Retain: 10 * day}, midnight.Add(10*day - 1), 100, ""},
		"at the end of the day":                         {archive.Retention{Retain: 10 * day}, midnight.Add(10 * day), 100, "27: p1 s1 s2 i1"},
		"two days":                                      {archive.Retention{Retain: 10 * day}, midnight.Add(11 * day), 100, "27: p1 s1 s2 i1, 28: s3 i2"},
		"a clock far ahead deletes what it says":        {archive.Retention{Retain: day}, noon.Add(1000 * day), 100, "27: p1 s1 s2 i1, 28: s3 i2, 30: s4, 01: i3"},
		"the index waits for segments beyond the limit": {archive.Retention{Retain: 10 * day}, midnight.Add(11 * day), 2, "27: p1 s1"},
		"the index waits if nothing is left for it":     {archive.Retention{Retain: 10 * day}, midnight.Add(11 * day), 4, "27: p1 s1 s2, 28: s3"},
		"a hold of a month":                             {archive.Retention{Retain: day, Holds: []string{"segments/2026/11/"}}, noon.Add(1000 * day), 100, "01: i3"},
		"a hold of a day":                               {archive.Retention{Retain: day, Holds: []string{"segments/2026/11/28/"}}, noon.Add(1000 * day), 100, "27: p1 s1 s2 i1, 30: s4, 01: i3"},
		"a hold of one segment keeps its day":           {archive.Retention{Retain: day, Holds: []string{"segments/2026/11/27/20261127T1"}}, midnight.Add(2 * day), 100, "28: s3 i2"},
		"a hold of half a name keeps what may match":    {archive.Retention{Retain: day, Holds: []string{"segments/2026/11/2"}}, noon.Add(1000 * day), 100, "30: s4, 01: i3"},
		"a hold of a Parquet file keeps its day":        {archive.Retention{Retain: day, Holds: []string{"parquet/month=2026-11/20261127-1of1"}}, midnight.Add(2 * day), 100, "28: s3 i2"},
		"a hold of the index of a day":                  {archive.Retention{Retain: day, Holds: []string{"index/2026/11/28/"}}, midnight.Add(2 * day), 100, "27: p1 s1 s2 i1"},
		"a hold of all":                                 {archive.Retention{Retain: day, Holds: []string{""}}, noon.Add(1000 * day), 100, ""},
		"a hold of another year":                        {archive.Retention{Retain: 10 * day, Holds: []string{"segments/2025/"}}, midnight.Add(10 * day), 100, "27: p1 s1 s2 i1"},
		"a limit of nothing":                            {archive.Retention{Retain: day}, noon.Add(1000 * day), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			store, short := daysToExpire()
			got, err := test.keep.Expired(store.list(t), test.now, test.limit)
			expect.NoError(t, err)
			var days []string
			for _, d := range got {
				days = append(days, strings.Split(d.Day, "/")[2]+":"+names(short, d.Names))
			}
			expect.Equal(t, "expired", test.want, strings.Join(days, ", "))
		})
	}
}

func names(short map[string]string, all []string) (text string) {
	for _, name := range all {
		text += " " + short[name]
	}
	return text
}

func (b *bucket) list(t *testing.T) func(string) iter.Seq2[archive.Entry, error] {
	return func(prefix string) iter.Seq2[archive.Entry, error] { return b.List(t.Context(), prefix) }
}

func daysToExpire() (*bucket, map[string]string) {
	store, short := newBucket(), map[string]string{}
	for name, object := range map[string]string{
		"p1": "parquet/month=2026-11/20261127-1of1-x.parquet", "s1": "segments/2026/11/27/20261127T120000Z-", "s2": "segments/2026/11/27/20261127T130000Z-",
		"s3": "segments/2026/11/28/20261128T120000Z-", "s4": "segments/2026/11/30/20261130T120000Z-",
		"i1": "index/2026/11/27/20261127T120000Z-", "i2": "index/2026/11/28/20261128T120000Z-", "i3": "index/2026/12/01/20261201T120000Z-",
	} {
		if !strings.HasSuffix(object, ".parquet") {
			object += sha([]byte(name)) + ".jsonl.zst"
		}
		store.objects[object], short[object] = nil, name
	}
	for _, unknown := range []string{"segments/2026/11/27/x", "segments/x", "index/2026/11/27/x", "parquet/month=2026-11/x.parquet", "parquet/x"} {
		store.objects[unknown] = nil
	}
	return store, short
}

// TestExpiredByLimit: repeated calls with a small limit delete the same as one with a large one, and no index before its segments.
func TestExpiredByLimit(t *testing.T) {
	store, _ := daysToExpire()
	keep := archive.Retention{Retain: day}
	for range 100 {
		days, err := keep.Expired(store.list(t), noon.Add(1000*day), 2)
		expect.NoError(t, err)
		if len(days) == 0 {
			break
		}
		for _, d := range days {
			for _, name := range d.Names {
				if strings.HasPrefix(name, "index/") && len(store.names("segments/"+d.Day+"2")) > 0 {
					t.Errorf("%s goes before the segments of its day", name)
				}
				delete(store.objects, name)
			}
		}
	}
	expect.Equal(t, "left: unknown names", 5, len(store.objects))
}

func TestExpiredWithAnError(t *testing.T) {
	broken := errors.New("the store is down")
	list := func(prefix string) iter.Seq2[archive.Entry, error] {
		return func(yield func(archive.Entry, error) bool) {
			store, _ := daysToExpire()
			for e, err := range store.List(t.Context(), prefix) {
				if !yield(e, err) {
					return
				}
			}
			yield(archive.Entry{}, broken)
		}
	}
	days, err := archive.Retention{Retain: 1000 * day}.Expired(list, noon.Add(5000*day), 100)
	if !errors.Is(err, broken) || days != nil {
		t.Errorf("%v, %v", days, err)
	}
}
