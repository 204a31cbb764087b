// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var update = flag.Bool("update", false, "rewrite the golden page")

var at = fixture.Now

func row(namespace, name string, action policy.Action, reason policy.Reason, due time.Duration) preview.Row {
	v := policy.Verdict{Action: action, Reason: reason, Rule: policy.RuleID{Policy: "batch", Rule: "finished"}}
	if due != 0 {
		v.TTL = policy.Week
		v.Due = at.Add(due)
		v.Start = v.Due.Add(-v.TTL)
	}
	return preview.Row{APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: name, Verdict: v}
}

// TestPageOfPreview compares with a golden page, without the script and style.
func TestPageOfPreview(t *testing.T) {
	deferred := row("b", "deferred", policy.Wait, policy.Deferred, 10*time.Hour)
	deferred.Message = "windows of policy batch are closed: 0 22 * * *"
	owned := row("b", "owned", policy.Delete, policy.Expired, -time.Hour)
	owned.Verdict.Owner = &policy.Owner{Kind: fixture.Jobs, Name: "parent"}
	owned.Dependents = 3
	image := row("", "sha256:1", policy.Wait, policy.Waiting, 40*policy.Day)
	image.Kind, image.Image = "Image", &preview.Image{Name: "registry.example.com/app:1", Tags: 2, Bytes: 1_200_000_000}
	image.Storage.Bytes = image.Image.Bytes
	image.Verdict.Rule.Policy = "images"
	held := row("a", "held", policy.Keep, policy.Held, 0)
	held.Verdict.Rule = policy.RuleID{}
	r := &preview.Result{
		At:       at,
		Rows:     []preview.Row{image, held, row("a", "later", policy.Wait, policy.Waiting, 3*policy.Day), row("a", "dry", policy.Keep, policy.IsDryRun, time.Hour), deferred, owned},
		Failures: []preview.Failure{{RuleID: policy.RuleID{Policy: "batch", Rule: "finished"}, Namespace: "a", Name: "broken", Message: "no such key: status"}},
		Compared: true,
		Changes: []preview.Change{{APIVersion: "batch/v1", Kind: "Job", Namespace: "b", Name: "owned", Type: preview.NewlyDeleted,
			Before: preview.Outcome{Reason: policy.NotSelected}, After: preview.Outcome{Action: policy.Delete, Reason: policy.Expired, Due: preview.Time{Time: at.Add(-time.Hour)}}}},
	}
	text := written(t, report.OfPreview(r))
	for _, element := range []string{"style", "script"} {
		before, rest, _ := strings.Cut(text, "<"+element+">")
		_, after, _ := strings.Cut(rest, "</"+element+">")
		text = before + after
	}
	_, body, _ := strings.Cut(text, "<body>")
	expect.Golden(t, "testdata/preview.html", body, *update)
}

// TestPageOfManyObjectsIsSmall: a page about 10,000 objects with long names fits into a mail.
func TestPageOfManyObjectsIsSmall(t *testing.T) {
	r := &preview.Result{At: at}
	for i := range 10_000 {
		object := row(fmt.Sprintf("team-%02d-production", i%40), fmt.Sprintf("nightly-report-of-sales-in-europe-%05d-x7k2p", i), policy.Wait, policy.Waiting, time.Duration(i)*5*time.Minute)
		object.Verdict.Rule.Policy = fmt.Sprintf("retention-of-batch-jobs-%d", i%20)
		if i%10 == 0 {
			object.Verdict.Reason, object.Message = policy.Deferred, "windows of policy retention-of-batch-jobs are closed: 0 22 * * 1-5 for 8h0m0s in Europe/Berlin"
		}
		r.Rows = append(r.Rows, object)
	}
	isSmall(t, report.OfPreview(r))
}

func isSmall(t *testing.T, p *report.Page) {
	t.Helper()
	const most = 3_000_000
	size := len(written(t, p))
	t.Logf("%d bytes", size)
	if size > most {
		t.Errorf("the page has %d bytes, more than %d", size, most)
	}
}
