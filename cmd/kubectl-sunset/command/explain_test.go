// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

const (
	teamPoliciesPath = "/apis/sunset-k8s.io/v1alpha1/retentionpolicies"
	devPoliciesPath  = "/apis/sunset-k8s.io/v1alpha1/namespaces/dev/retentionpolicies"
	devJobsPath      = "/apis/batch/v1/namespaces/dev/jobs"
)

// ranking is a policy that keeps the newest two Jobs of each app. more contains further fields of the object, after spec.
func ranking(mode, more string) string {
	return fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":"batch","uid":"u-batch"},
		"spec":{"mode":%q,"rules":[{"name":"jobs","target":{"apiVersion":"batch/v1","kind":"Job"},"eligible":"object.metadata.name != 'running'",
		"startTime":"object.metadata.creationTimestamp","ttl":"3d","keepNewest":{"count":2,"groupBy":"object.metadata.?labels[?'app'].orValue('')"},
		"overrideBounds":{"minTTL":"1h","minKeepNewest":1}}]}%s}`, mode, more)
}

// overriding is a RetentionPolicy of namespace dev.
func overriding(name, mode, override string) string {
	return fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"RetentionPolicy","metadata":{"name":%q,"namespace":"dev"},
		"spec":{"mode":%q,"overrides":[{"policy":"batch","rule":"jobs",%s}]}}`, name, mode, override)
}

// made is a Job that was created at some hour of the day before now.
func made(name, namespace, app string, hour int) string {
	return fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":%q,"uid":"u-%s","resourceVersion":"5",
		"creationTimestamp":"2026-02-28T%02d:00:00Z","labels":{"app":%q}}}`, name, namespace, name, hour, app)
}

// newExplained is a cluster with Jobs a, b and c of one app in namespace dev; a is the oldest.
func newExplained(t *testing.T, policies ...string) *apiServer {
	s := newLive(t)
	s.inForce(policies...)
	jobs := []string{made("a", "dev", "web", 1), made("b", "dev", "web", 2), made("c", "dev", "web", 3), made("d", "dev", "db", 6), made("running", "dev", "web", 4)}
	s.list(devJobsPath, "batch/v1", "Job", jobs[:2], jobs[2:])
	s.list(jobsPath, "batch/v1", "Job", append(jobs, made("e", "prod", "web", 5)))
	s.store(devJobsPath+"/a", jobs[0])
	s.store(devJobsPath+"/b", jobs[1])
	s.store(devJobsPath+"/running", jobs[4])
	s.store("/api/v1/namespaces/dev/secrets/s", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"dev","uid":"u-s","resourceVersion":"5","creationTimestamp":"2026-02-28T12:00:00Z"}}`)
	return s
}

// teams sets the RetentionPolicies.
func (s *apiServer) teams(policies ...string) {
	s.list(teamPoliciesPath, "sunset-k8s.io/v1alpha1", "RetentionPolicy", policies)
}

func (s *apiServer) explain(t *testing.T, stdin string, args ...string) ran {
	return s.run(t, stdin, "explain", args...)
}

func TestExplainALiveObject(t *testing.T) {
	s := newExplained(t, ranking("Enforce", ""), livePolicy("other", "DryRun", "Job", "1h"))
	s.teams(overriding("keep", "Enforce", `"keepNewest":{"count":1}`), overriding("sooner", "DryRun", `"ttl":"2h"`))
	page := s.explain(t, "", "job/b", "-n", "dev")
	golden(t, "explain-live", page)
	var record struct {
		Rules []struct{ IfEnforced map[string]any }
	}
	expect.NoError(t, json.Unmarshal([]byte(s.explain(t, "", "job/b", "-o", "json").out), &record))
	ttl := map[string]any{"name": "ttl", "value": "2h", "from": "RetentionPolicy dev/sooner spec.overrides[0]", "note": "rule says 3d, allowed 1h and longer"}
	enforced := map[string]any{
		"retentionPolicies": []any{"dev/sooner"}, "says": "due", "reason": "Expired",
		"startTime": "2026-02-28T02:00:00Z", "dueTime": "2026-02-28T04:00:00Z", "settings": []any{ttl},
	}
	expect.Equal(t, "if enforced", enforced, record.Rules[0].IfEnforced)
	asked := strings.Join(s.asked, "\n")
	if !strings.Contains(asked, "GET "+devJobsPath+" ") || strings.Contains(asked, "GET "+jobsPath+" ") {
		t.Errorf("requests for the Jobs of other namespaces, or none for this one:\n%s", asked)
	}
}

