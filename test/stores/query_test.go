// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/compact"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/inputs"
	"github.com/sunset-k8s/sunset/test/stores"
)

// TestQueriesOfThePage compacts an archive in an S3 server, and runs all queries of docs/tasks/query-archives.md in DuckDB. DuckDB
// downloads its client of S3 when it is first used; so that the test needs no network, it copies the files out of the server instead.
func TestQueriesOfThePage(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("the driver of DuckDB needs a C++ compiler: ", err)
	}
	bucket := opened(t, stores.S3(t), "cluster-1/")
	archiveJobs(t, bucket)
	c := &compact.Compactor{From: &archive.Reader{Bucket: bucket}, To: bucket, Progress: func(int) {}}
	files, err := c.Run(t.Context(), time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC))
	expect.NoError(t, err)
	expect.Equal(t, "files", 3, len(files))
	dir := t.TempDir()
	for _, name := range names(t, bucket, archive.ParquetPrefix) {
		data, err := read(t, bucket, name)
		expect.NoError(t, err)
		to := filepath.Join(dir, filepath.FromSlash(name))
		expect.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		expect.NoError(t, os.WriteFile(to, data, 0o644))
	}

	page, err := os.ReadFile("../../docs/tasks/query-archives.md")
	expect.NoError(t, err)
	blocks := regexp.MustCompile("(?s)\n```sql\n(.*?)```\n").FindAllStringSubmatch(string(page), -1)
	_, view, ok := strings.Cut(blocks[0][1], "CREATE VIEW")
	if !ok {
		t.Fatalf("the first query of the page does not create the view:\n%s", blocks[0][1])
	}
	view = "CREATE VIEW" + strings.ReplaceAll(view, "s3://backups/cluster-1", filepath.ToSlash(dir))
	want := []string{
		"team,kind,objects,bytes\na,Job,2,",
		"policy,rule,hours,jobs\nbatch,failed,24,1\n",
		"image,jobs\nregistry.example.com/report:1,2\nregistry.example.com/mail:1,1\n",
		"day,kind,objects\n2025-06-01T00:00:00Z,Job,2\n2026-03-01T00:00:00Z,Job,1\n",
	}
	expect.Equal(t, "queries of the page", len(want), len(blocks)-1)
	for i, block := range blocks[1:] {
		if got := query(t, view+block[1]); !strings.HasPrefix(got, want[i]) {
			t.Errorf("%s: %q, want %q", block[1], got, want[i])
		}
	}
}

// archiveJobs archives four Jobs on three days. One was not deleted.
func archiveJobs(t *testing.T, to archive.Bucket) {
	t.Helper()
	index := archive.NewIndexer(to)
	for i, job := range []struct {
		at          time.Time
		rule, image string
		outcome     string
		result      archive.Result
		alongWith   []json.RawMessage
	}{
		{time.Date(2025, 6, 1, 8, 0, 0, 0, time.UTC), "done", "report:1", "Complete", archive.Deleted, []json.RawMessage{[]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`)}},
		{time.Date(2025, 6, 1, 9, 0, 0, 0, time.UTC), "done", "report:1", "Complete", archive.Gone, nil},
		{time.Date(2025, 7, 1, 9, 0, 0, 0, time.UTC), "done", "report:1", "Complete", archive.Kept, nil},
		{time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), "failed", "mail:1", "Failed", archive.Deleted, nil},
	} {
		name := fmt.Sprint("job-", i)
		object := fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":"7",
			"creationTimestamp":%q,"labels":{"team":"a"}},"spec":{"template":{"spec":{"containers":[{"image":"registry.example.com/%s"}]}}}}`,
			name, name, job.at.AddDate(0, 0, -1).Format(time.RFC3339), job.image)
		b := archive.NewBuilder()
		_, err := b.Add(audit.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: "7"},
			archive.Record{ArchivedAt: job.at, Policy: "batch", Rule: job.rule, Due: job.at, Reason: "Expired", Outcome: job.outcome,
				Object: json.RawMessage(object), Dependents: job.alongWith})
		expect.NoError(t, err)
		s, err := b.Seal(job.at)
		expect.NoError(t, err)
		expect.NoError(t, to.Write(t.Context(), s.Name, s.Data))
		index.Add(s)
		index.Finish(s.Name, 0, job.result, job.at)
		expect.NoError(t, index.Flush(t.Context(), job.at))
	}
}

// query returns the result of SQL statements as CSV.
func query(t *testing.T, statements string) string {
	t.Helper()
	expect.NoError(t, inputs.Files("duckdb"))
	cmd := exec.CommandContext(t.Context(), "go", "run", ".")
	cmd.Dir, cmd.Stdin = "duckdb", strings.NewReader(statements)
	cmd.Env = slices.Concat(os.Environ(), []string{"GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=1"})
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, errors.Bytes(), statements)
	}
	return string(out)
}
