// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/test/expect"
)

// FuzzFile opens any data as the file of ages. The store uses all of it or none of it. A file that it does not use gives no age
// and is kept unchanged. A file that it uses reads the same after the store has written it again. No image is older than the
// clock allows.
func FuzzFile(f *testing.F) {
	dir, file := written(f)
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err, dir)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte(strings.Replace(string(data), `"known":`, `"known":1`, 1)))
	f.Add([]byte(strings.Repeat("\x00", 4096)))
	for _, other := range []string{"", "null", "{}", `{"version":1}`, `{"version":2,"content":{}}`, `[{}]`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(other))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkFile(t, data) })
}

// FuzzContent does the same with content that has a valid checksum, as another program or an older version of Sunset may have
// written it.
func FuzzContent(f *testing.F) {
	for _, content := range []string{
		`{"observedUntil":"2026-03-01T12:01:00Z","bootID":"boot","boot":60000000000,"images":[{"id":"a","known":60000},{"id":"b","known":60000,"unused":0,"inUse":true}]}`,
		`{"images":[{"id":"a","known":-1}]}`, `{"images":[{"id":"a","known":9223372036854775807}]}`, `{"images":[{"id":"a","known":1,"unused":2}]}`,
		`{"images":[{"id":"a"},{"id":"a"}]}`, `{"images":[{"id":""}]}`, `{"images":[{"id":"a","inUse":true}]}`, `{"images":null,"removed":[{"id":"a","since":-1}]}`,
		`{"removed":[{"id":"a","at":"2026-03-01T12:00:00Z","since":1,"tags":["x"],"pulledAgain":"2026-03-01T12:00:00Z"},{"id":"a"}]}`,
		`{"observedUntil":"9999-12-31T23:59:59Z","boot":9223372036854775807,"images":[{"id":"a","known":3153600000000}]}`,
		`{"observedUntil":"0001-01-01T00:00:00Z","boot":-9223372036854775808,"doubted":true,"images":[{"id":"a","known":1}]}`,
	} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var compact json.RawMessage
		if json.Unmarshal(content, &compact) != nil {
			t.Skip()
		}
		header, _ := json.Marshal([]any{1, options.Machine})
		compact, _ = json.Marshal(compact)
		sum := sha256.Sum256(append(header, compact...))
		data, err := json.Marshal(map[string]any{
			"version": 1, "machine": options.Machine, "sha256": hex.EncodeToString(sum[:]), "content": compact,
		})
		expect.NoError(t, err)
		checkFile(t, data)
	})
}

func checkFile(t *testing.T, data []byte) {
	t.Helper()
	d := newDisk()
	d.names[history.Name] = &inode{data, data}
	s := openOn(t, d, reading(time.Hour))
	if s.AgesReset() != nil {
		aside := slices.DeleteFunc(slices.Collect(maps.Keys(d.names)), func(name string) bool { return !strings.HasPrefix(name, history.Name+".bad-") })
		if len(aside) != 1 || !bytes.Equal(d.names[aside[0]].data, data) {
			t.Errorf("%v, but the file was not set aside unchanged: %v", s.AgesReset(), aside)
		}
	}
	var at history.Reading
	for i := range 3 {
		at = reading(time.Hour + time.Duration(i)*interval)
		s.Observe(at, listed("a b*"))
		expect.NoError(t, s.Save(at))
	}
	r, known := s.Of("a")
	if used, ok := s.Of("b"); !known || !ok || unused(used, at) != 0 || unused(r, at) < 0 || s.AgesReset() != nil && unused(r, at) > 2*interval {
		t.Errorf("a is %+v, b is %+v; ages lost: %v", r, used, s.AgesReset())
	}
	expect.NoError(t, s.Close())
	after := reading(time.Hour + 3*interval)
	again := openOn(t, d, after)
	again.Observe(after, listed("a b*"))
	next, _ := again.Of("a")
	switch age, grown := at.Wall.Sub(r.UnusedSince()), after.Wall.Sub(next.UnusedSince()); {
	case age > 100*365*24*time.Hour-slack: // the store does not use such a file
	case again.AgesReset() != nil, grown > age+interval+slack, grown < age-slack:
		t.Errorf("a was %+v and is %+v after it was written and read; ages lost: %v", r, next, again.AgesReset())
	}
}

func openOn(t *testing.T, d *disk, at history.Reading) *history.Store {
	t.Helper()
	s, err := history.OpenOn(d, at, options)
	expect.NoError(t, err)
	return s
}
