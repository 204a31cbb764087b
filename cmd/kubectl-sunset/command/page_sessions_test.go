// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestSessionsWithAClusterOfTheDocs runs commands for which the pages show a result from a cluster, with an API server that has
// such objects.
func TestSessionsWithAClusterOfTheDocs(t *testing.T) {
	for page, session := range map[string]struct {
		args   []string
		server func(*testing.T) *apiServer
		named  []string // names on the page, each with that of the objects of the tests
	}{
		"find-out-why": {[]string{"status"}, stuckByAnother, nil},
		"restore-deleted-objects": {
			[]string{"archive", "restore", "job/report", "-n", "dev"}, func(t *testing.T) *apiServer { return newArchiveServer(t, newArchived(t)) },
			[]string{"shop", "dev", "sync-users", "report"},
		},
	} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile("../../../docs/tasks/" + page + ".md")
			expect.NoError(t, err)
			command := "kubectl sunset " + strings.Join(session.args, " ")
			var shown []string
			for _, found := range plainSession.FindAllStringSubmatch(string(text), -1) {
				if strings.NewReplacer(session.named...).Replace(found[2]) == command {
					shown = found
				}
			}
			if shown == nil {
				t.Fatalf("the page has no session %s", command)
			}
			output := strings.ReplaceAll("\n"+shown[3], "\n"+shown[1], "\n")[1:]
			expectOutput(t, strings.NewReplacer(session.named...).Replace(output), session.server(t).run(t, "", session.args[0], session.args[1:]...))
		})
	}
}

// plainSession finds a command and its output in a block without a language, with the indentation of the block.
var plainSession = regexp.MustCompile("(?ms)^( *)```\n *\\$ (kubectl sunset [^\n]*)\n(.*?)^ *```$")

// stuckByAnother has a policy whose objects a policy with a failing expression keeps.
func stuckByAnother(t *testing.T) *apiServer {
	s := newAPIServer(t)
	jobs := enforced + `,"rules":[{"name":"jobs","target":{"apiVersion":"batch/v1","kind":"Job"}}]`
	s.inForce(
		told("ClusterRetentionPolicy", "", "batch", jobs, `"observedGeneration":4,"matched":20,"blocked":17,"due":{"now":0},"deleted":412,"nextDueTime":"2026-03-01T12:05:00Z",
			"rules":[{"name":"jobs","soonest":[{"namespace":"shop","name":"report","dueTime":"2026-03-01T12:05:00Z"}]}],"conditions":[
			{"type":"Ready","status":"True","reason":"Ready","message":"Sunset deletes objects when they are due"},
			{"type":"Enforcing","status":"True","reason":"Enforcing","message":""},
			{"type":"Blocked","status":"True","reason":"EvaluationFailed","message":"rules of other policies keep 17 objects that this policy would delete now: 17 by rule jobs of ClusterRetentionPolicy typo (EvaluationFailed); run kubectl sunset explain job.batch/x -n shop"}]`),
		told("ClusterRetentionPolicy", "", "typo", enforced, `"observedGeneration":4,"matched":20,"errors":20,"conditions":[
			{"type":"Ready","status":"False","reason":"EvaluationFailed","message":"rule jobs fails on 20 of 20 objects, first on shop/x: eligible: no such key: succeded"}]`))
	s.teams()
	return s
}
