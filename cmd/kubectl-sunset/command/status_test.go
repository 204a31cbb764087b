package command_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
)

// told is a policy with a status.
func told(kind, namespace, name, spec, status string) string {
	return fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":%q,"metadata":{"name":%q,"namespace":%q,"generation":4},"spec":{%s},"status":{%s}}`,
		kind, name, namespace, spec, status)
}

const (
	teamPath = "/apis/sunset-k8s.io/v1alpha1/namespaces/team-a/retentionpolicies"
	enforced = `"mode":"Enforce"`
	isReady  = `"observedGeneration":4,"matched":20,"due":{"now":3,"hour":3,"day":4,"week":5},"deleted":412,"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"Sunset deletes objects when they are due"}]`
)

func newStatuses(t *testing.T) *apiServer {
	s := newAPIServer(t)
	s.inForce(
		told("ClusterRetentionPolicy", "", "batch", enforced, `"observedGeneration":4,"matched":20,"blocked":17,"due":{"now":0},"deleted":412,"conditions":[
			{"type":"Ready","status":"True","reason":"Ready","message":"Sunset deletes objects when they are due"},
			{"type":"Blocked","status":"True","reason":"EvaluationFailed","message":"rules of other policies keep 17 objects that this policy would delete now: 17 by rule jobs of ClusterRetentionPolicy typo (EvaluationFailed); run kubectl sunset explain job.batch/x -n shop"}]`),
		told("ClusterRetentionPolicy", "", "typo", enforced, `"observedGeneration":4,"matched":20,"errors":20,"conditions":[
			{"type":"Ready","status":"False","reason":"EvaluationFailed","message":"rule jobs fails on 20 of 20 objects, first on shop/x: eligible: no such key: succeded"}]`))
	s.teams(told("RetentionPolicy", "team-a", "own", "", isReady), told("RetentionPolicy", "team-b", "new", "", ""))
	return s
}

func TestStatus(t *testing.T) {
	golden(t, "status", newStatuses(t).run(t, "", "status"))
}

// TestStatusOfANamespace: with -n, the command needs no permission to list policies outside of the namespace.
func TestStatusOfANamespace(t *testing.T) {
	s := newAPIServer(t)
	s.proxied = map[string]http.HandlerFunc{policiesPath: func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusForbidden, "Forbidden") }}
	s.list(teamPath, "sunset-k8s.io/v1alpha1", "RetentionPolicy", []string{told("RetentionPolicy", "team-a", "own", "", isReady)})
	wants(t, s.run(t, "", "status", "-n", "team-a"), command.ExitOK, "team-a      own    DryRun   True", "412")
	wants(t, s.run(t, "", "status", "-n", "team-b"), command.ExitOK, "No policies found.")
}
