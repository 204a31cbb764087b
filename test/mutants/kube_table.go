// SPDX-License-Identifier: Apache-2.0

package mutants

// kubeTable changes requests to the API server.
var kubeTable = map[string]Mutant{
	"allowance: the first rule of a namespace has no budget": {
		File: "controllers/kube/evaluation_budget.go", Test: "./controllers/kube TestFactsAreThoseOfTheirRules",
		Old: "i >= general",
		New: "i > general",
	},
	"rules: the rules of a namespace have the facts of others": {
		File: "controllers/retention/rule_set.go", Test: "./controllers/kube TestFactsAreThoseOfTheirRules",
		Old: "yield(len(q.Everywhere.Rules) + i)",
		New: "yield(i)",
	},
	"rules: the rules of a namespace are not evaluated": {
		File: "controllers/retention/rule_set.go", Test: "./controllers/kube TestFactsAreThoseOfTheirRules",
		Old: "if in, ok := q.In[namespace]; ok {",
		New: "if in, ok := q.In[namespace]; ok && len(q.Everywhere.Rules) == 0 {",
	},
	"allowance: an expression that timed out is not evaluated again": {
		File: "controllers/kube/evaluation_budget.go", Test: "./controllers/kube TestEvaluationThatTookTooLongIsWorthAskingAgain",
		Old: " || errors.Is(f.Err, engine.ErrDeadline)",
		New: "",
	},
	"mark: an annotation is set to an empty string instead of removed": {
		File: "controllers/kube/mark.go", Test: "./controllers/kube TestMark",
		Old: "\tvar value any\n\tif text := m.Annotation(); text != \"\" {\n\t\tvalue = text\n\t}\n",
		New: "\tvalue := m.Annotation()\n",
	},
	"a list of objects whose rules read references delays their deletions": {
		File: "controllers/kube/reevaluator_store.go", Test: "./controllers/kube TestListDelaysNoDeletion",
		Old: "\t\t\tm.mu.Unlock()\n\t\t\tm.mu.Lock()\n",
		New: "",
	},
	"a list ignores that references have changed since it was evaluated": {
		File: "controllers/kube/reevaluator_store.go", Test: "./controllers/kube TestReferencesThatChangeDuringAList",
		Old: "l.allOutdated || l.outdated.Has(nameOf(o.row))",
		New: "l.allOutdated || o == nil",
	},
	"memory: deleting an object also removes a new object with the same name": {
		File: "controllers/kube/reevaluator_store.go", Test: "./controllers/kube TestDeletionThatComesLateLeavesTheNamesake",
		Old: "if !isNewer(m.objects[nameOf(o.row)].version, o.row.Subject().ResourceVersion) {",
		New: "if o.row != nil {",
	},
	"owner: a RetentionPolicy deletes a cluster-scoped owner": {
		File: "controllers/kube/owner.go", Test: "./controllers/kube TestResolveTargetRefusesOwners",
		Old: "case t.Namespace == \"\" && i.Rule.Namespace != \"\":",
		New: "case t.Namespace == \"\" && i.Rule.Namespace != \"\" && i.Subject.Namespace == \"\":",
	},
	"owner: an owner in a protected namespace is deleted": {
		File: "controllers/kube/owner.go", Test: "./controllers/kube TestResolveTargetRefusesOwners",
		Old: "case c.protection.Namespace(t.Namespace):",
		New: "case t.Namespace == \"\" && c.protection.Namespace(t.Namespace):",
	},
	"owner: a failed read makes the result of the DELETE unknown": {
		File: "controllers/kube/owner.go", Test: "./controllers/kube TestResolveTargetRefusesOwners",
		Old: "\to.Unsure = false\n",
		New: "",
	},
	"owner: allowUnfinishedOwner applies to cluster-scoped owners": {
		File: "controllers/kube/owner.go", Test: "./controllers/kube TestResolveTargetRefusesOwners",
		Old: "\tif !beyond {\n",
		New: "\tif !beyond || i.Rule.AllowUnfinished {\n",
	},
	"owner: an answer without a body removes the subject": {
		File: "controllers/kube/owner.go", Test: "./controllers/kube TestResolveTargetRefusesOwners",
		Old: "\tif o.Result == retention.Removed {\n\t\to.Result = retention.Failed\n\t}\n",
		New: "",
	},
	"owner: a terminating owner is deleted": {
		File: "controllers/kube/owner.go", Test: "./controllers/kube TestResolveTargetRefusesOwners",
		Old: "case s.UID != t.UID, s.Flags.Has(policy.IsTerminating):",
		New: "case s.UID != t.UID:",
	},
	"owner: the server of a kind is checked only once": {
		File: "controllers/kube/owner.go", Test: "./controllers/kube TestResolveTargetRechecksOwnerKindAfterAMinute",
		Old: "return known && lease.Elapsed(c.clock.Now(), at) < allowedEvery",
		New: "return known && (lease.Elapsed(c.clock.Now(), at) < allowedEvery || !at.IsZero())",
	},
	"remover: Retry-After in the body is not read": {
		File: "controllers/kube/remove.go", Test: "./controllers/kube TestOutcomeOf",
		Old: "if err != nil && status.Details != nil {",
		New: "if err == nil && status.Details != nil {",
	},
	"remover: a 404 without a reason says that the object is gone": {
		File: "controllers/kube/remove.go", Test: "./controllers/kube TestOutcomeOf",
		Old: "case code == http.StatusNotFound && status.Reason == metav1.StatusReasonNotFound:",
		New: "case code == http.StatusNotFound:",
	},
	"remover: a 429 is a refusal": {
		File: "controllers/kube/remove.go", Test: "./controllers/kube TestOutcomeOf",
		Old: "case code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:",
		New: "case code >= http.StatusInternalServerError:",
	},
	"remover: a 500 is a refusal": {
		File: "controllers/kube/remove.go", Test: "./controllers/kube TestOutcomeOf",
		Old: "case code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:",
		New: "case code == http.StatusTooManyRequests, code > http.StatusInternalServerError:",
	},
	"remover: the outcome of a 5xx is known": {
		File: "controllers/kube/remove.go", Test: "./controllers/kube TestOutcomeOf",
		Old: "retention.Busy, code != http.StatusTooManyRequests",
		New: "retention.Busy, false",
	},
	"remover: a DELETE follows a redirect": {
		File: "controllers/kube/cluster.go", Test: "./controllers/kube TestRedirectIsNoDeletion",
		Old: "requests.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }",
		New: "requests.CheckRedirect = nil",
	},
	"remover: a request body is sent at any time after the checks": {
		File: "controllers/kube/send.go", Test: "./controllers/kube TestWriteRequestsExpireAfterASecond",
		Old: "\tif !b.begun && !preflight.Fresh(b.clock.Now(), b.since) {\n\t\treturn 0, errLate",
		New: "\tif b.since.IsZero() {\n\t\treturn 0, errLate",
	},
	"remover: a repeated request body may be late": {
		File: "controllers/kube/send.go", Test: "./controllers/kube TestWriteRequestRetriesExpireAfterASecond",
		Old: "asked.GetBody = func() (io.ReadCloser, error) { return c.bodyOf(r), nil }",
		New: "asked.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.body)), nil }",
	},
	"remover: a request body that was sent is reported as unsent": {
		File: "controllers/kube/send.go", Test: "./controllers/kube TestWriteRequestsExpireAfterASecond",
		Old: "\tif !b.begun && !preflight.Fresh",
		New: "\tif !preflight.Fresh",
	},
	"remover: the outcome of a broken connection is known": {
		File: "controllers/kube/send.go", Test: "./controllers/kube TestRemoveWithoutResponseIsUnsure",
		Old: "Unsure: !late, Unsent: late",
		New: "Unsure: false, Unsent: late",
	},
	"remover: the outcome of a denial with a 5xx is known": {
		File: "controllers/kube/remove.go", Test: "./controllers/kube TestOutcomeOf",
		Old: "o.Result, o.Unsure = retention.Refused, code >= http.StatusInternalServerError",
		New: "o.Result = retention.Refused",
	},
	"remover: a redirect is a refusal": {
		File: "controllers/kube/remove.go", Test: "./controllers/kube TestOutcomeOf",
		Old: "case code == http.StatusNotFound, code < http.StatusBadRequest:",
		New: "case code == http.StatusNotFound:",
	},
	"remover: a missing permission for an owner throttles the namespace": {
		File: "controllers/kube/remove.go", Test: "./controllers/kube TestResolveTargetRefusesOwners",
		Old: "if rule.Owner && o.Result == retention.Denied {",
		New: "if !rule.Owner && o.Result == retention.Denied {",
	},
	"remover: the outcome of a webhook failure is known": {
		File: "controllers/kube/remove.go", Test: "./controllers/kube TestOutcomeOf",
		Old: "o.Result, o.Unsure = retention.Unadmitted, code >= http.StatusInternalServerError",
		New: "o.Result = retention.Unadmitted",
	},
	"remover: an owner with another UID is deleted": {
		File: "policy/delete_permit.go", Test: "./controllers/kube TestPrepareOnlyTheResolvedTarget",
		Old: "return owner != nil && t.UID == owner.UID && t",
		New: "return owner != nil && t",
	},
	"remover: any version of the object may be deleted": {
		File: "controllers/kube/remove.go", Test: "./controllers/kube TestResolveTargetReadsTheOwner",
		Old: "&metav1.Preconditions{UID: &t.UID, ResourceVersion: &t.ResourceVersion}",
		New: "&metav1.Preconditions{UID: &t.UID}",
	},
	"observation: a kind that is not served means that the object is gone": {
		File: "controllers/kube/observe.go", Test: "./controllers/kube TestObserve",
		Old: " && status.Details != nil && status.Details.Name == t.Name",
		New: " && (status.Details == nil || status.Details.Name == t.Name || status.Details.Name == \"\")",
	},
}
