// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

const (
	batchPath            = policiesPath + "/batch"
	cleanupPath          = "/apis/sunset-k8s.io/v1alpha1/namespaces/team-a/retentionpolicies/cleanup"
	clusterApprovalsPath = "/apis/sunset-k8s.io/v1alpha1/clusterretentionapprovals"
)

// waiting is a policy whose status has a change that waits for approval.
func waiting(kind, name, pending string) string {
	namespace := ""
	if kind == "RetentionPolicy" {
		namespace = "team-a"
	}
	return fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":%q,"metadata":{"name":%q,"namespace":%q,"uid":"u-1","resourceVersion":"7","generation":4},
		"spec":{"mode":"Enforce"},"status":{"observedGeneration":4%s}}`, kind, name, namespace, pending)
}

const pending = `,"pendingApproval":{"hash":"3f2a","due":{"now":412,"week":420},"matched":1630},"rules":[{"name":"jobs","soonest":[{"namespace":"shop","name":"report","dueTime":"2026-03-01T12:05:00Z"}]}]`

func newWaiting(t *testing.T) *apiServer {
	s := newAPIServer(t)
	s.store(batchPath, waiting("ClusterRetentionPolicy", "batch", pending))
	return s
}

func TestApprove(t *testing.T) {
	s := newWaiting(t)
	golden(t, "approve", s.run(t, "y\n", "approve", "batch"))
	expect.Equal(t, "created", []string{clusterApprovalsPath + `? {"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionApproval","metadata":{` +
		`"name":"batch-3f2a","ownerReferences":[{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","name":"batch","uid":"u-1"}]},` +
		`"spec":{"approvedBy":"alice","hash":"3f2a","objects":420,"policy":{"name":"batch","uid":"u-1"}}}` + "\n"}, s.created)
	wants(t, s.run(t, "", "approve", "batch", "--yes"), command.ExitOK, "is already approved")
}

// TestApproveAgain: an approval of the change exists, but does not count.
func TestApproveAgain(t *testing.T) {
	for name, spec := range map[string]string{
		"expired":                    `{"policy":{"name":"batch","uid":"u-1"},"hash":"3f2a","objects":420,"expirationTime":"2026-03-01T00:00:00Z"}`,
		"of a policy of this name":   `{"policy":{"name":"batch","uid":"u-0"},"hash":"3f2a","objects":420}`,
		"its name says another hash": `{"policy":{"name":"batch","uid":"u-1"},"hash":"77aa","objects":420}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newWaiting(t)
			s.store(clusterApprovalsPath+"/batch-3f2a", `{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionApproval","metadata":{"name":"batch-3f2a"},"spec":`+spec+`}`)
			wants(t, s.run(t, "", "approve", "batch", "--yes"), command.ExitOK, "batch approved")
			if len(s.created) != 1 || !strings.Contains(s.created[0], `"name":"batch-3f2a-2"`) {
				t.Errorf("created %v", s.created)
			}
			wants(t, s.run(t, "", "approve", "batch", "--yes"), command.ExitOK, "is already approved")
		})
	}
}

func TestApproveANamespacesPolicy(t *testing.T) {
	s := newAPIServer(t)
	s.store(cleanupPath, waiting("RetentionPolicy", "cleanup", strings.Replace(pending, "1630", `1630,"namespaces":["team-a"]`, 1)))
	wants(t, s.run(t, "yes\n", "approve", "cleanup", "-n", "team-a", "--expires-in=1h"), command.ExitOK,
		"a change in these namespaces: the rules now apply there, or no longer keep objects there: team-a", "retentionpolicy.sunset-k8s.io/cleanup approved")
	for _, want := range []string{"namespaces/team-a/retentionapprovals", `"namespaces":["team-a"]`, `"expirationTime":"`} {
		if !strings.Contains(s.created[0], want) {
			t.Errorf("%s lacks %s", s.created[0], want)
		}
	}
}