func TestExplainKnowsKindsAsKubectlDoes(t *testing.T) {
	s := newExplained(t, ranking("Enforce", ""))
	s.store("/api/v1/namespaces/dev/pods/p", object("p", "dev", `,"apiVersion":"v1","kind":"Pod"`))
	for _, args := range [][]string{{"job/b"}, {"jobs/b"}, {"Job", "b"}, {"jobs.batch/b"}, {"job.v1.batch/b"}, {"Job.v1.batch/b"}} {
		wants(t, s.explain(t, "", args...), command.ExitOK, "Job dev/b, ") // in the namespace of the kubeconfig
	}
	wants(t, s.explain(t, "", "po/p"), command.ExitOK, "Pod dev/p, ", "no rule targets its kind")
}

func TestExplainCountsOnlyWhatTheVerdictDependsOn(t *testing.T) {
	s := newExplained(t, ranking("Enforce", ""))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, `rank 3 of 3 in group "web"; the newest 2 stay`, "expires at 2026-03-03T01:00:00Z")
	wants(t, s.explain(t, "", "job/b"), command.ExitOK, `rank 2 of 3 in group "web"`, "stays: KeptNewest", "1 newer object of its group")
	wants(t, s.explain(t, "", "job/running"), command.ExitOK, "stays: NotEligible")
	s.teams(overriding("fewer", "DryRun", `"keepNewest":{"count":1}`))
	wants(t, s.explain(t, "", "job/b"), command.ExitOK, "stays: KeptNewest", "if RetentionPolicy dev/fewer were enforced: says due at 2026-03-03T02:00:00Z", "keepNewest 1 from RetentionPolicy dev/fewer")

	s.teams(overriding("nightly", "DryRun", `"windows":[{"schedule":"0 22 * * *","duration":"8h"}]`))
	if ran := s.explain(t, "", "job/a"); strings.Contains(ran.out, "were enforced") || !strings.Contains(ran.out, "from policy dev/nightly") {
		t.Errorf("a dry run whose windows apply already:\n%s", ran.out)
	}

	fair := strings.NewReplacer(`"keepNewest":{"count":2,"groupBy":"object.metadata.?labels[?'app'].orValue('')"}`, `"capacity":{"max":4,"share":"Fair"}`, `,"keepNewest":{"count":1}}`, "}").Replace(ranking("Enforce", ""))
	s = newExplained(t, fair)
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "5 eligible in all namespaces; at most 4 stay", "is deleted now: the capacity of the rule is exceeded")
	wants(t, s.explain(t, "", "job/b"), command.ExitOK, "expires at 2026-03-03T02:00:00Z")

	s = newExplained(t, strings.Replace(fair, `"max":4,"share":"Fair"`, `"percentOfQuota":50`, 1))
	s.list("/api/v1/namespaces/dev/resourcequotas", "v1", "ResourceQuota", []string{`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":"dev"},"spec":{"hard":{"count/jobs.batch":"6"}}}`})
	s.store("/api/v1", strings.Replace(s.pages["/api/v1"][0], `"resources":[`, `"resources":[{"name":"resourcequotas","singularName":"resourcequota","kind":"ResourceQuota","namespaced":true,"verbs":["list"]},`, 1))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "4 eligible in the namespace; at most 3 stay", "50 % of the namespace's quota")
	s.pages["/api/v1/namespaces/dev/resourcequotas"] = []string{forbidden}
	s.list(namespacesPath, "v1", "Namespace", []string{`{"metadata":{"name":"dev","labels":{"env":"dev"},"annotations":{"sunset-k8s.io/hold":"audit"}}}`})
	wants(t, s.explain(t, "", "job/a"), command.ExitFindings, "stays: Held", "\nINCOMPLETE: ")
	wants(t, s.preview(t, "", "-n", "dev"), command.ExitFindings, "Keep     Held")
	wants(t, s.preview(t, livePolicy("p", "DryRun", "Job", "1h"), "-n", "dev", "-f", "-"), command.ExitFindings, "1 error:", "Keep     Held")

	s = newExplained(t, livePolicy("p", "Enforce", "Job", "3d"))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "expires at 2026-03-03T01:00:00Z")
	if asked := strings.Join(s.asked, "\n"); strings.Contains(asked, "GET "+devJobsPath+" ") {
		t.Errorf("unnecessary requests:\n%s", asked)
	}
}

