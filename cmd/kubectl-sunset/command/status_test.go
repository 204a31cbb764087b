// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

// told is a policy with a status.
func told(kind, namespace, name, spec, status string) string {
	return fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":%q,"metadata":{"name":%q,"namespace":%q,"generation":4},"spec":{%s},"status":{%s}}`,
		kind, name, namespace, spec, status)
}

const (
	teamPath   = "/apis/sunset-k8s.io/v1alpha1/namespaces/team-a/retentionpolicies"
	enforced   = `"mode":"Enforce"`
	isReady    = `"observedGeneration":4,"matched":20,"due":{"now":3,"hour":3,"day":4,"week":5},"deleted":412,` + conditions
	conditions = `"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"Sunset deletes objects when they are due"},{"type":"Enforcing","status":"True","reason":"Enforcing","message":""}]`
)

func newStatuses(t *testing.T) *apiServer {
	s := newAPIServer(t)
	s.inForce(
		told("ClusterRetentionPolicy", "", "batch", enforced, `"observedGeneration":4,"matched":20,"blocked":17,"due":{"now":0},"deleted":412,"conditions":[
			{"type":"Ready","status":"True","reason":"Ready","message":"Sunset deletes objects when they are due"},
			{"type":"Blocked","status":"True","reason":"EvaluationFailed","message":"rules of other policies keep 17 objects that this policy would delete now: 17 by rule jobs of ClusterRetentionPolicy typo (EvaluationFailed); run kubectl sunset explain job.batch/x -n shop"}]`),
		told("ClusterRetentionPolicy", "", "typo", enforced, `"observedGeneration":4,"matched":20,"errors":20,"conditions":[
			{"type":"Ready","status":"False","reason":"EvaluationFailed","message":"rule jobs fails on 20 of 20 objects, first on shop/x: eligible: no such key: succeded"}]`))
	own := `"mode":"Enforce","rules":[{"name":"jobs","target":{"apiVersion":"batch/v1","kind":"Job"}},{"name":"pods","target":{"apiVersion":"v1","kind":"Pod"}}]`
	next := `,"rules":[{"name":"jobs","soonest":[{"namespace":"team-a","name":"a","dueTime":"2026-03-01T12:01:00Z"},{"namespace":"team-a","name":"c","dueTime":"2026-03-02T12:00:00Z"}]},
		{"name":"pods","soonest":[{"namespace":"team-a","name":"b","dueTime":"2026-03-01T11:59:00Z"}]}]`
	s.teams(told("RetentionPolicy", "team-a", "own", own, isReady+next), told("RetentionPolicy", "team-b", "new", "", ""))
	return s
}

func TestStatus(t *testing.T) {
	golden(t, "status", newStatuses(t).run(t, "", "status"))
}

// TestStatusOfDeferredDeletions: a policy whose windows are closed deletes objects next when they open.
func TestStatusOfDeferredDeletions(t *testing.T) {
	s := newAPIServer(t)
	for reason, code := range map[string]int{"OutsideWindows": command.ExitOK, "Frozen": command.ExitFindings} {
		s.list(teamPath, "sunset-k8s.io/v1alpha1", "RetentionPolicy", []string{told("RetentionPolicy", "team-a", "own", enforced, `"observedGeneration":4,
			"rules":[{"name":"jobs","soonest":[{"namespace":"team-a","name":"a","dueTime":"2026-03-01T22:00:00Z"}]}],
			"conditions":[{"type":"Ready","status":"True","reason":"Ready"},{"type":"Enforcing","status":"False","reason":"`+reason+`","message":"deletions wait"}]`)})
		wants(t, s.run(t, "", "status", "-n", "team-a"), code, "Deleted next:\n", "own/jobs")
	}
}

// TestStatusOfANamespace: with -n, the command needs no permission to list policies outside of the namespace.
func TestStatusOfANamespace(t *testing.T) {
	s := newAPIServer(t)
	s.proxied = map[string]http.HandlerFunc{policiesPath: func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusForbidden, "Forbidden") }}
	s.list(teamPath, "sunset-k8s.io/v1alpha1", "RetentionPolicy", []string{told("RetentionPolicy", "team-a", "own", "", isReady)})
	wants(t, s.run(t, "", "status", "-n", "team-a"), command.ExitOK, "team-a      own    DryRun   True", "412   -")
	wants(t, s.run(t, "", "status", "-n", "team-b"), command.ExitOK, "No policies found.")
}

// watched serves policies: each watch has one of the events, before it ends, and the last watch
// has none.
func (s *apiServer) watched(path string, events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch query := r.URL.Query(); {
		case query.Get("watch") == "":
			fmt.Fprint(w, s.pages[path][0])
		case query.Get("sendInitialEvents") != "":
			fail(w, http.StatusUnprocessableEntity, "Invalid")
		case len(events) == 0:
			<-r.Context().Done()
		default:
			fmt.Fprintln(w, events[0])
			events = events[1:]
		}
	}
}

func event(kind string, matched int) string {
	policy := told("ClusterRetentionPolicy", "", "batch", enforced, fmt.Sprintf(`"matched":%d,"observedGeneration":4,`, matched)+conditions)
	return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, strings.Replace(policy, `"generation"`, fmt.Sprintf(`"resourceVersion":"%d","generation"`, 100+matched), 1))
}

// TestStatusWatch: after the table, each change has one row, also if the watch ends in between.
func TestStatusWatch(t *testing.T) {
	s := newAPIServer(t)
	s.inForce(told("ClusterRetentionPolicy", "", "batch", enforced, `"matched":1,"observedGeneration":4,`+conditions))
	s.teams()
	s.proxied = map[string]http.HandlerFunc{
		policiesPath:     s.watched(policiesPath, event("MODIFIED", 1), event("MODIFIED", 2), event("MODIFIED", 1000000000), event("DELETED", 1000000000)),
		teamPoliciesPath: s.watched(teamPoliciesPath),
	}
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan int)
	go func() {
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: io.Discard}
		done <- command.Run(ctx, []string{"status", "--watch", "--server", s.URL}, streams, now)
	}()
	lines := bufio.NewScanner(read)
	for _, want := range []string{
		"NAMESPACE   NAME    MODE      READY   MATCHED   DUE   BLOCKED   ERRORS   DELETED   NEXT",
		"-           batch   Enforce   True          1     0         0        0         0   -",
		"-           batch   Enforce   True          2     0         0        0         0   -",
		"-           batch   Enforce   True    1000000000     0         0        0         0   -",
		"-           batch   Enforce   Unknown (Deleted)   1000000000     0         0        0         0   -",
	} {
		lines.Scan()
		expect.Equal(t, "line", want, lines.Text())
	}
	stop()
	expect.Equal(t, "exit code", command.ExitOK, <-done)
}
