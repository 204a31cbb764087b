// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	records "github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/test/expect"
)

// archivedJob is an entry of an archive.
func archivedJob(namespace, name string, age time.Duration) archive.Entry {
	return archive.NewEntry(records.Meta{
		Object:  audit.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: name, UID: "5c1f0f4e-6f60-4a52-8d1c-6f3c2a1b0d9e", ResourceVersion: "7"},
		Segment: "segments/2026/03/01/20260301T120000Z-" + strings.Repeat("0", 64) + ".jsonl.zst",
		Policy:  "batch", Rule: "failed", Reason: "Expired", Outcome: "Failed", Result: records.Deleted, ArchivedAt: at.Add(-age), Bytes: 2000,
	})
}

// TestPageOfArchive: the page has each object and the numbers of each group as plain tables, and names are text.
func TestPageOfArchive(t *testing.T) {
	pod := archivedJob("a", "report", 0)
	pod.Dependent = "Pod/report-x"
	hostile := archivedJob("b", `"><img src=x onerror=alert(1)></script><script>alert(1)</script>`, 0)
	hostile.Namespace = ""
	entries := []archive.Entry{archivedJob("a", "report", 24*time.Hour), pod, hostile}
	text := written(t, report.OfArchive(archive.NewList("history", entries), at))
	for _, want := range []string{
		"<dt>Archive</dt><dd>history</dd>", "<h2>By policy</h2>", `<td>batch<td class="number">3<td class="number">4000`,
		`<td>2026-02-28<td class="number">1<td class="number">2000`, `<td>Pod<td class="number">1<td class="number">0`,
		`<td>a<td>Job<td>report<td>2026-02-28T12:00:00Z<td>deleted<td>Failed<td>batch<td>failed<td>Expired<td class="number">2000<td>-`,
		`<td>a<td>Pod<td>report-x<td>2026-03-01T12:00:00Z<td>deleted<td>Failed<td>batch<td>failed<td>Expired<td class="number">2000<td>Job.batch/a/report`,
		`<td>-<td>Job<td>&#34;&gt;&lt;img src=x onerror=alert(1)&gt;&lt;/script&gt;`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not on the page:\n%s", want, text)
		}
	}
	expect.Equal(t, "scripts", 1, strings.Count(text, "<script"))
}

// TestPageOfManyArchivedObjectsIsSmall: a page about 10,000 records with long names fits into a mail, and needs no network.
func TestPageOfManyArchivedObjectsIsSmall(t *testing.T) {
	const most = 3_000_000
	var entries []archive.Entry
	for i := range 10_000 {
		e := archivedJob(fmt.Sprintf("team-%02d-production", i%40), fmt.Sprintf("nightly-report-of-sales-in-europe-%05d-x7k2p", i), time.Duration(i)*time.Minute)
		e.Policy = fmt.Sprintf("retention-of-batch-jobs-%d", i%20)
		entries = append(entries, e)
	}
	text := written(t, report.OfArchive(archive.NewList("s3://backups/cluster-1", entries), at))
	if len(text) > most {
		t.Errorf("the page has %d bytes, more than %d", len(text), most)
	}
	for _, tag := range tags.FindAllStringSubmatch(text, -1) {
		if slices.Contains([]string{"img", "iframe"}, tag[1]) || strings.Contains(tag[2], "//") {
			t.Errorf("element %s loads something", tag[0])
		}
	}
}
