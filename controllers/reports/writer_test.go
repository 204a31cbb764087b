// SPDX-License-Identifier: Apache-2.0

package reports_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/reports"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/report"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/scrape"
)

// TestRound: a report is written when its content changes, and deleted when it has none any more.
func TestRound(t *testing.T) {
	h := newHarness(t)
	h.about("batch", fixture.Jobs)
	h.jobs(due("n001", "a", time.Hour), due("n001", "b", 2*time.Hour), due("n002", "c", 3*time.Hour), due("n003", "later", 48*time.Hour), due("", "node", time.Hour))
	h.wantRound("the first round", "apply /sunset-uid-batch", "apply n001/sunset-uid-batch", "apply n002/sunset-uid-batch")
	expect.Equal(t, "results", []string{"warn a", "warn b"}, h.results("n001", "batch"))
	expect.Equal(t, "kind", "ClusterReport", h.stored["/sunset-uid-batch"].Kind)
	h.wantRound("no change")
	h.restart()
	h.wantRound("no change after a restart")
	h.jobs(due("n001", "a", time.Hour), due("n001", "new", 2*time.Hour), due("", "node", time.Hour))
	h.wantRound("an object is new, one is deleted", "delete n002/sunset-uid-batch", "apply n001/sunset-uid-batch")
	expect.Equal(t, "results", []string{"warn a", "warn new"}, h.results("n001", "batch"))
	h.Round(t.Context())
	lists := h.lists
	h.Round(t.Context())
	expect.Equal(t, "lists within a minute", lists, h.lists)
}

// TestOthers: the reports of a policy that no longer exists are deleted once, and those of other programs stay.
func TestOthers(t *testing.T) {
	h := newHarness(t)
	h.about("batch", fixture.Jobs)
	h.jobs(due("n001", "a", time.Hour))
	for name, labels := range map[string]map[string]string{
		"cpol-labels":           {report.ManagedByLabel: "kyverno"},
		"with-our-label":        {report.ManagedByLabel: report.ManagedBy},
		"sunset-uid-without-it": nil,
		"sunset-uid-removed":    {report.ManagedByLabel: report.ManagedBy},
	} {
		r := openreports.Report{TypeMeta: metav1.TypeMeta{Kind: "Report"}, ObjectMeta: metav1.ObjectMeta{Namespace: "n001", Name: name, UID: types.UID("of-" + name), Labels: labels}}
		h.stored["n001/"+name] = r
	}
	terminating := h.stored["n001/sunset-uid-removed"]
	terminating.Name, terminating.DeletionTimestamp = "sunset-uid-terminating", &metav1.Time{Time: fixture.Now}
	h.stored["n001/sunset-uid-terminating"] = terminating
	h.wantRound("reports of others", "delete n001/sunset-uid-removed", "apply n001/sunset-uid-batch")
	expect.Equal(t, "reports", 5, len(h.stored))
}

// TestBoundedWrites: a round makes a limited number of writes. The next one continues.
func TestBoundedWrites(t *testing.T) {
	h := newHarness(t)
	h.about("batch", fixture.Jobs)
	var rows []*index.FactRow
	for n := range reports.MaxWrites + 20 {
		rows = append(rows, due(fmt.Sprintf("n%03d", n), "a", time.Hour))
	}
	h.jobs(rows...)
	expect.Equal(t, "writes", reports.MaxWrites, len(h.round()))
	expect.Equal(t, "writes of the second round", 20, len(h.round()))
	h.jobs(rows[:10]...)
	got := h.round()
	expect.Equal(t, "deletions", reports.MaxWrites, len(got))
	expect.Equal(t, "reports", 20, len(h.stored))
}