func TestExplainWhatWaitsForApproval(t *testing.T) {
	gone := `,"status":{"observedGeneration":1,"pendingApproval":{"hash":"77aa","due":{"now":412,"week":412},"matched":1630%s}}`
	s := newExplained(t, ranking("Enforce", fmt.Sprintf(gone, "")))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "stays: ApprovalRequired", "policy batch waits for approval: 412 of 1630 objects would", "- kubectl sunset approve batch: it would expire at ")
	s.inForce(ranking("Enforce", fmt.Sprintf(gone, `,"namespaces":["prod"]`)))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "expires at ")
	const later = `,"status":{"observedGeneration":1,"enforced":{"hash":"77aa","observedTime":"2026-01-01T00:00:00Z","due":{"now":0,"week":0},"waitingNamespaces":[%q]}}`
	s.inForce(ranking("Enforce", fmt.Sprintf(later, "dev")))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "stays: ApprovalRequired", "policy batch waits for approval\n")
	s.inForce(ranking("Enforce", fmt.Sprintf(later, "prod")))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "expires at ")
	s.inForce(ranking("DryRun", fmt.Sprintf(gone, "")))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "stays: DryRun (would expire at 2026-03-03T01:00:00Z")
	s.inForce(ranking("Enforce", fmt.Sprintf(gone, "")))
	wants(t, s.explain(t, ranking("DryRun", ""), "job/a", "-f", "-"), command.ExitOK, "expires at ", "mode Enforce")
}

// TestExplainPoliciesThatDeleteNothing: the controller runs with --dry-run, or the policy is being deleted.
func TestExplainPoliciesThatDeleteNothing(t *testing.T) {
	const status = `,"status":{"observedGeneration":1,"conditions":[{"type":"Enforcing","status":"False","reason":"%s"}]}`
	s := newExplained(t, ranking("Enforce", fmt.Sprintf(status, "DryRun")))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "stays: DryRun", "policy batch is a dry run, because the controller runs with --dry-run",
		"- remove --dry-run from the flags of the controller: it would expire at\n")
	deleted := strings.Replace(ranking("Enforce", fmt.Sprintf(status, "Terminating")), `"metadata":{`, `"metadata":{"deletionTimestamp":"2026-03-01T00:00:00Z",`, 1)
	s.inForce(deleted)
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "stays: Suspended", "policy batch is being deleted",
		"- create policy batch again when it no longer exists: it would expire at\n")
	s.inForce(deleted)
	wants(t, s.preview(t, ""), command.ExitOK, "Suspended")
}

func TestExplainWhatATeamsOwnRuleSays(t *testing.T) {
	own := `{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"RetentionPolicy","metadata":{"name":"own","namespace":"dev"},"spec":{"mode":"Enforce","serviceAccountName":"cleaner",
		"rules":[{"name":"r","target":{"apiVersion":"batch/v1","kind":"Job"},"eligible":"true","startTime":"object.metadata.creationTimestamp","ttl":"1h"}]}%s}`
	s := newExplained(t)
	s.teams(fmt.Sprintf(own, ""))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "dev/own/r, mode Enforce", "of ServiceAccount dev/cleaner from the policy; not checked here", "is deleted now")
	s.teams(fmt.Sprintf(own, `,"status":{"conditions":[{"type":"Permitted","status":"False","reason":"Forbidden","message":"may not delete jobs"}]}`))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "Forbidden: may not delete jobs", "- grant ServiceAccount dev/cleaner the missing permission")
	s.teams(fmt.Sprintf(own, `,"status":{"pendingApproval":{"hash":"77aa","due":{"now":1,"week":1},"matched":1}}`))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "- kubectl sunset approve own -n dev: it would be deleted now\n")
}

