// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

// deletionLine is a line of Sunset's log about a Job in namespace shop.
func deletionLine(name, result, more string) string {
	return fmt.Sprintf(`{"level":"info","logger":"audit","msg":"object deleted","deletion":{"time":"2026-03-01T11:00:00.25Z","result":%q,
"object":{"apiVersion":"batch/v1","kind":"Job","namespace":"shop","name":%q,"uid":"u-%s","resourceVersion":"7"},"propagationPolicy":"Background",
"policy":"batch","policyUID":"p1","generation":3,"hash":"3f2a","approvals":["77ab"],"rule":"jobs","reason":"Expired","dueTime":"2026-03-01T11:00:00Z",
"outcome":"Failed","controller":"sunset-x"%s}}`, result, name, name, more)
}

// logOf is a log with one line for each text.
func logOf(lines ...string) string {
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "\n", "")
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestWhoInFiles(t *testing.T) {
	owned := strings.Replace(deletionLine("x", "deleted", ""), `"propagationPolicy"`,
		`"owner":{"apiVersion":"batch/v1","kind":"CronJob","namespace":"shop","name":"nightly","uid":"o1","resourceVersion":"9"},"propagationPolicy"`, 1)
	log := logOf("starting", `{"level":"info","msg":"policy read"}`, deletionLine("report", "unknown", ""), deletionLine("report", "deleted", `,"traceID":"t1","archive":{"name":"history","segment":"segments/s1","line":4}`), deletionLine("other", "deleted", ""), owned)
	golden(t, "who", run(t, log, "who", "job/report", "-n", "shop", "-f", "-", "-f", "testdata/apiserver-audit.log"))
	wants(t, run(t, log, "who", "jobs.batch/report", "-f", "-"), command.ExitOK, "line 4 of standard input")
	wants(t, run(t, log, "who", "cronjob", "nightly", "-n", "shop", "-f", "-"), command.ExitOK, "Sunset deleted CronJob.batch/shop/nightly at", "deleted instead of Job.batch/shop/x")
	wants(t, run(t, log, "who", "CJ", "nightly", "-n", "shop", "-f", "-"), command.ExitOK, "Sunset deleted CronJob.batch/shop/nightly at")
	wants(t, run(t, log, "who", "job/report", "-n", "elsewhere", "-f", "-"), command.ExitFindings, "No deletion found.", "Records about objects that garbage collection deleted name their owner.")
	wants(t, run(t, log, "who", "pod/report", "-f", "-"), command.ExitFindings)
	asJSON := run(t, log, "who", "job/report", "-n", "shop", "-f", "-", "-o", "json")
	wants(t, asJSON, command.ExitOK, `"kind": "DeletionReport"`, `"result": "unknown"`)
	sameInYAML(t, asJSON, run(t, log, "who", "job/report", "-n", "shop", "-f", "-", "-o", "yaml"))
}

