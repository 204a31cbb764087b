// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"strings"
	"testing"

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
	wants(t, run(t, log, "who", "job/report", "-n", "elsewhere", "-f", "-"), command.ExitFindings, "No deletion found.", "Records about objects that garbage collection deleted name their owner.")
	wants(t, run(t, log, "who", "pod/report", "-f", "-"), command.ExitFindings)
	asJSON := run(t, log, "who", "job/report", "-n", "shop", "-f", "-", "-o", "json")
	wants(t, asJSON, command.ExitOK, `"kind": "DeletionReport"`, `"result": "unknown"`)
	sameInYAML(t, asJSON, run(t, log, "who", "job/report", "-n", "shop", "-f", "-", "-o", "yaml"))
}

func TestWhoWrongUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"name one object as KIND/NAME":    {"who"},
		"read testdata/missing.log: open": {"who", "job/report", "-f", "testdata/missing.log"},
	} {
		wants(t, run(t, "", args...), command.ExitError, want)
	}
}

// TestWhoInTheCluster: Events of Sunset about the object, entries of ledgers, and a new object of its name.
func TestWhoInTheCluster(t *testing.T) {
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
		"open":[{"rule":"jobs","apiVersion":"batch/v1","kind":"Job","namespace":"dev","objects":["other u2 8","report u3 9","broken"]}]}`})
	s.store("/apis/batch/v1/namespaces/dev/jobs/report", `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"report","creationTimestamp":"2026-02-28T12:00:00Z"}}`)
	golden(t, "who-cluster", s.run(t, "", "who", "job/report"))
	expect.Equal(t, "Events of the name only", true, strings.Contains(strings.Join(s.asked, "\n"), "fieldSelector=regarding.name%3Dreport"))

	delete(s.pages, "/apis/batch/v1/namespaces/dev/jobs/report")
	s.list(events, "events.k8s.io/v1", "Event", nil)
	s.store(ledgers, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	wants(t, s.run(t, "", "who", "job/report"), command.ExitFindings, "No deletion found.", "Search the log of Sunset")
	s.store(events, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	wants(t, s.run(t, "", "who", "job/report"), command.ExitError, "list Events: ")
}
