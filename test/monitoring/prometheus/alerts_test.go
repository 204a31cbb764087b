// SPDX-License-Identifier: Apache-2.0

// Package prometheus_test tests the chart's alerts with synthetic series, which Prometheus's own engine evaluates.
package prometheus_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/sunset-k8s/sunset/test/monitoring/prometheus/series"
)

const file = "../../../charts/sunset/files/alerts.yaml"

// rule is the part of an alert that decides when it fires.
type rule struct {
	Alert, Expr string
	For         model.Duration
}

// try is synthetic series with one value per minute, and the alerts that must fire.
type try struct {
	series string
	after  time.Duration
	fires  []string // the labels of the firing alerts, without name and severity
}

// soon is how long a state that stops deletions may last until an alert fires.
const soon = 2 * time.Minute

// once is one firing alert without labels of its own.
var once = []string{"{}"}

// conditionOf is the series of a condition of a policy.
func conditionOf(policy, condition, status, reason string) string {
	return fmt.Sprintf(`sunset_policy_condition{policy=%q,condition=%q,status=%q,reason=%q} 1x2000`, policy, condition, status, reason)
}

var tries = map[string]map[string]try{
	"SunsetHasNoLeader": {
		"no leader":                            {`up 1x10`, soon, once},
		"the target is missing once":           {`sunset_backlog 0x5 stale 0x10`, 7 * time.Minute, nil},
		"one leader":                           {`sunset_backlog 0x2000`, 10 * time.Minute, nil},
		"another takes over within 30 seconds": {`sunset_backlog{pod="a"} 0x5` + "\n" + `sunset_backlog{pod="b"} _x6 0x100`, 12 * time.Minute, nil},
	},
	"SunsetDeletesNothing": {
		"due objects stay":          {`sunset_backlog 5x2000` + "\n" + `sunset_deletions_total{policy="p"} 7x2000`, time.Hour, once},
		"nothing was ever deleted":  {`sunset_backlog 5x2000`, time.Hour, once},
		"objects are deleted":       {`sunset_backlog 5x2000` + "\n" + `sunset_deletions_total{policy="p"} 0+1x2000`, time.Hour, nil},
		"nothing is due":            {`sunset_backlog 0x2000`, time.Hour, nil},
		"due for a short time only": {`sunset_backlog 0x55 5x100`, time.Hour, nil},
		"a webhook refuses the only due objects": {`sunset_backlog 5x2000` + "\n" + `sunset_delayed_objects{kind="Pod",reason="Refused"} 2x2000` + "\n" +
			`sunset_delayed_objects{kind="Job",reason="OwnerWaits"} 3x2000`, time.Hour, nil},
		"more objects are due": {`sunset_backlog 5x2000` + "\n" + `sunset_delayed_objects{kind="Pod",reason="NamespaceInDoubt"} 4x2000`, time.Hour, once},
		"all requests fail":    {`sunset_backlog 5x2000` + "\n" + `sunset_delayed_objects{kind="Pod",reason="Failing"} 5x2000`, time.Hour, once},
	},
	"SunsetBacklogGrows": {
		"it grows":              {`sunset_backlog 0+10x2000`, 2 * time.Hour, once},
		"it shrinks":            {`sunset_backlog 100000-10x2000`, 2 * time.Hour, nil},
		"it grows but is small": {`sunset_backlog 0+0.5x2000`, 2 * time.Hour, nil},
	},
	"SunsetLate": {
		"half a minute or an hour": {`sunset_deletion_lateness_seconds_bucket{le="60"} 0+1x2000` + "\n" +
			`sunset_deletion_lateness_seconds_bucket{le="3600"} 0+10x2000` + "\n" + `sunset_deletion_lateness_seconds_bucket{le="+Inf"} 0+10x2000`, time.Hour, once},
		"in time": {`sunset_deletion_lateness_seconds_bucket{le="0.1"} 0+10x2000` + "\n" +
			`sunset_deletion_lateness_seconds_bucket{le="+Inf"} 0+10x2000`, time.Hour, nil},
	},
	"SunsetDeletionsFail": {
		"a webhook refuses": {`sunset_deletion_attempts_total{result="refused"} 0+5x2000`, 2 * time.Hour, []string{`{result="refused"}`}},
		"conflicts":         {`sunset_deletion_attempts_total{result="changed"} 0+50x2000`, 2 * time.Hour, nil},
	},
	"SunsetPolicyNotReady": {
		"a rule is invalid":                  {`sunset_policy_condition{policy="p",condition="Ready",status="False",reason="RuleInvalid"} 1x10`, soon, []string{`{policy="p", reason="RuleInvalid"}`}},
		"it is ready":                        {`sunset_policy_condition{policy="p",condition="Ready",status="True",reason="Ready"} 1x2000`, 2 * time.Hour, nil},
		"it waits for an approval":           {`sunset_policy_condition{policy="p",condition="Ready",status="False",reason="ApprovalRequired"} 1x2000`, 2 * time.Hour, nil},
		"it is being listed":                 {`sunset_policy_condition{policy="p",condition="Ready",status="Unknown",reason="Listing"} 1x2000`, 2 * time.Hour, nil},
		"its permissions are not known":      {`sunset_policy_condition{policy="p",condition="Ready",status="Unknown",reason="PermissionsUnknown"} 1x10`, soon, []string{`{policy="p", reason="PermissionsUnknown"}`}},
		"a dry run":                          {`sunset_policy_condition{policy="p",condition="Ready",status="True",reason="DryRun"} 1x2000`, 2 * time.Hour, nil},
		"the controller runs with --dry-run": {`sunset_policy_condition{policy="p",condition="Ready",status="False",reason="DryRun"} 1x10`, 5 * time.Minute, nil},
		"its limits are reached":             {`sunset_policy_condition{policy="p",condition="Enforcing",status="False",reason="LimitReached"} 1x10`, 5 * time.Minute, nil},
	},
	"SunsetApprovalRequired": {
		"it waits":           {`sunset_policy_condition{policy="p",condition="ApprovalRequired",status="True",reason="ChangeTooLarge"} 1x10`, soon, []string{`{policy="p"}`}},
		"every change waits": {`sunset_policy_condition{policy="p",condition="ApprovalRequired",status="True",reason="RequiredForAllChanges"} 1x10`, soon, []string{`{policy="p"}`}},
		"nothing waits":      {`sunset_policy_condition{policy="p",condition="Ready",status="True",reason="Ready"} 1x10`, soon, nil},
	},
	"SunsetPolicyStuck": {
		"it is being counted":          {`sunset_policy_condition{policy="p",condition="Ready",status="Unknown",reason="Counting"} 1x2000`, 11 * time.Minute, []string{`{policy="p", reason="Counting"}`}},
		"it was listed within minutes": {`sunset_policy_condition{policy="p",condition="Ready",status="Unknown",reason="Listing"} 1x8 stale`, 11 * time.Minute, nil},
	},
	"SunsetPolicySuspended": {
		"it is suspended":        {`sunset_policy_condition{policy="p",condition="Enforcing",status="False",reason="Suspended"} 1x10`, soon, []string{`{policy="p", reason="Suspended"}`}},
		"its limits are reached": {`sunset_policy_condition{policy="p",condition="Enforcing",status="False",reason="LimitReached"} 1x2000`, time.Hour, nil},
	},
	"SunsetObjectsStay": {
		"a namespace is terminating": {`sunset_policy_condition{policy="p",condition="Delayed",status="True",reason="NamespaceInDoubt"} 1x10`, soon, []string{`{condition="Delayed", policy="p", reason="NamespaceInDoubt"}`}},
		"the policy is ready":        {`sunset_policy_condition{policy="p",condition="Ready",status="True",reason="Ready"} 1x2000`, time.Hour, nil},
		"a snapshot is not ready":    {conditionOf("p", "Delayed", "True", "SnapshotPending"), time.Hour, nil},
		"a snapshot failed":          {conditionOf("p", "Delayed", "True", "SnapshotFailed"), soon, []string{`{condition="Delayed", policy="p", reason="SnapshotFailed"}`}},
	},
	"SunsetSnapshotsPending": {
		"for half an hour":   {conditionOf("p", "Delayed", "True", "SnapshotPending"), 31 * time.Minute, []string{`{policy="p", reason="SnapshotPending"}`}},
		"others are created": {conditionOf("p", "Delayed", "True", "SnapshotPending") + "\n" + `sunset_volume_snapshots_created_total{policy="p",rule="r"} 0+1x2000`, time.Hour, nil},
		"for 20 minutes":     {conditionOf("p", "Delayed", "True", "SnapshotPending"), 20 * time.Minute, nil},
		"a snapshot failed":  {conditionOf("p", "Delayed", "True", "SnapshotFailed"), time.Hour, nil},
	},
	"SunsetExpressionFails": {
		"on an object": {`sunset_rule_objects{policy="p",rule="r",state="error"} 1x10`, soon, []string{`{policy="p", rule="r"}`}},
		"on no object": {`sunset_rule_objects{policy="p",rule="r",state="error"} 0x2000` + "\n" + `sunset_rule_objects{policy="p",rule="r",state="due"} 9x2000`, time.Hour, nil},
	},
	"SunsetPolicyBlocked": {
		"a rule of another policy fails": {`sunset_blocked_objects{policy="p",blocking_policy="q",blocking_rule="r",reason="EvaluationFailed"} 17x10`, soon,
			[]string{`{blocking_policy="q", blocking_rule="r", policy="p", reason="EvaluationFailed"}`}},
		"it keeps the newest": {`sunset_blocked_objects{policy="p",blocking_policy="q",blocking_rule="r",reason="KeptNewest"} 17x10`, 5 * time.Minute, nil},
	},
	"SunsetKindUnavailable": {
		"a permission is missing": {`sunset_kind_unavailable{kind="Job.batch",reason="Forbidden"} 1x10`, soon, []string{`{kind="Job.batch", reason="Forbidden"}`}},
		"missing for one minute":  {`sunset_kind_unavailable{kind="Job.batch",reason="Forbidden"} 1 stale`, time.Hour, nil},
	},
	"SunsetNamespacesThrottled": {
		"a webhook is slow": {`sunset_throttled_namespaces{kind="Job.batch"} 2x10` + "\n" + `sunset_throttled_namespaces{kind="Pod"} 0x10`, soon, []string{`{kind="Job.batch"}`}},
		"none":              {`sunset_throttled_namespaces{kind="Job.batch"} 0x2000`, time.Hour, nil},
	},
	"SunsetClockSkew": {
		"four seconds": {`sunset_clock_skew_seconds 4x2000`, time.Hour, once},
		"one second":   {`sunset_clock_skew_seconds 1x2000`, time.Hour, nil},
	},
	"SunsetReferencesUnknown": {
		"Pods cannot be listed":    {`sunset_references_synced{referrer="Pod"} 0x2000` + "\n" + `sunset_references_synced{referrer="Job.batch"} 1x2000`, soon, []string{`{referrer="Pod"}`}},
		"all referrers are synced": {`sunset_references_synced{referrer="Pod"} 1x2000`, time.Hour, nil},
	},
	"SunsetPodsStayUncounted": {
		"overdue": {`sunset_uncounted_pods{state="overdue"} 3x2000`, time.Hour, []string{`{state="overdue"}`}},
		"due":     {`sunset_uncounted_pods{state="due"} 3x2000`, time.Hour, nil},
	},
	"SunsetLedgerUnavailable": {
		"it cannot be written": {`sunset_ledger_unavailable{policy="p"} 1x10`, soon, []string{`{policy="p"}`}},
		"it can be written":    {`sunset_ledger_unavailable{policy="p"} 0x2000`, time.Hour, nil},
	},
	"SunsetLedgerInDoubt": {
		"for an hour":                {`sunset_ledger_doubtful{policy="p"} 2x2000`, 2 * time.Hour, []string{`{policy="p"}`}},
		"after a restart":            {`sunset_ledger_doubtful{policy="p"} 2x2000`, 59 * time.Minute, nil},
		"repeatedly, but not always": {`sunset_ledger_doubtful{policy="p"} 2 2 0 2 2 0 2 2 0x50 2x30`, time.Hour, nil},
	},
	"SunsetLimitReached": {
		"objects wait for the limit": {`sunset_ledger_waiting{policy="p"} 9x2000` + "\n" + `sunset_ledger_charged{policy="p"} 100x2000` + "\n" + `sunset_ledger_limit{policy="p"} 100x2000`, soon, []string{`{policy="p"}`}},
		"nothing waits":              {`sunset_ledger_waiting{policy="p"} 0x2000` + "\n" + `sunset_ledger_charged{policy="p"} 100x2000` + "\n" + `sunset_ledger_limit{policy="p"} 100x2000`, time.Hour, nil},
		"the limit allows more":      {`sunset_ledger_waiting{policy="p"} 9x2000` + "\n" + `sunset_ledger_charged{policy="p"} 50x2000` + "\n" + `sunset_ledger_limit{policy="p"} 100x2000`, time.Hour, nil},
	},
	"SunsetArchiveUnavailable": {
		"the store is down":           {`sunset_archive_unavailable{archive="a"} 1x2000` + "\n" + `sunset_archive_unavailable{archive="b"} 0x2000`, 10 * time.Minute, []string{`{archive="a"}`}},
		"some writes succeed":         {`sunset_archive_unavailable{archive="a"} 1 0 1 0 1 0 1 0 1 0 1 0`, 10 * time.Minute, []string{`{archive="a"}`}},
		"another leader":              {`sunset_archive_unavailable{archive="a",pod="a"} 1x3 stale` + "\n" + `sunset_archive_unavailable{archive="a",pod="b"} _x5 1x2000`, 8 * time.Minute, []string{`{archive="a"}`}},
		"one write fails":             {`sunset_archive_unavailable{archive="a"} 0x5 1 0x2000`, 8 * time.Minute, nil},
		"objects wait for the record": {`sunset_archive_unavailable{archive="a"} 0x2000` + "\n" + `sunset_archive_waiting{archive="a"} 900x2000`, time.Hour, nil},
	},
	"SunsetArchiveNotTrimmed": {
		"the store has an object lock":        {`sunset_archive_refused_days{archive="a"} 3x2000` + "\n" + `sunset_archive_refused_days{archive="b"} 0x2000`, 2 * time.Hour, []string{`{archive="a"}`}},
		"Sunset retries and is refused again": {`sunset_archive_refused_days{archive="a"} 3x89 0x4 3x100`, 2 * time.Hour, []string{`{archive="a"}`}},
		"the store refused for half an hour":  {`sunset_archive_refused_days{archive="a"} 0x89 3x29 0x100`, 2*time.Hour + 5*time.Minute, nil},
		"the store deletes what is old":       {`sunset_archive_refused_days{archive="a"} 0x2000` + "\n" + `sunset_archive_deleted_objects_total{archive="a"} 0+5x2000`, 2 * time.Hour, nil},
		"Sunset does not keep up":             {`sunset_archive_refused_days{archive="a"} 0x2000` + "\n" + `sunset_archive_expired_seconds{archive="a"} 200000+60x2000`, 2 * time.Hour, []string{`{archive="a"}`}},
		"a day takes most of a day":           {`sunset_archive_expired_seconds{archive="a"} 0+60x1300 0x700`, 21 * time.Hour, nil},
	},
	"SunsetDigestNotAccepted": {
		"for half an hour": {`sunset_digest_failing{digest="d"} 1x2000`, time.Hour, []string{`{digest="d"}`}},
		"once":             {`sunset_digest_failing{digest="d"} 0x30 1x10 0x100`, time.Hour, nil},
	},
	"SunsetAuditRecordsLost": {
		"standard output is closed": {`sunset_audit_errors_total 0x10 0+1x20`, 25 * time.Minute, once},
		"one record":                {`sunset_audit_errors_total 0x10 1x20`, 15 * time.Minute, once},
		"all records are written":   {`sunset_audit_errors_total 0x100`, time.Hour, nil},
	},
	"SunsetReportsNotWritten": {
		"all requests fail": {`sunset_report_writes_total{result="failed"} 0+3x200`, 2 * time.Hour, once},
		"one request fails": {`sunset_report_writes_total{result="failed"} 0x30 1x200`, time.Hour, nil},
		"all are accepted":  {`sunset_report_writes_total{result="written"} 0+3x200` + "\n" + `sunset_report_writes_total{result="failed"} 0x200`, 2 * time.Hour, nil},
	},
	"SunsetTracesNotExported": {
		"no collector": {`sunset_trace_errors_total 0+1x200`, 2 * time.Hour, once},
		"one error":    {`sunset_trace_errors_total 0x30 1x200`, time.Hour, nil},
	},
	"SunsetFreezeLasts": {
		"31 days, with a new leader": {`sunset_policy_condition{policy="p",condition="Enforcing",status="False",reason="Frozen"} 1x20000 _x30 1x30000`, 31 * 24 * time.Hour, []string{`{policy="p"}`}},
		"two weeks":                  {`sunset_policy_condition{policy="p",condition="Enforcing",status="False",reason="Frozen"} 1x20160 0x30000`, 31 * 24 * time.Hour, nil},
		"it is suspended":            {`sunset_policy_condition{policy="p",condition="Enforcing",status="False",reason="Suspended"} 1x50000`, 31 * 24 * time.Hour, nil},
	},
	"SunsetNodesStale": {
		"a node is silent": {`sunset_image_policy_nodes{policy="p",state="stale"} 1x2000`, 2 * time.Hour, []string{`{policy="p"}`}},
		"all report":       {`sunset_image_policy_nodes{policy="p",state="stale"} 0x2000` + "\n" + `sunset_image_policy_nodes{policy="p",state="counted"} 9x2000`, 2 * time.Hour, nil},
	},
	"SunsetImagesComeBack": {
		"a third of the images": {`sunset_image_pulled_again_total 0+1x2000` + "\n" + `sunset_image_removed_total{reason="age"} 0+3x2000`, 8 * time.Hour, once},
		"one in a hundred":      {`sunset_image_pulled_again_total 0+1x2000` + "\n" + `sunset_image_removed_total{reason="age"} 0+100x2000`, 8 * time.Hour, nil},
		"two of a few":          {`sunset_image_pulled_again_total 0x100 2x2000` + "\n" + `sunset_image_removed_total{reason="age"} 0x100 3x2000`, 4 * time.Hour, nil},
	},
	"SunsetImageRemovalFails": {
		"repeatedly": {`sunset_image_errors_total{code="Unavailable"} 0+1x2000`, 3 * time.Hour, []string{`{code="Unavailable"}`}},
		"once":       {`sunset_image_errors_total{code="Unavailable"} 0x60 1x2000`, 3 * time.Hour, nil},
	},
}

