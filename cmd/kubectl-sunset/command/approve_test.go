package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	batchPath   = policiesPath + "/batch"
	cleanupPath = "/apis/sunset-k8s.io/v1alpha1/namespaces/team-a/retentionpolicies/cleanup"
)

// waiting is a policy whose status has a backlog that waits for approval.
func waiting(kind, name, resourceVersion, pending string) string {
	namespace := ""
	if kind == "RetentionPolicy" {
		namespace = "team-a"
	}
	return fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":%q,"metadata":{"name":%q,"namespace":%q,"uid":"u-1","resourceVersion":%q,"generation":4},
		"spec":{"mode":"Enforce"},"status":{"observedGeneration":4%s}}`, kind, name, namespace, resourceVersion, pending)
}

const pending = `,"pendingApproval":{"hash":"3f2a","due":412,"selected":1630}`

func newWaiting(t *testing.T) *apiServer {
	s := newAPIServer(t)
	s.store(batchPath, waiting("ClusterRetentionPolicy", "batch", "7", pending))
	return s
}

func TestApprove(t *testing.T) {
	s := newWaiting(t)
	golden(t, "approve", s.run(t, "", "approve", "batch"))
	if got := s.annotations(t, batchPath)[v1alpha1.ApprovedAnnotation]; got != "3f2a" {
		t.Errorf("approved is %q", got)
	}
	if len(s.patches) != 1 || !strings.Contains(s.patches[0], `"resourceVersion":"7"`) {
		t.Errorf("want one patch of the version that was read: %v", s.patches)
	}
	wants(t, s.run(t, "", "approve", "batch"), command.ExitOK, "is already approved")
}

func TestApproveANamespacesPolicy(t *testing.T) {
	s := newAPIServer(t)
	s.store(cleanupPath, waiting("RetentionPolicy", "cleanup", "7", strings.Replace(pending, "1630", `1630,"namespaces":["team-a"]`, 1)))
	wants(t, s.run(t, "", "approve", "cleanup", "-n", "team-a"), command.ExitOK, "a change in these namespaces: the rules now apply there, or no longer keep objects there: team-a", "retentionpolicy.sunset-k8s.io/cleanup approved")
	if got := s.annotations(t, cleanupPath)[v1alpha1.ApprovedAnnotation]; got != "3f2a" {
		t.Errorf("approved is %q", got)
	}
}

func TestApproveChangesNothingWhere(t *testing.T) {
	for name, test := range map[string]struct {
		policy string
		args   []string
		code   int
		wants  string
	}{
		"no backlog":                                {waiting("ClusterRetentionPolicy", "batch", "7", ""), []string{"batch"}, command.ExitOK, "does not wait for approval"},
		"a backlog of one object":                   {waiting("ClusterRetentionPolicy", "batch", "7", `,"pendingApproval":{"hash":"3f2a","due":1,"selected":1}`), []string{"batch", "--dry-run=client"}, command.ExitOK, "1 of 1 object that the rules select"},
		"a dry run":                                 {waiting("ClusterRetentionPolicy", "batch", "7", pending), []string{"batch", "--dry-run=client"}, command.ExitOK, "clusterretentionpolicy.sunset-k8s.io/batch approved (dry run)"},
		"a count of an earlier spec":                {strings.Replace(waiting("ClusterRetentionPolicy", "batch", "7", pending), `"generation":4`, `"generation":5`, 1), []string{"batch"}, command.ExitError, "changed after the controller counted its backlog"},
		"a missing policy":                          {waiting("ClusterRetentionPolicy", "batch", "7", pending), []string{"other"}, command.ExitError, "error: "},
		"no argument":                               {waiting("ClusterRetentionPolicy", "batch", "7", pending), nil, command.ExitError, "name one policy"},
		"a server-side dry run":                     {waiting("ClusterRetentionPolicy", "batch", "7", pending), []string{"batch", "--dry-run=server"}, command.ExitError, "none, client"},
		"a ClusterRetentionPolicy with a namespace": {waiting("ClusterRetentionPolicy", "batch", "7", pending), []string{"batch", "-n", "team-a"}, command.ExitError, "error: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.store(batchPath, test.policy)
			wants(t, s.run(t, "", "approve", test.args...), test.code, test.wants)
			if len(s.patches) > 0 {
				t.Errorf("sent %v", s.patches)
			}
		})
	}
}

func TestApproveWhileThePolicyChanges(t *testing.T) {
	s := newWaiting(t)
	recounted := func() { s.store(batchPath, waiting("ClusterRetentionPolicy", "batch", "8", pending)) }
	s.before[batchPath] = []func(){recounted}
	wants(t, s.run(t, "", "approve", "batch"), command.ExitOK, "batch approved\n")
	if len(s.patches) != 2 {
		t.Errorf("sent %v", s.patches)
	}

	s = newWaiting(t)
	another := func() {
		s.store(batchPath, waiting("ClusterRetentionPolicy", "batch", "8", strings.Replace(pending, "3f2a", "77aa", 1)))
	}
	s.before[batchPath] = []func(){another}
	wants(t, s.run(t, "", "approve", "batch"), command.ExitError, "the backlog of clusterretentionpolicy.sunset-k8s.io/batch changed")
	if got := s.annotations(t, batchPath); len(got) > 0 {
		t.Errorf("approved a backlog that the command has not printed: %v", got)
	}
}

func TestApproveIsRefused(t *testing.T) {
	s := newWaiting(t)
	s.before[batchPath] = []func(){func() { s.store(batchPath, forbidden) }}
	wants(t, s.run(t, "", "approve", "batch"), command.ExitError, "error: approve clusterretentionpolicy.sunset-k8s.io/batch: not for you")
}