// TestWhoInRequests: of the requests in an audit log of the API server, those that delete the Pod.
func TestWhoInRequests(t *testing.T) {
	const del, deleteAll, evict = `"verb":"delete"`, `"verb":"deletecollection"`, `"verb":"create"`
	const dry, wet = `{"kind":"DeleteOptions","dryRun":["All"]}`, `{"kind":"DeleteOptions","propagationPolicy":"Background"}`
	const mayBeDry = "note: the audit log has no options of 1 request, because its level is Metadata; a dry run looks like"
	for name, test := range map[string]struct {
		verb, level, body, query, of string
		code                         int
		want                         string // empty if the request deletes nothing
	}{
		"a request for one object":          {del, "Request", wet, "", "", 200, "eve deleted pods/shop/report-x at "},
		"a dry run":                         {del, "Request", dry, "", "", 200, ""},
		"a dry run without a body":          {del, "Request", "", "?dryRun=All", "", 200, ""},
		"a query that the body replaces":    {del, "Request", wet, "?dryRun=All", "", 200, "eve deleted pods/shop/report-x at "},
		"a request without options":         {del, "Request", "", "", "", 200, "eve deleted pods/shop/report-x at "},
		"options that are not logged":       {del, "Metadata", "", "", "", 200, mayBeDry},
		"a query that is logged":            {del, "Metadata", "", "?dryRun=All", "", 200, ""},
		"a collection":                      {deleteAll, "Request", wet, "", "", 200, "eve deleted a collection of objects"},
		"a dry run about a collection":      {deleteAll, "Request", dry, "", "", 200, ""},
		"an eviction":                       {evict, "Request", `{"kind":"Eviction","deleteOptions":{"gracePeriodSeconds":0}}`, "", "eviction", 201, "note        client kubectl/v1.37.1, eviction"},
		"an eviction without options":       {evict, "Metadata", "", "", "eviction", 201, mayBeDry},
		"an eviction that is not allowed":   {evict, "Request", `{"kind":"Eviction"}`, "", "eviction", 429, ""},
		"a dry run of an eviction":          {evict, "Request", `{"kind":"Eviction","deleteOptions":{"dryRun":["All"]}}`, "", "eviction", 201, ""},
		"a dry run of an eviction by query": {evict, "Request", `{"kind":"Eviction"}`, "?dryRun=All", "eviction", 201, ""},
		"another subresource":               {evict, "Request", `{"kind":"Binding"}`, "", "binding", 201, ""},
		"a new Pod":                         {evict, "Request", `{"kind":"Pod"}`, "", "", 201, ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := ""
			if test.body != "" {
				body = `"requestObject":` + test.body + ","
			}
			line := fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":%q,"stage":"ResponseComplete",%s,"requestURI":"/api/v1/namespaces/shop/pods/report-x%s","user":{"username":"eve"},
"userAgent":"kubectl/v1.37.1","objectRef":{"resource":"pods","namespace":"shop","name":"report-x","apiVersion":"v1","subresource":%q},%s"responseStatus":{"code":%d},"stageTimestamp":"2026-03-01T10:00:00.000000Z"}`,
				test.level, test.verb, test.query, test.of, body, test.code)
			got := run(t, logOf(line), "who", "pod/report-x", "-n", "shop", "-f", "-")
			if test.want == "" {
				wants(t, got, command.ExitFindings, "No deletion found.")
				return
			}
			wants(t, got, command.ExitOK, test.want)
			expect.Equal(t, "may be a dry run", test.want == mayBeDry, strings.Contains(got.err, "dry run"))
		})
	}
}

func TestWhoWrongUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"name one object as KIND/NAME":    {"who"},
		"read testdata/missing.log: open": {"who", "job/report", "-f", "testdata/missing.log"},
	} {
		wants(t, run(t, "", args...), command.ExitError, want)
	}
}

// TestWhoInTheCluster: Events of Sunset about the object, entries of ledgers, and a new object of its name. Times are in UTC.
func TestWhoInTheCluster(t *testing.T) {
	before := time.Local
	time.Local = time.FixedZone("east", 5*60*60)
	t.Cleanup(func() { time.Local = before })
	const events, ledgers = "/apis/events.k8s.io/v1/namespaces/dev/events", "/apis/sunset-k8s.io/v1alpha1/retentionledgers"
	event := func(name, kind, reason, by string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"dev"},"eventTime":"2026-03-01T11:00:00.000000Z","reportingController":%q,"action":"Delete","reason":%q,
			"regarding":{"apiVersion":"batch/v1","kind":%q,"namespace":"dev","name":"report","uid":"u1","resourceVersion":"7"},"note":"deleted by rule batch/jobs, due 2026-03-01T11:00:00Z"}`, name, by, reason, kind)
	}
	s := newAPIServer(t)
	s.list(events, "events.k8s.io/v1", "Event", []string{
		event("e1", "Job", "Expired", "sunset"), event("e2", "Pod", "Expired", "sunset"), event("e3", "Job", "Deleted", "sunset"), event("e4", "Job", "Expired", "other"),
	})
	s.list(ledgers, "sunset-k8s.io/v1alpha1", "RetentionLedger", []string{`{"metadata":{"name":"l1"},"policy":{"kind":"ClusterRetentionPolicy","name":"batch","uid":"p1"},"total":{"deleted":1,"gone":0},
		"open":[{"rule":"jobs","apiVersion":"batch/v1","kind":"Job","namespace":"dev","objects":["other u2 8","report u3 9","my report u4 10","broken"]}]}`})
	s.store("/apis/batch/v1/namespaces/dev/jobs/report", `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"report","creationTimestamp":"2026-02-28T12:00:00Z"}}`)
	golden(t, "who-cluster", s.run(t, "", "who", "job/report"))
	wants(t, s.run(t, "", "who", "job/my report"), command.ExitOK, "RetentionLedger l1")
	wants(t, s.run(t, "", "who", "job/report", "-o", "json"), command.ExitOK, `"existsSince": "2026-02-28T12:00:00Z"`)
	expect.Equal(t, "Events of the name only", true, strings.Contains(strings.Join(s.asked, "\n"), "fieldSelector=regarding.name%3Dreport"))

	delete(s.pages, "/apis/batch/v1/namespaces/dev/jobs/report")
	s.list(events, "events.k8s.io/v1", "Event", nil)
	s.store(ledgers, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	wants(t, s.run(t, "", "who", "job/report"), command.ExitFindings, "No deletion found.", "Search the log of Sunset")
	s.store(events, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	wants(t, s.run(t, "", "who", "job/report"), command.ExitError, "list Events: ")
}

// TestWhoInAnArchive: the records of an archive, without a cluster. A dependent was deleted with its object.
func TestWhoInAnArchive(t *testing.T) {
	url := newArchived(t)
	got := run(t, "", "who", "job/report", "-n", "dev", "--url", url)
	segment := regexp.MustCompile(`segments/\S+#`)
	got.out = segment.ReplaceAllString(strings.ReplaceAll(got.out, url, "URL"), "SEGMENT#")
	golden(t, "who-archive", got)
	for object, says := range map[string]string{
		"pod/report-x": "garbage collection deletes Pod/report-x with it",
		"job/mail":     "Sunset asked to delete Job.batch/dev/mail, which no longer existed at 2026-02-27T10:01:00Z.",
		"widgets/w":    "rule        r of policy widgets",
		"secret/token": "Sunset deleted Secret/prod/token at 2026-02-27T10:01:00Z.",
	} {
		wants(t, run(t, "", "who", object, "--url", url), command.ExitOK, says)
	}
	wants(t, run(t, "", "who", "job/report", "-n", "prod", "--url", url), command.ExitFindings, "No deletion found.", "The archive has no record")
	wants(t, run(t, "", "who", "configmap/kept", "--url", url), command.ExitFindings, "No deletion found.")
	wants(t, run(t, "", "who", "job/report", "--url", "file:///none"), command.ExitError, "file:///none")
	wants(t, run(t, logOf(deletionLine("report", "deleted", `,"snapshot":"sunset-u-report"`)), "who", "job/report", "-f", "-"), command.ExitOK, "snapshot    sunset-u-report")
	wants(t, run(t, logOf(deletionLine("report", "deleted", "")), "who", "job/report", "-f", "-", "--url", url), command.ExitOK, "line 1 of standard input", "archive "+url)
	wants(t, run(t, "", "who", "job/report", "--url", url, "-o", "json"), command.ExitOK, `"result": "deleted"`, `"policy": "batch"`, `"line": 0`)
}

// TestWhoWithoutResult: the process may have ended before it wrote the result.
func TestWhoWithoutResult(t *testing.T) {
	url := newArchived(t)
	found, err := filepath.Glob(strings.TrimPrefix(url, "file://") + "/index/*/*/*/*")
	expect.NoError(t, err)
	for _, name := range found {
		expect.NoError(t, os.Remove(name))
	}
	wants(t, run(t, "", "who", "job/report", "--url", url), command.ExitOK, "Sunset archived Job.batch/dev/report at 2026-02-27T10:00:00Z, to delete it. The archive has no result.")
}

// TestWhoInArchivesOfTheCluster: all RetentionArchives, or the named one. One that cannot be read does not hide the others,
// but the exit code tells of it.
// The cluster need not serve the kind of the object.
func TestWhoInArchivesOfTheCluster(t *testing.T) {
	const path = "/apis/sunset-k8s.io/v1alpha1/retentionarchives"
	s := newAPIServer(t)
	s.list("/apis/events.k8s.io/v1/namespaces/dev/events", "events.k8s.io/v1", "Event", nil)
	var all []string
	for name, url := range map[string]string{"history": newArchived(t), "broken": "file:///none"} {
		archive := fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"RetentionArchive","metadata":{"name":%q},"spec":{"url":%q}}`, name, url)
		all = append(all, archive)
		s.store(path+"/"+name, archive)
	}
	s.list(path, "sunset-k8s.io/v1alpha1", "RetentionArchive", all)
	wants(t, s.run(t, "", "who", "job/report"), command.ExitFindings, "Sunset deleted Job.batch/dev/report", "source      archive history", `note: RetentionArchive "broken" not searched: `)
	wants(t, s.run(t, "", "who", "widgets/w"), command.ExitFindings, "rule        r of policy widgets", `note: find kind widgets: the server doesn't have a resource type "widgets"; the command does not say`)
	wants(t, s.run(t, "", "who", "job/report", "--archive", "broken"), command.ExitError, "open archive broken")
	wants(t, s.run(t, logOf(deletionLine("other", "deleted", "")), "who", "job/report", "-f", "-", "--archive", "history"), command.ExitOK, "source      archive history")
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	code := "AccessDenied"
	s.proxied = map[string]http.HandlerFunc{"/denied": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
	}}
	denied := strings.Replace(s.pages[path+"/broken"][0], "file:///none", "s3://denied?region=eu&use_path_style=true&endpoint="+s.URL, 1)
	s.store(path+"/broken", denied)
	wants(t, s.run(t, "", "who", "job/report"), command.ExitOK, "Sunset deleted Job.batch/dev/report", `note: RetentionArchive "broken" not searched: `, "403")
	code = "SignatureDoesNotMatch"
	wants(t, s.run(t, "", "who", "job/report"), command.ExitFindings, "Sunset deleted Job.batch/dev/report", "SignatureDoesNotMatch")
	s.store(path, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	wants(t, s.run(t, "", "who", "job/report"), command.ExitFindings, "No deletion found.")
	s.Close()
	wants(t, s.run(t, "", "who", "widgets/w"), command.ExitError, "error: list Events: ")
}