func TestAlertsFire(t *testing.T) {
	known := map[string]bool{}
	for _, r := range rules(t) {
		known[r.Alert] = true
		fires, silent := false, false
		for name, test := range tries[r.Alert] {
			t.Run(r.Alert+"/"+name, func(t *testing.T) { test.run(t, r) })
			fires, silent = fires || len(test.fires) > 0, silent || len(test.fires) == 0
		}
		if !fires || !silent {
			t.Errorf("%s has a case that fires: %t, and a case that does not: %t", r.Alert, fires, silent)
		}
	}
	for name := range tries {
		if !known[name] {
			t.Errorf("alert %s does not exist", name)
		}
	}
}

// TestAlertsFireForEveryReason: for each reason in the table, its alert about conditions or blocked objects
// fires.
func TestAlertsFireForEveryReason(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/events-and-alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| reasons | who can act |")
	table, _, _ = strings.Cut(table, "\n\n")
	tried := 0
	for _, r := range rules(t) {
		if !slices.Contains([]string{"SunsetPolicyNotReady", "SunsetPolicyStuck", "SunsetPolicySuspended", "SunsetObjectsStay", "SunsetSnapshotsPending", "SunsetPolicyBlocked"}, r.Alert) {
			continue
		}
		for _, row := range strings.Split(table, "\n") {
			cells := strings.Split(row, " | ")
			if r.Alert == "SunsetPolicyBlocked" && strings.Contains(row, "`Blocked` is True") {
				tried += blocked(t, r, cells)
				continue
			}
			if !strings.Contains(row, "["+r.Alert+"]") {
				continue
			}
			condition, status, _ := strings.Cut(strings.ReplaceAll(cells[2], "`", ""), " is ")
			for _, reason := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[0], -1) {
				tried++
				fires := labels.NewBuilder(labels.FromStrings("policy", "p", "reason", reason[1]))
				if strings.Contains(r.Expr, "by (policy, condition, reason)") {
					fires.Set("condition", condition)
				}
				series := fmt.Sprintf(`sunset_policy_condition{policy="p",condition=%q,status=%q,reason=%q} 1x50`, condition, status, reason[1])
				t.Run(condition+"/"+reason[1], func(t *testing.T) {
					try{series, time.Duration(r.For) + time.Minute, []string{fires.Labels().String()}}.run(t, r)
				})
			}
		}
	}
	if tried < 45 {
		t.Errorf("tested only %d reasons", tried)
	}
}

