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

// TestStatusOfUncountedObjects: a zero that the controller wrote for an unknown number is not a number. A kind that is listed counts.
func TestStatusOfUncountedObjects(t *testing.T) {
	const counted = `"observedGeneration":4,"matched":%d,"eligible":0,"held":0,"errors":0,"blocked":0,"deleted":7,"due":{"now":0,"hour":0,"day":0,"week":0},
		"conditions":[{"type":"Ready","status":"Unknown","reason":"R","message":"m"},{"type":%q,"status":%q,"reason":"R","message":"m"}]`
	zero := []string{"0", "0", "0", "0", "7"}
	for name, test := range map[string]struct {
		matched           int
		condition, status string
		want              []string // matched, due, blocked, errors, deleted
		has               bool     // the numbers in JSON
	}{
		"counted":                 {0, "Watching", "True", zero, true},
		"not listed yet":          {0, "Watching", "Unknown", []string{"-", "-", "-", "-", "7"}, false},
		"not listed":              {0, "Watching", "False", []string{"-", "-", "-", "-", "7"}, false},
		"forbidden":               {0, "Permitted", "False", []string{"-", "-", "-", "-", "7"}, false},
		"permissions not known":   {0, "Permitted", "Unknown", []string{"-", "-", "-", "-", "7"}, false},
		"permitted":               {0, "Permitted", "True", zero, true},
		"an expression fails":     {0, "Enforcing", "False", zero, true},
		"another kind is counted": {3, "Watching", "False", []string{"3", "-", "-", "-", "7"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.list(teamPath, "sunset-k8s.io/v1alpha1", "RetentionPolicy", []string{
				told("RetentionPolicy", "team-a", "own", enforced, fmt.Sprintf(counted, test.matched, test.condition, test.status)),
			})
			text := s.run(t, "", "status", "-n", "team-a", "-o", "wide").out
			row := strings.Fields(strings.Split(text, "\n")[1])
			expect.Equal(t, "row", test.want, row[len(row)-11:len(row)-6])
			expect.Equal(t, "due and held", strings.Repeat(test.want[1]+" ", 4), strings.Join(row[len(row)-5:len(row)-1], " ")+" ")
			asJSON := s.run(t, "", "status", "-n", "team-a", "-o", "json").out
			expect.Equal(t, "JSON has due", test.has, strings.Contains(asJSON, `"due"`))
			expect.Equal(t, "JSON has held", test.has, strings.Contains(asJSON, `"held"`))
			expect.Equal(t, "JSON has matched", test.has || test.matched > 0, strings.Contains(asJSON, `"matched"`))
			expect.Equal(t, "JSON has deleted", true, strings.Contains(asJSON, `"deleted": 7`))
		})
	}
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
