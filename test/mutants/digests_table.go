// SPDX-License-Identifier: Apache-2.0

package mutants

// digestsTable changes digests and audit records.
var digestsTable = map[string]Mutant{
	"a digest about a namespace uses the status of ClusterRetentionPolicies": {
		File: "policy/digest/compose.go", Test: "./policy/digest TestNamespaces",
		Old: "if in.Stats == nil || s.Namespace != \"\" {",
		New: "if in.Stats != nil || s.Namespace != \"\" {",
	},
	"a digest about a namespace counts the deletions in all namespaces": {
		File: "policy/digest/compose.go", Test: "./policy/digest TestNamespaces",
		Old: "if d.namespaces != nil && s.Namespace == \"\" {\n\t\treturn d.deletionsIn",
		New: "if d.namespaces == nil && s.Namespace == \"\" {\n\t\treturn d.deletionsIn",
	},
	"deletions are known without a counter of the namespace": {
		File: "policy/digest/compose.go", Test: "./policy/digest TestNamespaces",
		Old: "return total, !hasRest || own == d.namespaces.Len()",
		New: "return total, true || hasRest",
	},
	"a digest counts the deletions before it selected a policy": {
		File: "policy/digest/compose.go", Test: "./policy/digest TestDeletions",
		Old: "!counted && !s.Created.After(*c.Since) ||",
		New: "!counted && false ||",
	},
	"a digest about a namespace counts the objects in all namespaces": {
		File: "controllers/retention/index/scan.go", Test: "./controllers/retention/index TestScanNamespaces",
		Old: "for _, s := range x.partitions[namespace] {",
		New: "_ = namespace\n\t\tfor s := range x.eachPartition {",
	},
	"audit records of images have no approvals": {
		File: "policy/agentapi/render.go", Test: "./policy/agentapi TestRender",
		Old: "n.Approvals, n.Spec.Variables = p.Approvals, p.Variables",
		New: "n.Spec.Variables = p.Variables",
	},
	"a template has no limit of steps": {
		File: "policy/digest/template.go", Test: "./policy/digest TestTemplateIsBounded",
		Old: "b.steps > maxSteps {",
		New: "b.steps > 1000*maxSteps {",
	},
	"functions of a template may return any number of bytes": {
		File: "policy/digest/template.go", Test: "./policy/digest TestTemplateIsBounded",
		Old: "b.bytes > maxBytes {",
		New: "b.bytes > 1000*maxBytes {",
	},
	"a metadata address in IPv6 form is allowed": {
		File: "policy/digest/address.go", Test: "./policy/digest TestForbidden",
		Old: "a = a.Unmap().WithZone(\"\")",
		New: "a = a.WithZone(\"\")",
	},
	"redirects are followed": {
		File: "controllers/digests/sender.go", Test: "./controllers/digests TestSecrets",
		Old: "return http.ErrUseLastResponse",
		New: "return nil",
	},
	"an error has the URL of the webhook": {
		File: "controllers/digests/sender.go", Test: "./controllers/digests TestSecrets",
		Old: "return errors.New(\"send to the webhook: \" + failure(err, \"the response is not HTTP, or its headers are too long\"))",
		New: "return fmt.Errorf(\"send to the webhook: %w\", err)",
	},
	"a digest is sent by a process that does not lead": {
		File: "controllers/digests/work.go", Test: "./controllers/digests TestOnlyTheLeaderSends",
		Old: "\t\treturn err\n\t}\n\tif err := n.Leadership.Check(); err != nil {",
		New: "\t\treturn err\n\t}\n\tif err := n.Leadership.Check(); false {",
	},
	"a digest that was not accepted counts as accepted": {
		File: "controllers/digests/work.go", Test: "./controllers/digests TestReceiverRefuses",
		Old: "\tif err != nil {\n\t\tmetrics.DigestAttempts",
		New: "\tif false {\n\t\tmetrics.DigestAttempts",
	},
	"a process forgets what was accepted if the write fails": {
		File: "controllers/digests/notifier.go", Test: "./controllers/digests TestCrashAfterAcceptance",
		Old: "s.working, s.status = false, status",
		New: "s.working, s.status = false, nil",
	},
	"a request without an answer has no record": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestAudit",
		Old: "(o.Result == Removed || o.Unsure)",
		New: "o.Result == Removed",
	},
}