// blocked tests SunsetPolicyBlocked with the reasons of one row of the table, and returns their number.
func blocked(t *testing.T, r rule, cells []string) int {
	t.Helper()
	reasons := regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[0], -1)
	for _, reason := range reasons {
		var fires []string
		if strings.Contains(cells[4], r.Alert) {
			fires = []string{fmt.Sprintf(`{blocking_policy="q", blocking_rule="r", policy="p", reason=%q}`, reason[1])}
		}
		series := fmt.Sprintf(`sunset_blocked_objects{policy="p",blocking_policy="q",blocking_rule="r",reason=%q} 17x10`, reason[1])
		t.Run("Blocked/"+reason[1], func(t *testing.T) { try{series, soon, fires}.run(t, r) })
	}
	return len(reasons)
}

func rules(t *testing.T) []rule {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var groups struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(data, &groups); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range groups.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// run evaluates an alert once per minute, and compares the alerts at the end that fired in all evaluations of their waiting
// time.
func (test try) run(t *testing.T, r rule) {
	stored, err := series.Load(test.series, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{}),
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
	})
	since := map[string]time.Time{}
	var fires []string
	for now := series.Begin; now.Before(series.Begin.Add(test.after)); now = now.Add(time.Minute) {
		query, err := engine.NewInstantQuery(context.Background(), stored, nil, r.Expr, now)
		if err != nil {
			t.Fatal(err)
		}
		given, err := query.Exec(context.Background()).Vector()
		if err != nil {
			t.Fatal(err)
		}
		still := map[string]time.Time{}
		fires = nil
		for _, sample := range given {
			name := labels.NewBuilder(sample.Metric).Del(labels.MetricName).Labels().String()
			if still[name] = since[name]; still[name].IsZero() {
				still[name] = now
			}
			if now.Sub(still[name]) >= time.Duration(r.For) {
				fires = append(fires, name)
			}
		}
		since = still
		query.Close()
	}
	if !slices.Equal(fires, test.fires) {
		t.Errorf("fires: %v, want %v", fires, test.fires)
	}
}