// TestReportsThatNoPolicyCanHave: objects that a tenant creates with the label and a name of reports neither take the places of reports
// nor use up all writes.
func TestReportsThatNoPolicyCanHave(t *testing.T) {
	for name, of := range map[string]func(i int) (namespace, name string){
		"the policy does not exist":          func(i int) (string, string) { return "tenant", fmt.Sprint("sunset-uid-removed-", i) },
		"the policy is in another namespace": func(i int) (string, string) { return fmt.Sprint("tenant-", i), "sunset-uid-own" },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.about("batch", fixture.Jobs)
			own := h.about("n001/own", fixture.Jobs)
			own.Namespace, own.Rules[0].Namespace, own.UID, own.Rules[0].PolicyUID = "n001", "n001", "uid-own", "uid-own"
			for i := range report.MaxReports {
				namespace, name := of(i)
				h.stored[namespace+"/"+name] = openreports.Report{TypeMeta: metav1.TypeMeta{Kind: "Report"}, ObjectMeta: metav1.ObjectMeta{
					Namespace: namespace, Name: name, UID: types.UID("of-" + namespace + name), Labels: map[string]string{report.ManagedByLabel: report.ManagedBy},
				}}
			}
			var rows []*index.FactRow
			for n := range 40 {
				rows = append(rows, due(fmt.Sprintf("n%03d", 100+n), "a", time.Hour))
			}
			h.jobs(rows...)
			for round, writes := range []int{reports.MaxWrites / 2, 40 - reports.MaxWrites/2} {
				applied := slices.DeleteFunc(h.round(), func(request string) bool { return strings.HasPrefix(request, "delete tenant") })
				expect.Equal(t, fmt.Sprintf("writes of round %d", round), writes, len(applied))
				expect.Equal(t, fmt.Sprintf("requests of round %d", round), reports.MaxWrites, len(h.requests))
			}
		})
	}
}

// TestUnlisted: while the objects of a kind are not listed, the reports of policies about it do not change. Others do.
func TestUnlisted(t *testing.T) {
	h := newHarness(t)
	h.about("batch", fixture.Jobs)
	h.about("pods", fixture.Pods)
	all := map[schema.GroupVersionKind][]*index.FactRow{fixture.Jobs: {due("n001", "a", time.Hour)}, fixture.Pods: {due("n001", "p", time.Hour)}}
	h.set(all)
	h.wantRound("both", "apply n001/sunset-uid-batch", "apply n001/sunset-uid-pods")
	h.set(map[schema.GroupVersionKind][]*index.FactRow{fixture.Pods: {due("n001", "q", time.Hour)}})
	h.wantRound("Jobs are not listed", "apply n001/sunset-uid-pods")
	for i := range h.kinds {
		h.kinds[i].Index.MarkIncomplete(1)
	}
	h.wantRound("no kind is listed")
	h.unread = true
	h.set(nil)
	h.wantRound("the policies are not read")
	expect.Equal(t, "reports", 2, len(h.stored))
}

// TestTenantStopsNoOthers: a rule of a namespace that lacks facts stops only the reports of its own policy.
func TestTenantStopsNoOthers(t *testing.T) {
	h := newHarness(t)
	h.about("batch", fixture.Jobs)
	own := h.about("n001/own", fixture.Jobs)
	own.Namespace, own.Rules[0].Namespace, own.Rules[0].Key = "n001", "n001", "another"
	h.jobs(due("n002", "a", time.Hour))
	h.wantRound("the report of the other policy", "apply n002/sunset-uid-batch")
}

// TestErrors: an error delays its report and no other, and attempts are rare.
func TestErrors(t *testing.T) {
	h := newHarness(t)
	h.about("batch", fixture.Jobs)
	h.jobs(due("n001", "a", time.Hour), due("n002", "a", time.Hour))
	h.listErr = errors.New(`no matches for kind "Report"`)
	h.wantRound("OpenReports is not installed")
	h.wantRound("OpenReports is still not installed")
	h.listErr = nil
	h.leads = errors.New("not the leader")
	h.wantRound("another process leads")
	h.leads = nil
	h.restart()
	h.refuse = func(namespace string) error {
		if namespace == "n001" {
			return errors.New("the namespace is terminating")
		}
		return nil
	}
	h.wantRound("one report is refused", "refused n001", "apply n002/sunset-uid-batch")
	attempts := 0
	for range 60 {
		attempts += len(h.round())
	}
	if attempts < 5 || attempts > 8 { // also of the other report, when its object is due
		t.Errorf("%d attempts in an hour", attempts)
	}
	h.refuse = nil
	for range 60 {
		h.round()
	}
	expect.Equal(t, "results after the errors", []string{"warn a"}, h.results("n001", "batch"))
}

