// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

const reviewsPath = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

// letting is an API server with permissions in the form "NAMESPACE:NAME verb resource". It records the namespaces of the access
// reviews.
func letting(t *testing.T, may ...string) (s *apiServer, namespaces func() []string) {
	s = newAPIServer(t)
	var lock sync.Mutex
	var seen []string
	s.proxied = map[string]http.HandlerFunc{reviewsPath: func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		of := review.Spec.ResourceAttributes
		lock.Lock()
		seen = append(seen, of.Namespace)
		lock.Unlock()
		asked := strings.Join([]string{strings.TrimPrefix(review.Spec.User, "system:serviceaccount:"), of.Verb, of.Resource}, " ")
		review.Status.Allowed = slices.Contains(may, asked)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(review)
	}}
	return s, func() []string { lock.Lock(); defer lock.Unlock(); slices.Sort(seen); return slices.Compact(seen) }
}

func TestRBACWithoutACluster(t *testing.T) {
	golden(t, "rbac-local", run(t, "", "rbac", "--local", "-f", "testdata/rbac.yaml", "--owners", "jobs.batch"))
	wants(t, run(t, "", "rbac", "--local", "-f", "testdata/rbac.yaml"), command.ExitOK, "note: batch deletes owners of objects: name the kinds of owners with --owners")
}

// TestRBACOfSnapshots: a rule with a snapshot needs to create VolumeSnapshots, also with the ServiceAccount of a RetentionPolicy.
func TestRBACOfSnapshots(t *testing.T) {
	const own = `{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionPolicy, metadata: {name: own, namespace: team-a},
  spec: {serviceAccountName: cleaner, rules: [{name: claims, target: {apiVersion: v1, kind: PersistentVolumeClaim}, eligible: references.count == 0, ttl: 1d, snapshot: {}}]}}`
	wants(t, run(t, own, "rbac", "--local", "-f", "-", "--allow-kinds=PersistentVolumeClaim"), command.ExitOK,
		`{apiGroups: ["snapshot.storage.k8s.io"], resources: ["volumesnapshots"], verbs: [get, create]}`,
		`{apiGroups: ["snapshot.storage.k8s.io"], resources: ["volumesnapshots"], verbs: [create]}`)
}

func TestRBACIsWhatTheClusterServes(t *testing.T) {
	s, asked := letting(t)
	got := s.run(t, "", "rbac", "-f", "testdata/rbac.yaml")
	wants(t, got, command.ExitOK, `name: "sunset:batch:jobs.batch"`, "note: the cluster does not serve example.com/v1 Widget")
	if strings.Contains(got.out, "widgets") || len(asked()) > 0 {
		t.Errorf("access reviews in %v, or a role for a kind that the cluster does not serve:\n%s", asked(), got.out)
	}
}

func TestRBACOfPoliciesInTheCluster(t *testing.T) {
	s, _ := letting(t)
	s.inForce(livePolicy("live", "DryRun", "Job", "1d"))
	wants(t, s.run(t, "", "rbac"), command.ExitOK, `name: "sunset:live:jobs.batch"`, "verbs: [list, watch, delete]")
}

// TestRBACPrintsOnlyRolesThatAreMissing: --missing prints only roles that lack a permission, each as a whole.
func TestRBACPrintsOnlyRolesThatAreMissing(t *testing.T) {
	const sunset = "other:name "
	s, asked := letting(t, sunset+"list jobs", sunset+"watch jobs", sunset+"get jobs", sunset+"delete jobs",
		sunset+"list pods", sunset+"watch pods", sunset+"get pods", sunset+"delete pods",
		"team-a:cleaner list events", "team-a:cleaner delete events")
	got := s.run(t, "", "rbac", "-f", "testdata/rbac.yaml", "--missing", "--service-account", "other/name")
	var names []string
	for _, document := range strings.Split(got.out, "---\n") {
		role := &rbacv1.ClusterRole{}
		expect.NoError(t, yaml.UnmarshalStrict([]byte(document), role))
		names = append(names, role.Name)
	}
	if want := []string{"sunset:batch:pods", "sunset:team-a:own:events.events.k8s.io"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v\n%s", names, want, got.err)
	}
	wants(t, got, command.ExitOK, "verbs: [list, watch, get, delete, patch]")
	if want := []string{"", "team-a"}; !slices.Equal(asked(), want) {
		t.Errorf("access reviews in %q, want %q", asked(), want)
	}
}

// TestRBACSaysThatNothingIsMissing: kubectl apply rejects no objects, also in a List, so standard output stays empty.
func TestRBACSaysThatNothingIsMissing(t *testing.T) {
	const sunset = "sunset-system:sunset-controller "
	s, _ := letting(t, sunset+"list jobs", sunset+"watch jobs", sunset+"delete jobs")
	got := s.run(t, livePolicy("live", "DryRun", "Job", "1d"), "rbac", "-f", "-", "--missing")
	wants(t, got, command.ExitOK)
	expect.Equal(t, "output", "", got.out)
	expect.Equal(t, "note", "note: no permission is missing\n", got.err)
}

func TestValidateSaysWhichPermissionsAreMissing(t *testing.T) {
	s, _ := letting(t)
	golden(t, "validate-rbac", s.run(t, "", "validate", "-f", "testdata/rbac.yaml", "--rbac"))
	var v struct {
		MissingPermissions []struct{ Policy, Message, Role string }
	}
	got := s.run(t, "", "validate", "-f", "testdata/rbac.yaml", "--rbac", "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &v); err != nil || got.code != command.ExitFindings || len(v.MissingPermissions) != 4 {
		t.Fatalf("exit %d, %v\n%s", got.code, err, got.out)
	}
	if m := v.MissingPermissions[0]; m.Policy != "batch" || m.Message != "Sunset may not list, watch, get, delete jobs.batch" || !strings.HasPrefix(m.Role, "apiVersion: rbac") {
		t.Errorf("%+v", m)
	}
	wants(t, s.run(t, fine, "validate", "-f", "-"), command.ExitOK, "no problems\n")
}

// TestRBACNeedsTheCluster: a cluster that cannot be read is not one that serves none of the kinds.
func TestRBACNeedsTheCluster(t *testing.T) {
	s, _ := letting(t)
	s.Close()
	for _, args := range [][]string{{"validate", "--rbac"}, {"rbac"}, {"rbac", "--missing"}} {
		got := s.run(t, "", args[0], append(args[1:], "-f", "testdata/rbac.yaml")...)
		wants(t, got, command.ExitError, "find the resource of kind ", "connection refused")
	}
}

func TestRBACIsPrintedOnlyWhereItCanBe(t *testing.T) {
	s, _ := letting(t)
	delete(s.proxied, reviewsPath)
	s.store(reviewsPath, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not for you"}`)
	wants(t, s.run(t, "", "rbac", "-f", "testdata/rbac.yaml", "--missing"), command.ExitError, "check the permissions of ServiceAccount sunset-system/sunset-controller")
	wants(t, run(t, "", "rbac", "--local"), command.ExitError, "--local does not connect to a cluster")
	wants(t, run(t, "", "rbac", "--local", "--service-account", "nobody", "-f", "testdata/rbac.yaml"), command.ExitError, "is not NAMESPACE/NAME")
	wants(t, s.run(t, "", "rbac", "-f", "testdata/invalid.yaml"), command.ExitFindings, "unknown field")
}