func TestApproveCreatesNothing(t *testing.T) {
	waits := waiting("ClusterRetentionPolicy", "batch", pending)
	for name, test := range map[string]struct {
		policy string
		answer string
		args   []string
		code   int
		wants  string
	}{
		"no change waits":      {waiting("ClusterRetentionPolicy", "batch", ""), "", []string{"batch"}, command.ExitOK, "does not wait for approval"},
		"one object":           {waiting("ClusterRetentionPolicy", "batch", `,"pendingApproval":{"hash":"3f2a","due":{"now":1,"week":1},"matched":1}`), "", []string{"batch", "--dry-run=client"}, command.ExitOK, "1 of 1 object that the rules select"},
		"a dry run":            {waits, "", []string{"batch", "--dry-run=client"}, command.ExitOK, "clusterretentionpolicy.sunset-k8s.io/batch approved (dry run)"},
		"the approval as YAML": {waits, "", []string{"batch", "--dry-run=client", "-o", "yaml"}, command.ExitOK, "kind: ClusterRetentionApproval\n"},
		"the answer is no":     {waits, "n\n", []string{"batch"}, command.ExitError, "error: not approved"},
		"the answer is empty":  {waits, "\n", []string{"batch"}, command.ExitError, "error: not approved"},
		"nobody answers":       {waits, "", []string{"batch"}, command.ExitError, "add --yes"},
		"another hash":         {waits, "", []string{"batch", "--yes", "--hash=77aa"}, command.ExitError, "another change, with hash 3f2a instead of 77aa"},
		"a count of an earlier spec": {strings.Replace(waits, `"generation":4`, `"generation":5`, 1), "", []string{"batch", "--yes"}, command.ExitError,
			"changed after the controller counted its objects"},
		"a missing policy":   {waits, "", []string{"other"}, command.ExitError, "error: "},
		"no argument":        {waits, "", nil, command.ExitError, "name one policy"},
		"an end in the past": {waits, "", []string{"batch", "--expires-in=-1h"}, command.ExitError, `"-1h" is not a duration`},
		"an end at once":     {waits, "", []string{"batch", "--expires-in=0s"}, command.ExitError, "must be longer than 0"},
		"a ClusterRetentionPolicy with a namespace": {waits, "", []string{"batch", "-n", "team-a"}, command.ExitError, "error: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.store(batchPath, test.policy)
			wants(t, s.run(t, test.answer, "approve", test.args...), test.code, test.wants)
			if len(s.created) > 0 {
				t.Errorf("created %v", s.created)
			}
		})
	}
}

func TestApproveWithTheCheckOfTheServer(t *testing.T) {
	s := newWaiting(t)
	wants(t, s.run(t, "", "approve", "batch", "--dry-run=server"), command.ExitOK, "approved (server dry run)")
	if len(s.created) != 1 || !strings.HasPrefix(s.created[0], clusterApprovalsPath+"?All ") {
		t.Errorf("created %v", s.created)
	}
}

// TestApproveOnlyWhatItHasShown: the policy changes while the user decides.
func TestApproveOnlyWhatItHasShown(t *testing.T) {
	for name, test := range map[string]struct {
		pending string
		code    int
		wants   string
	}{
		"fewer objects":  {strings.Replace(pending, "420", "410", 1), command.ExitOK, "batch approved\n"},
		"more objects":   {strings.Replace(pending, "420", "421", 1), command.ExitError, "421 objects within 7 days, more than it showed"},
		"another change": {strings.Replace(pending, "3f2a", "77aa", 1), command.ExitError, "another change, with hash 77aa instead of 3f2a"},
		"unread numbers": {strings.Replace(pending, `{"now":412,"week":420}`, "412", 1), command.ExitError, "cannot read the status of policy batch"},
		"no change":      {"", command.ExitOK, "does not wait for approval"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWaiting(t)
			s.after[batchPath] = []func(){func() { s.store(batchPath, waiting("ClusterRetentionPolicy", "batch", test.pending)) }}
			wants(t, s.run(t, "y\n", "approve", "batch"), test.code, test.wants)
			expect.Equal(t, "approvals", test.wants == "batch approved\n", len(s.created) == 1)
		})
	}
}

func TestApproveIsRefused(t *testing.T) {
	s := newWaiting(t)
	s.store(clusterApprovalsPath, forbidden)
	wants(t, s.run(t, "", "approve", "batch", "--yes"), command.ExitError, "error: approve clusterretentionpolicy.sunset-k8s.io/batch: not for you")
}
