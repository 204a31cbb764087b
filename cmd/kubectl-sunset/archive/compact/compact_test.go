// SPDX-License-Identifier: Apache-2.0

package compact_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/parquet-go/parquet-go"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/compact"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// open opens an empty archive.
func open(t *testing.T) *store.Store { return openIn(t, t.TempDir()) }

func openIn(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), "file://"+dir, nil)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// write writes a segment of Jobs that were archived at a time.
func write(t *testing.T, to archive.Bucket, at time.Time, names ...string) {
	t.Helper()
	seal(t, to, archive.NewBuilder(), at, names...)
}

func seal(t *testing.T, to archive.Bucket, b *archive.Builder, at time.Time, names ...string) {
	t.Helper()
	for _, name := range names {
		object := fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":"shop","uid":"u-%s","resourceVersion":"7",
			"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"team":"a"}}}`, name, name)
		_, err := b.Add(audit.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: name, UID: types.UID("u-" + name), ResourceVersion: "7"},
			archive.Record{ArchivedAt: at, Policy: "batch", Rule: "r", Due: at, Reason: "Expired", Outcome: "Failed", Object: json.RawMessage(object)})
		expect.NoError(t, err)
	}
	s, err := b.Seal(at)
	expect.NoError(t, err)
	expect.NoError(t, to.Write(t.Context(), s.Name, s.Data))
}

func rows(t *testing.T, from archive.Bucket, name string) []compact.Row {
	t.Helper()
	r, err := from.Read(t.Context(), name)
	expect.NoError(t, err)
	data, err := io.ReadAll(r)
	expect.NoError(t, errors.Join(err, r.Close()))
	all, err := parquet.Read[compact.Row](bytes.NewReader(data), int64(len(data)))
	expect.NoError(t, err)
	return all
}

// TestRun: each day that is over is copied once, with all records.
func TestRun(t *testing.T) {
	bucket := open(t)
	day := fixture.Now.Truncate(24 * time.Hour)
	write(t, bucket, day.Add(time.Hour), "a", "b")
	write(t, bucket, day.Add(23*time.Hour), "c")
	write(t, bucket, day.Add(25*time.Hour), "tomorrow")
	c := &compact.Compactor{From: &archive.Reader{Bucket: bucket}, To: bucket, Progress: func(int) {}}

	files, err := c.Run(t.Context(), day.Add(36*time.Hour))
	expect.NoError(t, err)
	expect.Equal(t, "before results are known", 0, len(files))

	files, err = c.Run(t.Context(), day.Add(37*time.Hour))
	expect.NoError(t, err)
	if len(files) != 1 || !strings.HasPrefix(files[0], "parquet/month=2026-03/20260301-") {
		t.Fatal(files)
	}
	var names []string
	all := rows(t, bucket, files[0])
	for _, row := range all {
		names = append(names, row.Name)
	}
	expect.Equal(t, "names", []string{"a", "b", "c"}, names)
	got := all[0]
	expect.Equal(t, "labels", map[string]string{"team": "a"}, got.Labels)
	expect.Equal(t, "time", day.Add(time.Hour), got.Time.UTC())
	expect.Equal(t, "others", "batch Job shop Failed Expired none", strings.Join([]string{got.Policy, got.Kind, got.Namespace, got.Outcome, got.Reason, got.Result}, " "))
	if !json.Valid([]byte(got.Object)) || got.Size == 0 {
		t.Errorf("object %q, size %d", got.Object, got.Size)
	}

	files, err = c.Run(t.Context(), day.Add(37*time.Hour))
	expect.NoError(t, err)
	expect.Equal(t, "again", 0, len(files))
}

// TestRunWithRedactedTimes: a record without a time of creation is copied too.
func TestRunWithRedactedTimes(t *testing.T) {
	bucket, b := open(t), archive.NewBuilder()
	day := fixture.Now.Truncate(24 * time.Hour)
	_, err := b.Add(audit.Object{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "u-a", ResourceVersion: "7"},
		archive.Record{ArchivedAt: day, Object: json.RawMessage(`{"metadata":{"name":"a","uid":"u-a","resourceVersion":"7","creationTimestamp":"REDACTED"}}`)})
	expect.NoError(t, err)
	s, err := b.Seal(day)
	expect.NoError(t, err)
	expect.NoError(t, bucket.Write(t.Context(), s.Name, s.Data))
	files, err := (&compact.Compactor{From: &archive.Reader{Bucket: bucket}, To: bucket, Progress: func(int) {}}).Run(t.Context(), day.Add(37*time.Hour))
	expect.NoError(t, err)
	expect.Equal(t, "records", 1, len(rows(t, bucket, files[0])))
}

// failing fails after it has written a file.
type failing struct{ archive.Bucket }

func (f failing) Write(ctx context.Context, name string, data []byte) error {
	return errors.Join(f.Bucket.Write(ctx, name, data), fmt.Errorf("the store has other bytes: %w", archive.ErrCorrupt))
}

