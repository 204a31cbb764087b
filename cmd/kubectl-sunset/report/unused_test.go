// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// unusedRow is an object that has been unused for a day. Its size is in bytes, and 0 if it is unknown.
func unusedRow(kind, namespace, name string, size int64) preview.Row {
	r := row(namespace, name, policy.Wait, policy.Waiting, 6*policy.Day)
	r.Kind, r.Storage.Bytes = kind, size
	return r
}

// TestPageOfUnusedObjects has the sum of all sizes, and numbers and sizes by kind and namespace.
func TestPageOfUnusedObjects(t *testing.T) {
	r := &preview.Result{At: at, Rows: []preview.Row{
		unusedRow("PersistentVolume", "", "pv-7", 2_000_000_000), unusedRow("PersistentVolumeClaim", "a", "left", 1_000_000_000),
		unusedRow("ConfigMap", "a", "old", 0), unusedRow("ConfigMap", "a", "older", 0), unusedRow("ConfigMap", "b", "other", 0),
	}}
	text := written(t, report.OfUnused(r))
	for _, want := range []string{
		"<dt>Total size</dt><dd>3GB</dd>",
		`</i>ConfigMap<td class="number">3<td class="number">-`,
		`</i>PersistentVolumeClaim<td class="number">1<td class="number">1GB`,
		`</i>a<td class="number">3<td class="number">1GB`,
		`</i>no namespace<td class="number">1<td class="number">2GB`,
		"<title>ConfigMap: 3</title>", "<title>no namespace: 1</title>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not on the page:\n%s", want, text)
		}
	}
	r.Rows = r.Rows[2:]
	if text := written(t, report.OfUnused(r)); strings.Contains(text, "Total size") || strings.Contains(text, "GB") || strings.Contains(text, ">Size<") {
		t.Errorf("the page has sizes that are not known:\n%s", text)
	}
	r.Rows = nil
	if text := written(t, report.OfUnused(r)); strings.Contains(text, "<svg") {
		t.Errorf("the page has a chart without bars:\n%s", text)
	}
}

// TestPageOfManyUnusedObjectsIsSmall: a page about 10,000 objects with long names fits into a mail.
func TestPageOfManyUnusedObjectsIsSmall(t *testing.T) {
	r := &preview.Result{At: at}
	for i := range 10_000 {
		object := unusedRow("PersistentVolumeClaim", fmt.Sprintf("team-%02d-production", i%40), fmt.Sprintf("data-of-the-database-of-sales-in-europe-%05d-x7k2p", i), int64(i)*1_000_000)
		object.Verdict.Rule.Policy = "unused-volumes-of-all-teams"
		r.Rows = append(r.Rows, object)
	}
	isSmall(t, report.OfUnused(r))
}

// TestRankingHasFewBars: the groups that have no bar of their own are in the last one.
func TestRankingHasFewBars(t *testing.T) {
	c := report.NewRanking("label", []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}, []int{50, 20, 10, 5, 5, 5, 5, 3, 2})
	expect.Equal(t, "bars", 8, len(c.Bars))
	expect.Equal(t, "last bar", "2 others: 5", c.Bars[7].Title)
	for i, bar := range c.Bars {
		if end := bar.Y + bar.Height; end > c.Height() || bar.X+bar.Width > c.Width() || i > 0 && bar.Y < c.Bars[i-1].Y+c.Bars[i-1].Height {
			t.Errorf("bar %d is at %+v", i, bar)
		}
	}
	expect.Equal(t, "bars of two groups", 2, len(report.NewRanking("label", []string{"a", "b"}, []int{0, 0}).Bars))
}
