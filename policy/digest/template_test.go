// SPDX-License-Identifier: Apache-2.0

package digest_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/digest"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func content() *digest.Content {
	since := now.Add(-24 * 3600e9)
	return &digest.Content{
		Digest: "daily", Time: now, Since: &since, Ahead: "24h", DueNow: 1, Due: 7, Deleted: 3, Gone: 1, Stuck: 1, Uncounted: 1, MorePolicies: 2,
		Policies: []digest.Policy{
			{
				Kind: "ClusterRetentionPolicy", Name: "batch", Mode: "Enforce", DueNow: 1, Due: 7, Deleted: 3, Gone: 1, Exact: true,
				Soonest:  []digest.Sample{{Kind: "Job", Namespace: "shop", Name: "report", DueTime: now, Rule: "jobs", Explain: "kubectl sunset explain job.batch/report -n shop"}},
				Problems: []digest.Problem{{Reason: "Delayed", Message: "Job shop/x: refused"}},
			},
			{Kind: "RetentionPolicy", Namespace: "shop", Name: "own", Mode: "DryRun", Due: 2, Deleted: 5, Storage: &digest.Storage{
				Estimated: true, Currency: "EUR",
				Due: v1alpha1.Storage{Bytes: 1_530_000_000, EstimatedMonthlyCost: "0.12"}, Kept: v1alpha1.Storage{Bytes: 7},
			}},
		},
	}
}

func TestBuiltInTemplate(t *testing.T) {
	text, err := loaded(t, with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.TimeZone = "Europe/Berlin" })).Text(content())
	expect.NoError(t, err)
	expect.Equal(t, "text", `Sunset digest daily: 7 due within 24h, 3 deleted, 1 policy has problems

ClusterRetentionPolicy batch: 1 due now, 7 within 24h, 3 deleted, 1 gone
- Sun 1 Mar 13:00 CET: kubectl sunset explain job.batch/report -n shop
! Delayed: Job shop/x: refused

RetentionPolicy shop/own (DryRun): 0 due now, 2 within 24h, about 5 deleted
Storage: 1.53 GB (estimated 0.12 EUR a month) due within 24h, 7 B (estimated) kept

Policies that are not listed: 2

Policies whose deletions are not known: 1
`, text)
}

// TestPageShowsADigest: docs/tasks/send-digests.md shows the text of a digest with this content.
func TestPageShowsADigest(t *testing.T) {
	page, err := os.ReadFile("../../docs/tasks/send-digests.md")
	expect.NoError(t, err)
	_, shown, _ := strings.Cut(string(page), "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	due := func(name string, at time.Time) digest.Sample {
		return digest.Sample{DueTime: at, Explain: "kubectl sunset explain job.batch/" + name + " -n shop"}
	}
	text, err := loaded(t, with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.TimeZone = "Europe/Berlin" })).Text(&digest.Content{
		Digest: "weekdays", Since: &time.Time{}, Ahead: "1d", Due: 12, Deleted: 310, Stuck: 1,
		Policies: []digest.Policy{{
			Kind: "ClusterRetentionPolicy", Name: "batch", Mode: "Enforce", DueNow: 1, Due: 12, Deleted: 310, Exact: true,
			Soonest: []digest.Sample{due("import", time.Date(2026, 3, 2, 6, 40, 0, 0, time.UTC)), due("report", time.Date(2026, 3, 2, 8, 15, 0, 0, time.UTC))},
			Problems: []digest.Problem{{Reason: "Refused", Message: "Sunset cannot delete objects that are due: Refused in namespace shop, such as import: " +
				"admission webhook \"guard.example.com\" denied the request; change the object, or the admission policy or webhook that denies the request"}},
		}},
	})
	expect.NoError(t, err)
	expect.Equal(t, "text", strings.Fields(shown), strings.Fields(text))
}

