// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/history"
	"github.com/sunset-k8s/sunset/test/expect"
)

func open(t testing.TB, dir string, at history.Reading) *history.Store {
	t.Helper()
	s, err := history.Open(dir, at, options)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func shut(t testing.TB, s *history.Store) {
	t.Helper()
	expect.NoError(t, s.Close())
}

// written returns a directory with the file of a store, and that file. The store knows an image a that was unused for two
// intervals.
func written(t testing.TB) (dir, file string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state", "images")
	s := open(t, dir, reading(0))
	for i := range 3 {
		s.Observe(reading(time.Duration(i)*interval), listed("a b*"))
	}
	s.Removed("c", reading(2*interval))
	shut(t, s)
	return dir, filepath.Join(dir, history.Name)
}

func TestReopened(t *testing.T) {
	dir, _ := written(t)
	s := open(t, dir, reading(3*interval))
	if _, ok := s.Of("a"); ok || errors.Join(s.AgesReset(), s.SaveError()) != nil {
		t.Errorf("known before a listing: %v; ages lost: %v; error: %v", ok, s.AgesReset(), s.SaveError())
	}
	o := s.Observe(reading(3*interval), listed("a b c"))
	if a, _ := s.Of("a"); unused(a, reading(3*interval)) != 3*interval || !a.LastUsed.IsZero() {
		t.Errorf("%+v", a)
	}
	if b, _ := s.Of("b"); b.LastUsed.Before(start.Add(3 * interval)) {
		t.Errorf("%+v", b)
	}
	expect.Equal(t, "pulled again", 1, o.PulledAgain)
	shut(t, s)
	s = open(t, dir, reading(4*interval))
	expect.Equal(t, "pulled again", 1, s.PulledAgain())
}

func TestEmptyListingAfterARestartIsBelieved(t *testing.T) {
	dir, _ := written(t)
	s := open(t, dir, reading(3*interval))
	if o := s.Observe(reading(3*interval), nil); o.Doubted {
		t.Errorf("%+v", o)
	}
	s.Observe(reading(4*interval), listed("a b"))
	if a, ok := s.Of("a"); !ok || unused(a, reading(4*interval)) != 0 {
		t.Errorf("%+v", a)
	}
}

func TestDoubtOutlivesARestart(t *testing.T) {
	dir, _ := written(t)
	s := open(t, dir, reading(3*interval))
	s.Observe(reading(3*interval), listed("a b"))
	s.Observe(reading(4*interval), nil)
	shut(t, s)
	s = open(t, dir, reading(5*interval))
	s.Observe(reading(5*interval), listed("a c"))
	if a, ok := s.Of("a"); !ok || unused(a, reading(5*interval)) != 0 {
		t.Errorf("%+v", a)
	}
}

func TestFileThatCannotBeUsedIsSetAside(t *testing.T) {
	replace := func(old, by string) func([]byte) []byte {
		return func(data []byte) []byte { return bytes.Replace(data, []byte(old), []byte(by), 1) }
	}
	for name, c := range map[string]struct {
		harm func([]byte) []byte
		says string
	}{
		"truncated":                             {func(data []byte) []byte { return data[:len(data)/2] }, "truncated"},
		"empty":                                 {func([]byte) []byte { return nil }, "truncated"},
		"zeros":                                 {func(data []byte) []byte { return make([]byte, len(data)) }, "truncated"},
		"more data after it":                    {func(data []byte) []byte { return append(data, "{}"...) }, "truncated"},
		"corrupt":                               {replace(`"known":120000`, `"known":920000`), "checksum"},
		"no checksum":                           {replace(`"sha256"`, `"sha512"`), "checksum"},
		"of a newer version":                    {replace(`"version":1`, `"version":2`), "newer"},
		"of version 0":                          {replace(`"version":1`, `"version":0`), "invalid format version 0"},
		"another machine with the old checksum": {replace(`"machine":"node-1"`, `"machine":"node-2"`), "checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := written(t)
			data, err := os.ReadFile(file)
			expect.NoError(t, err)
			harmed := c.harm(bytes.Clone(data))
			if bytes.Equal(harmed, data) {
				t.Fatalf("the file is unchanged: %s", data)
			}
			expect.NoError(t, os.WriteFile(file, harmed, 0o600))
			expectAgesReset(t, open(t, dir, reading(3*interval)), c.says)
			aside := file + ".bad-" + start.Add(3*interval).Format("20060102T150405Z")
			if kept, err := os.ReadFile(aside); err != nil || !bytes.Equal(kept, harmed) {
				t.Errorf("%v, %s", err, kept)
			}
		})
	}
	t.Run("of another machine", func(t *testing.T) {
		dir, _ := written(t)
		foreign := options
		foreign.Machine = "node-2"
		s, err := history.Open(dir, reading(3*interval), foreign)
		expect.NoError(t, err)
		defer func() { _ = s.Close() }()
		expectAgesReset(t, s, `it was written by machine "node-1", and this is machine "node-2"`)
	})
	t.Run("a directory is in its place", func(t *testing.T) {
		dir := t.TempDir()
		expect.NoError(t, os.MkdirAll(filepath.Join(dir, history.Name, "x"), 0o700))
		expectAgesReset(t, open(t, dir, reading(3*interval)), "is a directory")
	})
}

