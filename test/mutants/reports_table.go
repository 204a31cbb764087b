// SPDX-License-Identifier: Apache-2.0

package mutants

// reportsTable changes the reports of OpenReports.
var reportsTable = map[string]Mutant{
	"a policy without permissions has a forecast": {
		File: "policy/policy_forecast.go", Test: "./policy TestForecasts",
		Old: "return r.Rule.Unpermitted }",
		New: "return false }",
	},
	"a policy that waits for approval forecasts deletions": {
		File: "policy/policy_forecast.go", Test: "./policy TestForecasts",
		Old: "return r.Rule.Unapproved && r.Facts.Selected }",
		New: "return false }",
	},
	"a report is about all namespaces": {
		File: "policy/report/builder.go", Test: "./policy/report TestNamespaces",
		Old: "Key{f.Rule.PolicyUID, s.Namespace}",
		New: "Key{f.Rule.PolicyUID, \"shop\"}",
	},
	"a report has any number of results": {
		File: "policy/report/builder.go", Test: "./policy/report TestBounds",
		Old: "min(len(c.findings), MaxResults), len",
		New: "len(c.findings), len",
	},
	"there is any number of reports": {
		File: "policy/report/builder.go", Test: "./policy/report TestBounds",
		Old: "(exists || len(b.reports) < MaxReports)",
		New: "(exists || true)",
	},
	"an attempt of another policy fails a dry run": {
		File: "policy/report/builder.go", Test: "./policy/report TestResults",
		Old: "f.Rule.Mode == v1alpha1.Enforce && obstacle",
		New: "f.Rule.Mode != v1alpha1.Suspend && obstacle",
	},
	"a report that no policy can have takes a place": {
		File: "controllers/reports/round.go", Test: "./controllers/reports TestReportsThatNoPolicyCanHave",
		Old: "slices.DeleteFunc(slices.Collect(maps.Keys(existing)), isImpossible)",
		New: "slices.Collect(maps.Keys(existing))",
	},
	"deletions of reports use up all writes": {
		File: "controllers/reports/round.go", Test: "./controllers/reports TestReportsThatNoPolicyCanHave",
		Old: "max(maxWrites/2, maxWrites-len(writes))",
		New: "maxWrites",
	},
	"a report that has not changed is written": {
		File: "controllers/reports/round.go", Test: "./controllers/reports TestRound",
		Old: "existing[k].hash != hash",
		New: "hash != \"\"",
	},
	"reports are deleted while a kind is not listed": {
		File: "controllers/reports/round.go", Test: "./controllers/reports TestUnlisted",
		Old: "return incomplete.Has(k.Policy) || now",
		New: "return incomplete == nil || now",
	},
	"a rule of a tenant stops the reports of others": {
		File: "controllers/reports/round.go", Test: "./controllers/reports TestTenantStopsNoOthers",
		Old: "case r.Namespace == \"\":",
		New: "case true:",
	},
	"a failure is retried in the next round": {
		File: "controllers/reports/writer.go", Test: "./controllers/reports TestErrors",
		Old: "\"failed\", next.Add(failurePause)",
		New: "\"failed\", next",
	},
	"a process that does not lead writes reports": {
		File: "controllers/reports/writer.go", Test: "./controllers/reports TestErrors",
		Old: "if err := w.Leadership.Check(); err != nil {",
		New: "if err := w.Leadership.Check(); false {",
	},
	"a round ignores the number of failures": {
		File: "controllers/reports/round.go", Test: "./controllers/reports TestManyErrors",
		Old: "failures == maxFailures",
		New: "false",
	},
}