func TestExplainCountsFromMarks(t *testing.T) {
	unmarked := strings.Replace(livePolicy("p", "Enforce", "Job", "1h"), `"startTime":"object.metadata.creationTimestamp",`, "", 1)
	s := newExplained(t, unmarked)
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "expires at 2026-03-01T13:00:00Z", "start 2026-03-01T12:00:00Z from the evaluation time; the object has no mark",
		"Unmarked: the object is not marked eligible for p/r yet")
}

func TestExplainBesideAFileKeepsMarks(t *testing.T) {
	unmarked := strings.Replace(ranking("Enforce", ""), `"startTime":"object.metadata.creationTimestamp",`, "", 1)
	alone := strings.Replace(unmarked, `"keepNewest":{"count":2,"groupBy":"object.metadata.?labels[?'app'].orValue('')"},`, "", 1)
	s := newExplained(t, alone)
	object := strings.Replace(made("a", "dev", "web", 1), `"labels"`, fmt.Sprintf(`"annotations":{"sunset-k8s.io/eligible-since":%q},"labels"`, `{"`+markOf(t, alone)+`":"2026-03-01T06:00:00Z"}`), 1)
	s.store(devJobsPath+"/a", object)
	s.list(jobsPath, "batch/v1", "Job", []string{object})
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "expires at 2026-03-04T06:00:00Z", "start 2026-03-01T06:00:00Z from annotation sunset-k8s.io/eligible-since")
	file := strings.NewReplacer(`,"uid":"u-batch"`, "", `"3d"`, `"2d"`).Replace(alone)
	wants(t, s.explain(t, file, "job/a", "-f", "-"), command.ExitOK, "expires at 2026-03-03T06:00:00Z")
	wants(t, s.preview(t, file, "-f", "-"), command.ExitOK, "(2026-03-03T06:00:00Z)   batch/jobs")
}

// markOf returns the key of the marks of a policy's first rule.
func markOf(t *testing.T, text string) string {
	t.Helper()
	compiler, err := engine.NewCompiler(engine.Options{})
	expect.NoError(t, err)
	var object map[string]any
	expect.NoError(t, json.Unmarshal([]byte(text), &object))
	return load.NewLoader(compiler, policy.DefaultProtection()).Load(object).Rules[0].Mark
}

func TestExplainASecretByItsMetadata(t *testing.T) {
	s := newExplained(t, livePolicy("p", "Enforce", "Secret", "1h"))
	s.list(devSecretsPath, "v1", "Secret", []string{object("s", "dev", "")})
	wants(t, s.explain(t, "", "secret/s"), command.ExitOK, "Secret dev/s, 24h old", "is deleted now")
	for _, asked := range s.asked {
		if strings.Contains(asked, "/secrets") && !strings.Contains(asked, "PartialObjectMetadata") {
			t.Errorf("a request for the data of a Secret: %s", asked)
		}
	}
}

func TestExplainBesidePoliciesInFiles(t *testing.T) {
	s := newExplained(t, ranking("Enforce", ""))
	wants(t, s.explain(t, strings.Replace(ranking("DryRun", ""), `"3d"`, `"1h"`, 1), "job/a", "-f", "-"), command.ExitOK, "is deleted now: due since 2026-02-28T02:00:00Z")
	wants(t, s.explain(t, livePolicy("more", "DryRun", "Job", "9d"), "job/a", "-f", "-"), command.ExitOK, "expires at 2026-03-09T01:00:00Z",
		"\nnote: policy more has mode: DryRun; evaluated here as mode: Enforce\n", "batch/jobs, mode Enforce", "more/r, mode Enforce")
	wants(t, s.explain(t, overriding("new", "DryRun", `"keepNewest":{"count":3}`), "job/a", "-f", "-"), command.ExitOK, "stays: KeptNewest",
		"note: policy dev/new has mode: DryRun; evaluated", "keepNewest 3 from RetentionPolicy dev/new spec.overrides[0]")
	got := s.explain(t, strings.Replace(ranking("DryRun", ""), "object.metadata.name !=", "objekt.metadata.name !=", 1), "job/a", "-f", "-")
	wants(t, got, command.ExitFindings, "stays: RuleInvalid", `unknown name "objekt"`)
	got = s.explain(t, livePolicy("broken", "Enforce", "Pod", "1 day")+"\n---\n"+livePolicy("more", "Enforce", "Job", "9d"), "job/a", "-f", "-")
	wants(t, got, command.ExitOK, "expires at 2026-03-09T01:00:00Z")
	if got.err != "" || strings.Contains(got.out, "DryRun") {
		t.Errorf("unexpected output for a Job:\n%s%s", got.out, got.err)
	}
	s.store(policiesPath, forbidden)
	wants(t, s.explain(t, ranking("DryRun", ""), "job/a", "-f", "-"), command.ExitOK, "expires at 2026-03-03T01:00:00Z",
		"\nINCOMPLETE: ", "  list the cluster's policies: not for you\n")
}