func expectAgesReset(t *testing.T, s *history.Store, says string) {
	t.Helper()
	if s.AgesReset() == nil || !strings.Contains(s.AgesReset().Error(), says) || s.SaveError() != nil {
		t.Errorf("ages lost: %v; error: %v", s.AgesReset(), s.SaveError())
	}
	s.Observe(reading(3*interval), listed("a"))
	if a, _ := s.Of("a"); unused(a, reading(3*interval)) != 0 {
		t.Errorf("%+v", a)
	}
	if err := s.Save(reading(3 * interval)); err != nil {
		t.Error(err)
	}
}

func TestAgesResetIsReportedForADay(t *testing.T) {
	dir := t.TempDir()
	expect.NoError(t, os.WriteFile(filepath.Join(dir, history.Name), nil, 0o600))
	s := open(t, dir, reading(0))
	pass := func(from, until time.Duration) {
		for at := from; at <= until; at += interval {
			s.Observe(reading(at), listed("a"))
		}
	}
	pass(0, 24*time.Hour-interval)
	s.Observe(reading(100*time.Hour), listed("a")) // no listings in between
	if s.AgesReset() == nil {
		t.Error("the loss is no longer reported although no day was observed")
	}
	pass(100*time.Hour, 100*time.Hour+interval)
	if s.AgesReset() != nil {
		t.Errorf("a day later: %v", s.AgesReset())
	}
}

func TestStoreKeepsThreeBadFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, history.Name), nil, 0o600))
		shut(t, open(t, dir, reading(time.Duration(i)*interval)))
	}
	bad, err := filepath.Glob(filepath.Join(dir, history.Name+".bad-*"))
	if err != nil || len(bad) != 3 || !strings.HasSuffix(bad[2], "120500Z") {
		t.Errorf("%v, %v", bad, err)
	}
}

func TestStoreLocksItsDirectory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, reading(0))
	if _, err := history.Open(dir, reading(0), options); !errors.Is(err, history.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
	shut(t, s)
	shut(t, open(t, dir, reading(0)))
	if err := s.Save(reading(0)); err == nil {
		t.Error("a closed store saves")
	}
}

func TestDirectoryThatCannotBe(t *testing.T) {
	place := filepath.Join(t.TempDir(), "file")
	expect.NoError(t, os.WriteFile(place, nil, 0o600))
	dir := filepath.Join(place, "state")
	s := open(t, dir, reading(0))
	if s.SaveError() == nil || s.AgesReset() == nil {
		t.Errorf("error: %v, ages lost: %v", s.SaveError(), s.AgesReset())
	}
	for i := range 3 {
		at := reading(time.Duration(i) * interval)
		s.Observe(at, listed("a"))
		if err := s.Save(at); err == nil {
			t.Error("it was saved")
		}
	}
	if a, _ := s.Of("a"); unused(a, reading(2*interval)) != 2*interval {
		t.Errorf("%+v", a)
	}
	expect.NoError(t, os.Remove(place))
	if err := errors.Join(s.Save(reading(3*interval)), s.SaveError()); err != nil {
		t.Errorf("the save was not retried: %v", err)
	}
	if _, err := history.Open(dir, reading(0), options); !errors.Is(err, history.ErrLocked) {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []history.Options{{Gap: gap}, {Machine: "node-1"}} {
		if _, err := history.Open(t.TempDir(), reading(0), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestSaveWritesOnlyWhenNeeded(t *testing.T) {
	d := newDisk()
	s := openOn(t, d, reading(0))
	for i, c := range []struct {
		after   time.Duration
		images  string
		written bool
	}{
		{0, "a b", true},
		{10 * time.Second, "a b", false},
		{20 * time.Second, "a b c", false},
		{30 * time.Second, "a* b c", true},
		{40 * time.Second, "a* b c", false},
		{50 * time.Second, "a b c", false},
		{60 * time.Second, "b c", true},
		{80 * time.Second, "", true},
		{90 * time.Second, "", false},
		{3 * time.Minute, "b c", true},
	} {
		s.Observe(reading(c.after), listed(c.images))
		before := d.steps
		expect.NoError(t, s.Save(reading(c.after)))
		expect.Equal(t, fmt.Sprintf("listing %d was written", i), c.written, d.steps > before)
		if !c.written {
			continue
		}
		before = d.steps
		if err := s.Save(reading(c.after)); err != nil || d.steps > before {
			t.Errorf("listing %d was written twice: %v", i, err)
		}
	}
}

// many returns images with IDs as long as real ones. A fifth of them is in use.
func many(n int) []history.Seen {
	seen := make([]history.Seen, n)
	for i := range seen {
		seen[i] = history.Seen{ID: fmt.Sprintf("sha256:%064x", i*7919), InUse: i%5 == 0}
	}
	return seen
}

func TestFileIsSmall(t *testing.T) {
	dir := t.TempDir()
	yearly := options
	yearly.Gap = 24 * time.Hour
	s, err := history.Open(dir, reading(0), yearly)
	expect.NoError(t, err)
	seen := many(2000)
	for i := range seen {
		seen[i].InUse = true
	}
	s.Observe(reading(0), seen)
	for day := range 400 { // one listing a day, which the gap allows
		s.Observe(reading(time.Duration(day)*24*time.Hour), many(2000))
	}
	shut(t, s)
	info, err := os.Stat(filepath.Join(dir, history.Name))
	if err != nil || info.Size() > 300_000 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}