// TestRunAfterFailure: a day whose file may be damaged is copied again.
func TestRunAfterFailure(t *testing.T) {
	bucket := open(t)
	day := fixture.Now.Truncate(24 * time.Hour)
	write(t, bucket, day, "a", "b", "c")
	write(t, bucket, day.Add(24*time.Hour), "d")
	at := day.Add(72 * time.Hour)
	c := &compact.Compactor{From: &archive.Reader{Bucket: bucket}, To: failing{bucket}, Progress: func(int) {}}
	files, err := c.Run(t.Context(), at)
	if err == nil || !strings.Contains(err.Error(), "day 2026-03-01: the store has other bytes") || len(files) != 0 {
		t.Fatal(files, err)
	}
	if strings.Contains(err.Error(), "day 2026-03-02") {
		t.Errorf("another file is written to a store that fails: %v", err)
	}
	expect.Equal(t, "rows after the failure", 0, count(t, bucket))
	expect.Equal(t, "records after the failure", 0, c.Records)
	c.To = bucket
	files, err = c.Run(t.Context(), at)
	expect.NoError(t, err)
	expect.Equal(t, "files", 2, len(files))
	expect.Equal(t, "rows", 4, count(t, bucket))
}

// TestRunIgnoresPartsOfFiles: a day is not copied if the file of its copy is not complete.
func TestRunIgnoresPartsOfFiles(t *testing.T) {
	bucket := openIn(t, t.TempDir())
	day := fixture.Now.Truncate(24 * time.Hour)
	write(t, bucket, day, "a")
	expect.NoError(t, bucket.Write(t.Context(), "parquet/month=2026-03/20260301-1a.parquet.2b.tmp", []byte("PAR1")))
	files, err := (&compact.Compactor{From: &archive.Reader{Bucket: bucket}, To: bucket, Progress: func(int) {}}).Run(t.Context(), day.Add(72*time.Hour))
	expect.NoError(t, err)
	expect.Equal(t, "files", 1, len(files))
}

// TestRunGoesOnAfterDamage: a day with a damaged segment is an error and is not copied, and the days after it are.
func TestRunGoesOnAfterDamage(t *testing.T) {
	dir := t.TempDir()
	bucket := openIn(t, dir)
	day := fixture.Now.Truncate(24 * time.Hour)
	write(t, bucket, day, "a")
	damaged := filepath.Join(dir, filepath.FromSlash(onlyObject(t, bucket)))
	write(t, bucket, day.Add(24*time.Hour), "b")
	expect.NoError(t, os.Truncate(damaged, 20))
	c := &compact.Compactor{From: &archive.Reader{Bucket: bucket}, To: bucket, Progress: func(int) {}}
	files, err := c.Run(t.Context(), day.Add(72*time.Hour))
	expect.NoError(t, err)
	err = errors.Join(c.Unread...)
	if !errors.Is(err, archive.ErrCorrupt) || !strings.Contains(err.Error(), "day 2026-03-01: ") || len(files) != 1 || count(t, bucket) != 1 {
		t.Fatal(files, err)
	}
}

// onlyObject returns the name of the only object in a bucket.
func onlyObject(t *testing.T, bucket archive.Bucket) (name string) {
	t.Helper()
	for e, err := range bucket.List(t.Context(), "") {
		expect.NoError(t, err)
		name = e.Name
	}
	return name
}

// TestRunEncrypted: records of an encrypted segment are never written into the archive itself, also if older segments are not encrypted.
func TestRunEncrypted(t *testing.T) {
	dir, key := t.TempDir(), must(age.GenerateX25519Identity())
	bucket := openIn(t, dir)
	day := fixture.Now.Truncate(24 * time.Hour)
	write(t, bucket, day, "a")
	seal(t, bucket, archive.NewBuilder(key.Recipient()), day.Add(24*time.Hour), "b")
	c := &compact.Compactor{From: &archive.Reader{Bucket: bucket, Identities: []age.Identity{key}}, To: openIn(t, dir), Progress: func(int) {}}
	files, err := c.Run(t.Context(), day.Add(72*time.Hour))
	if err == nil || !strings.Contains(err.Error(), "day 2026-03-02: the archive is encrypted") || len(files) != 1 || count(t, bucket) != 1 {
		t.Fatal(files, err)
	}
	c.To = open(t)
	files, err = c.Run(t.Context(), day.Add(72*time.Hour))
	expect.NoError(t, err)
	expect.Equal(t, "files in another bucket", 2, len(files))

	c.To, c.From.Identities = open(t), nil
	files, err = c.Run(t.Context(), day.Add(72*time.Hour))
	if !errors.Is(err, archive.ErrEncrypted) || !strings.Contains(err.Error(), "day 2026-03-01: ") || len(files)+len(c.Unread) > 0 {
		t.Fatal(files, err, c.Unread)
	}
	c.From.Identities = []age.Identity{must(age.GenerateX25519Identity())}
	_, err = c.Run(t.Context(), day.Add(72*time.Hour))
	expect.NoError(t, err)
	expect.Equal(t, "days that another identity cannot read", 2, len(c.Unread))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// count returns the number of rows of all files.
func count(t *testing.T, bucket archive.Bucket) int {
	n := 0
	for e, err := range bucket.List(t.Context(), archive.ParquetPrefix) {
		expect.NoError(t, err)
		n += len(rows(t, bucket, e.Name))
	}
	return n
}