// TestExplainWithoutTheClustersPolicies: with permissions in one namespace, the page says what it leaves out, and who can grant
// permission.
func TestExplainWithoutTheClustersPolicies(t *testing.T) {
	s := newExplained(t)
	denied := func(resource, scope string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,
			"message":"%[1]s is forbidden: User \"dev\" cannot list resource \"%[1]s\" at the %[2]s scope"}`, resource, scope)
	}
	s.store(policiesPath, denied("clusterretentionpolicies.sunset-k8s.io", "cluster"))
	s.store(teamPoliciesPath, denied("retentionpolicies.sunset-k8s.io", "cluster"))
	s.store(namespacesPath, denied("namespaces", "cluster"))
	s.store(namespacesPath+"/dev", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"dev","labels":{"env":"dev"}}}`)
	own := `{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"RetentionPolicy","metadata":{"name":"own","namespace":"dev","uid":"own"},
		"spec":{"mode":"Enforce","serviceAccountName":"cleaner","rules":[{"name":"r","target":{"apiVersion":"batch/v1","kind":"Job"},"eligible":"true","ttl":"3d"}]}}`
	s.list(devPoliciesPath, "sunset-k8s.io/v1alpha1", "RetentionPolicy", []string{own})
	page := s.explain(t, "", "job/a", "-n", "dev")
	wants(t, page, command.ExitFindings, "dev/own/r, mode Enforce", "\nINCOMPLETE: ",
		"list the cluster's policies: clusterretentionpolicies.sunset-k8s.io is\n      forbidden: User \"dev\" cannot list",
		"  kubectl create clusterrolebinding sunset-reader --clusterrole=sunset-reader --user=USER\n")
	if strings.Contains(page.out, "namespaces is forbidden") || strings.Contains(page.out, "  list the cluster's policies: retentionpolicies") {
		t.Errorf("the page reports a missing permission for resources that it read:\n%s", page.out)
	}
	wants(t, s.explain(t, "", "job/a", "-n", "dev", "-o", "json"), command.ExitFindings, `"incomplete": {`, `"errors": [`)
	wants(t, s.preview(t, "", "-n", "dev"), command.ExitFindings, "1 error:", "clusterretentionpolicies.sunset-k8s.io is forbidden", "dev/own/r", "--user=USER")
	wants(t, s.preview(t, livePolicy("p", "DryRun", "Job", "1d"), "-n", "dev", "-f", "-"), command.ExitOK, "p/r", "note: list the cluster's policies: clusterretentionpolicies")

	s.list(devPoliciesPath, "sunset-k8s.io/v1alpha1", "RetentionPolicy", nil)
	s.store(namespacesPath+"/dev", denied("namespaces", "cluster"))
	wants(t, s.explain(t, "", "job/a", "-n", "dev"), command.ExitFindings, "No rule that you can read targets its kind.", "\nINCOMPLETE: ", "namespaces is forbidden")
	wants(t, s.preview(t, "", "-n", "dev"), command.ExitError, "error: no policy that you can read: list the cluster's policies: clusterretentionpolicies", "--user=USER")
}