// TestTemplateIsBounded: no template runs for long, or returns a long text.
func TestTemplateIsBounded(t *testing.T) {
	for name, test := range map[string]struct{ template, want string }{
		"own text":               {`{"text": {{json .Summary}}}`, `{"text": "7 due within 24h, 3 deleted, 1 policy has problems"}`},
		"a defined template":     {`{{define "p"}}{{.Name}};{{end}}{{range .Policies}}{{template "p" .}}{{end}}`, "batch;own;"},
		"break and continue":     {`{{range .Policies}}{{if eq .Name "batch"}}{{continue}}{{end}}{{.Name}}{{break}}{{end}}`, "own"},
		"else":                   {`{{range .Namespaces}}{{.}}{{else}}all{{end}}`, "all"},
		"a long loop":            {`{{range 1000000000000}}{{end}}`, "error: the template has more than 10000 iterations"},
		"a loop in a loop":       {`{{range 1000000}}{{range 1000000}}{{end}}{{end}}`, "error: the template has more than 10000 iterations"},
		"a loop in conditions":   {`{{if true}}{{with .}}{{range 1000000000}}{{end}}{{end}}{{end}}`, "error: the template has more than 10000 iterations"},
		"a loop in an else":      {`{{if false}}{{else if true}}{{range 1000000000}}{{end}}{{end}}`, "error: the template has more than 10000 iterations"},
		"recursion":              {`{{define "r"}}{{template "r" .}}{{template "r" .}}{{end}}{{template "r" .}}`, "error: templates call each other more than 100 deep"},
		"a text that doubles":    {`{{$s := "xxxxxxxx"}}{{range 60}}{{$s = print $s $s}}{{end}}`, "error: the text is longer than 262144 bytes"},
		"a text that is escaped": {`{{$s := "\\"}}{{range 60}}{{$s = js $s}}{{end}}`, "error: the text is longer than 262144 bytes"},
		"a wide number":          {`{{printf "%999999d" 1}}`, "error: printf is not available; use print"},
		"a long text":            {`{{range 9000}}12345678901234567890123456789012{{end}}`, "error: the text is longer than 262144 bytes"},
		"recursion with texts": {`{{define "r"}}{{$a := print .}}{{template "r" $a}}{{end}}{{$s := "xxxxxxxxxxxxxxxx"}}{{range 14}}{{$s = print $s $s}}{{end}}{{template "r" $s}}`,
			"error: functions of the template return more than 4194304 bytes"},
		"many calls of templates":  {`{{define "r"}}{{len .}}{{end}}{{range 1000}}{{template "r" "a"}}{{end}}`, strings.Repeat("1", 1000)},
		"texts in a loop":          {`{{$s := "\\\\\\\\"}}{{range 13}}{{$s = print $s $s}}{{end}}{{range 9999}}{{$y := js $s}}{{end}}`, "error: functions of the template return more than 4194304 bytes"},
		"many functions in a loop": {`{{range 1000}}{{$y := eq 1 (len (slice "abc" 1))}}{{if not $y}}{{with len "a" | print | len}}{{end}}{{end}}{{if (index $.Policies 0).Name | eq "a"}}{{end}}{{$z := and true (or false true)}}{{end}}`, "error: the template has more than 10000 iterations"},
		"one call with long texts": {`{{$s := "xxxxxxxxxxxxxxxx"}}{{range 13}}{{$s = print $s $s}}{{end}}{{$y := len (print $s $s $s)}}`, "error: the text is longer than 262144 bytes"},
		"a field that is unknown":  {`{{.Nothing}}`, "error: "},
	} {
		t.Run(name, func(t *testing.T) {
			d := loaded(t, with(webhook(receiver), func(s *v1alpha1.DigestSpec) { s.Template = test.template }))
			for range 2 { // the second execution begins from zero
				text, err := d.Text(content())
				if err != nil {
					text = "error: " + err.Error()
				}
				failure, fails := strings.CutPrefix(test.want, "error: ")
				if fails && (err == nil || !strings.Contains(err.Error(), failure)) || !fails && text != test.want {
					t.Errorf("%s, want %s", text, test.want)
				}
			}
		})
	}
}