// TestFailedListsCount: reports that cannot be listed are not written, so an alert fires.
func TestFailedListsCount(t *testing.T) {
	h := newHarness(t)
	h.about("batch", fixture.Jobs)
	h.jobs(due("n001", "a", time.Hour))
	before := failures(t)
	h.listErr = errors.New(`no matches for kind "Report"`)
	h.round()
	h.round()
	expect.Equal(t, "failed", 2, failures(t)-before)
	h.listErr = nil
	h.round()
	expect.Equal(t, "failed after the installation of OpenReports", 2, failures(t)-before)
}

// failures returns the value of sunset_report_writes_total for failed requests.
func failures(t *testing.T) float64 {
	t.Helper()
	return scrape.Of(t, metrics.Registry)["sunset_report_writes_total result=failed"]
}

// TestManyErrors: a round ends after a few errors, so that an API server that is down gets few requests.
func TestManyErrors(t *testing.T) {
	h := newHarness(t)
	h.about("batch", fixture.Jobs)
	var rows []*index.FactRow
	for n := range 50 {
		rows = append(rows, due(fmt.Sprintf("n%03d", n), "a", time.Hour))
	}
	h.jobs(rows...)
	h.refuse = func(string) error { return errors.New("the API server is down") }
	expect.Equal(t, "attempts", 5, len(h.round()))
}

// TestAttemptsThatFail: an object whose deletion fails has the result fail, with the cause.
func TestAttemptsThatFail(t *testing.T) {
	h := newHarness(t)
	h.about("batch", fixture.Jobs)
	h.jobs(due("n001", "a", -time.Hour), due("n001", "b", -time.Hour))
	h.kinds[0].Delayed = 1
	h.kinds[0].Obstacles = func() map[types.UID]retention.Delay {
		return map[types.UID]retention.Delay{"uid-n001b": {Reason: "Refused", Message: "denied by a webhook"}}
	}
	h.round()
	expect.Equal(t, "results", []string{"fail b", "warn a"}, h.results("n001", "batch"))
	if got := h.stored["n001/sunset-uid-batch"].Results[0].Description; !strings.Contains(got, "Refused: denied by a webhook") {
		t.Errorf("the description is %q", got)
	}
}

// TestDeleted: reports have the number of deletions in the namespace from the ledger.
func TestDeleted(t *testing.T) {
	h := newHarness(t)
	cluster, own := h.about("batch", fixture.Jobs), h.about("n003/own", fixture.Jobs)
	cluster.Ledger, own.Ledger = true, true
	own.Namespace, own.Rules[0].Namespace, own.UID, own.Rules[0].PolicyUID = "n003", "n003", "uid-own", "uid-own"
	l := &v1alpha1.RetentionLedger{}
	for name, n := range map[string]int64{"n001": 1, "n002": 2, "n003": 10, "removed": 3, "*": 4, "n004": 0} {
		l.Namespaces = append(l.Namespaces, v1alpha1.LedgerNamespace{Name: name, LedgerCount: v1alpha1.LedgerCount{Deleted: n}})
	}
	h.ledgers[cluster.UID], h.ledgers[own.UID] = ledgers.State{Ledger: l}, ledgers.State{Ledger: l}
	h.jobs(due("n002", "a", time.Hour))
	h.wantRound("reports", "apply n001/sunset-uid-batch", "apply n002/sunset-uid-batch", "apply n003/sunset-uid-batch", "apply n003/sunset-uid-own")
	for namespace, want := range map[string]string{"n001": "1", "n002": "2"} {
		results := h.stored[namespace+"/sunset-uid-batch"].Results
		last := results[len(results)-1]
		expect.Equal(t, namespace, "pass "+want, string(last.Result)+" "+last.Properties["objects"])
	}
	expect.Equal(t, "own", "10", h.stored["n003/sunset-uid-own"].Results[0].Properties["objects"])
}

// TestStart: the loop makes a round a minute until it ends.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.Writer = reports.New(reports.Options{Client: h, Live: h, State: h, Ledgers: h, Complete: h.isComplete, Leadership: h, Clock: &bubble.Clock{}})
		h.Use(policy.NewSnapshot(nil, nil, policy.Protection{}))
		stop := bubble.Start(t, h.Start)
		bubble.Pass(10*time.Minute + time.Second)
		stop()
		if rounds := h.lists / 2; rounds < 9 || rounds > 11 {
			t.Errorf("%d rounds in ten minutes", rounds)
		}
	})
}