func TestExplainWhatNothingSelects(t *testing.T) {
	s := newExplained(t, strings.Replace(livePolicy("labels", "Enforce", "Job", "1h"), `"kind":"Job"`, `"kind":"Job","selector":{"matchLabels":{"team":"x"}}`, 1),
		strings.Replace(livePolicy("p", "Enforce", "Job", "1h"), `{"env":"dev"}`, `{"env":"prod"}`, 1))
	wants(t, s.explain(t, "", "job/a"), command.ExitOK, "stays: NotSelected", "No rule selects it, because:",
		"labels/r: its selector is team=x (LabelsDiffer)", "p/r: namespaceSelector is env=prod (NamespaceNotSelected)",
		"Possible changes:", "set labels on the object: team=x: it would be deleted now",
		"select dev in namespaceSelector of p\n")
	s.store("/api/v1/namespaces/dev/pods/static", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"static","namespace":"dev","uid":"u","resourceVersion":"5","annotations":{"kubernetes.io/config.mirror":"x"}}}`)
	s.inForce(livePolicy("p", "Enforce", "Pod", "1h"))
	wants(t, s.explain(t, "", "pod/static"), command.ExitOK, "stays: NotSelected", "p/r: it is a mirror Pod, which only its node can stop (MirrorPod)")
}

// TestExplainSuggestsWhatChangesIt applies the suggested changes, and checks that the object is then deleted.
func TestExplainSuggestsWhatChangesIt(t *testing.T) {
	const selector = "selector: {matchExpressions: [{key: keep, operator: DoesNotExist}, {key: team, operator: In, values: [a, b]}]}"
	for name, test := range map[string]struct {
		selector, labels, ttl, overrides, eligible string
		wants                                      string
		replace                                    []string // the suggested change of the files
	}{
		"labels": {
			selector: selector, labels: "keep: x", eligible: "'true'", wants: "  - set labels on the object: team=a, and remove labels from the object: keep:\n      it would be deleted now\n",
			replace: []string{"keep: x", "team: a"},
		},
		"labels, and a condition that is false": {
			selector: selector, labels: "team: c", eligible: "has(object.status)",
			wants:   "  - set labels on the object: team=a, and eligible of rule p/r becomes true\n",
			replace: []string{"team: c", "team: a", "has(object.status)", "'true'"},
		},
		"an invalid time to live": {
			ttl: "sunset-k8s.io/ttl: soon", eligible: "'true'", wants: "  - fix or remove annotation sunset-k8s.io/ttl of the object\n", replace: []string{"sunset-k8s.io/ttl: soon", ""},
		},
		"overrides that suspend": {
			overrides: "[{policy: p, suspend: true}, {policy: p, rule: r, suspend: true, ttl: 2h}]", eligible: "'true'",
			wants: "  - remove suspend: true from RetentionPolicy dev/own spec.overrides[0], and\n" +
				"      remove suspend: true from RetentionPolicy dev/own spec.overrides[1]: it\n      would be deleted now\n",
			replace: []string{"{policy: p, suspend: true}, ", "", "suspend: true, ", ""},
		},
		"an invalid override": {
			overrides: "[{policy: p, ttl: 2 hours}]", eligible: "'true'",
			wants:   "  - fix RetentionPolicy dev/own spec.overrides[0] (run: kubectl sunset validate)\n",
			replace: []string{"2 hours", "2h"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := fmt.Sprintf("apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: p}\n"+
				"spec:\n  rules:\n  - {name: r, target: {apiVersion: batch/v1, kind: Job, %s}, eligible: %s, startTime: object.metadata.creationTimestamp, ttl: 1h}\n"+
				"---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: dev, uid: u, creationTimestamp: '2026-02-01T00:00:00Z', labels: {%s}, annotations: {%s}}\n",
				test.selector, test.eligible, test.labels, test.ttl)
			if test.overrides != "" {
				files += "---\napiVersion: sunset-k8s.io/v1alpha1\nkind: RetentionPolicy\nmetadata: {name: own, namespace: dev}\nspec: {mode: Enforce, overrides: " + test.overrides + "}\n"
			}
			page := run(t, files, "explain", "job/a", "-n", "dev", "-f", "-")
			if _, suggested, _ := strings.Cut(page.out, "Possible changes:\n"); suggested != test.wants {
				t.Errorf("suggested\n%swant\n%s%s", suggested, test.wants, page.out)
			}
			if page := run(t, strings.NewReplacer(test.replace...).Replace(files), "explain", "job/a", "-n", "dev", "-f", "-"); !strings.Contains(page.out, "is deleted now") {
				t.Errorf("the suggested change has no effect:\n%s", page.out)
			}
		})
	}
}

func TestExplainErrors(t *testing.T) {
	s := newExplained(t, ranking("Enforce", ""))
	for name, test := range map[string]struct {
		args  []string
		stdin string
		wants string
	}{
		"no argument":                {wants: "no object given; name one as KIND/NAME"},
		"no name":                    {args: []string{"job/"}, wants: "name one object as KIND/NAME"},
		"two names":                  {args: []string{"job", "a", "b"}, wants: "name one object as KIND/NAME"},
		"a missing object":           {args: []string{"job/z"}, wants: "error: "},
		"an unknown kind":            {args: []string{"banana/z"}, wants: `the server doesn't have a resource type "banana"`},
		"objects and no policy":      {args: []string{"-f", "-"}, stdin: made("a", "dev", "web", 1), wants: "the files contain objects and no policy"},
		"not in the files":           {args: []string{"job/z", "-f", "-"}, stdin: ranking("DryRun", "") + made("a", "dev", "web", 1), wants: "job z not found in the files"},
		"two in the files":           {args: []string{"-f", "-"}, stdin: ranking("DryRun", "") + made("a", "dev", "web", 1) + made("b", "dev", "web", 1), wants: "Job/a in dev, Job/b in dev"},
		"one name in two namespaces": {args: []string{"job/a", "-f", "-"}, stdin: ranking("DryRun", "") + made("a", "dev", "web", 1) + made("a", "prod", "web", 1), wants: "Job/a in dev, Job/a in prod"},
		"at another version":         {args: []string{"-f", "-"}, stdin: ranking("DryRun", "") + strings.Replace(made("a", "dev", "web", 1), "batch/v1", "batch/v2", 1), wants: "the object is at version batch/v2, but the rules read Job at batch/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.explain(t, "", test.args...)
			if test.stdin != "" {
				got = run(t, test.stdin, append([]string{"explain"}, test.args...)...)
			}
			wants(t, got, command.ExitError, test.wants)
		})
	}
	s.store(devJobsPath, forbidden)
	wants(t, s.explain(t, "", "job/a"), command.ExitError, "cannot list Job of batch/v1: not for you; rule batch/jobs needs these objects to rank the object")
}

func TestExplainFromFiles(t *testing.T) {
	golden(t, "explain-files", run(t, "", "explain", "job/report", "-f", "testdata/explain.yaml"))
	golden(t, "explain-json", run(t, "", "explain", "jobs.batch/older", "-f", "testdata/explain.yaml", "-o", "json"))
	one := ranking("DryRun", "") + "\n---\n" + made("a", "dev", "web", 1) + "\n---\n" + `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"dev"}}`
	wants(t, run(t, one, "explain", "-f", "-"), command.ExitOK, "Job dev/a", `rank 1 of 1 in group "web"`)
	two := one + "\n---\n" + made("a", "prod", "web", 1)
	wants(t, run(t, two, "explain", "JOB/a", "-n", "prod", "-f", "-"), command.ExitOK, "Job prod/a")
	failing := strings.Replace(one, "object.metadata.name != 'running'", "object.spec.done", 1)
	wants(t, run(t, failing, "explain", "-f", "-"), command.ExitFindings, "stays: EvaluationFailed", "1 object in the namespace cannot be evaluated")
}

// TestExplainAgreesWithPreview: explain and preview have the same decision about each object at the same time.
func TestExplainAgreesWithPreview(t *testing.T) {
	var all struct {
		Verdicts []map[string]any
	}
	expect.NoError(t, json.Unmarshal([]byte(run(t, "", "preview", "-f", "testdata/explain.yaml", "-o", "json").out), &all))
	if len(all.Verdicts) < 4 {
		t.Fatalf("only %d decisions", len(all.Verdicts))
	}
	for _, want := range all.Verdicts {
		object := fmt.Sprintf("%s/%s", want["kind"], want["name"])
		var page struct{ Verdict map[string]any }
		expect.NoError(t, yaml.Unmarshal([]byte(run(t, "", "explain", object, "-f", "testdata/explain.yaml", "-o", "yaml").out), &page))
		for _, field := range []string{"apiVersion", "kind", "namespace", "name", "message"} {
			delete(want, field)
		}
		delete(page.Verdict, "message")
		expect.Equal(t, object, want, page.Verdict)
	}
}
