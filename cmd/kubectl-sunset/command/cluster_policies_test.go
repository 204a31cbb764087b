// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

// inForce sets the cluster's policies.
func (s *apiServer) inForce(policies ...string) {
	s.list(policiesPath, "sunset-k8s.io/v1alpha1", "ClusterRetentionPolicy", policies)
}

const forbidden = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not for you"}`

// newCompared is a cluster in which the file replaces a policy for Secrets by one for Jobs.
func newCompared(t *testing.T) (*apiServer, string) {
	s := newLive(t)
	var jobs []string
	for i := range 5 {
		jobs = append(jobs, object(fmt.Sprintf("report-%d", i), "dev", ""))
	}
	s.list(namespacesPath, "v1", "Namespace", []string{`{"metadata":{"name":"dev","labels":{"env":"dev"}}}`, `{"metadata":{"name":"qa","labels":{"env":"dev"}}}`})
	s.list(jobsPath, "batch/v1", "Job", append(jobs, object("nightly", "qa", "")))
	s.list(podsPath, "v1", "Pod", []string{object("web", "qa", "")})
	secrets := livePolicy("p", "Enforce", "Secret", "3d")
	s.inForce(secrets, livePolicy("dry", "DryRun", "Job", "1h"), livePolicy("pods", "Enforce", "Pod", "5d"))
	return s, livePolicy("p", "DryRun", "Job", "1d") + "\n---\n" + livePolicy("pods", "DryRun", "Pod", "2d")
}

func TestPreviewComparesWithTheRulesInForce(t *testing.T) {
	s, files := newCompared(t)
	golden(t, "preview-diff-table", s.preview(t, files, "-f", "-"))
	asked := strings.Join(s.asked, "\n")
	for _, path := range []string{jobsPath, podsPath, secretsPath, policiesPath} {
		if n := strings.Count(asked, "GET "+path+" "); n != 1 {
			t.Errorf("%s: %d requests, want 1", path, n)
		}
	}
}

func TestPreviewComparesForPrograms(t *testing.T) {
	s, files := newCompared(t)
	asJSON, asYAML := s.preview(t, files, "-f", "-", "-o", "json"), s.preview(t, files, "-f", "-", "-o", "yaml")
	golden(t, "preview-diff-json", asJSON)
	sameInYAML(t, asJSON, asYAML)
}

func TestPreviewTellsWhenNothingChanges(t *testing.T) {
	s := newLive(t)
	s.inForce(livePolicy("p", "Enforce", "Job", "3d"))
	same := livePolicy("p", "DryRun", "Job", "3d")
	wants(t, s.preview(t, same, "-f", "-"), command.ExitOK, "No changes compared with the rules in force.")
	for _, format := range []string{"json", "yaml"} {
		var got struct{ Diff []any }
		expect.NoError(t, yaml.Unmarshal([]byte(s.preview(t, same, "-f", "-", "-o", format).out), &got))
		if got.Diff == nil || len(got.Diff) > 0 {
			t.Errorf("%s: diff is %v, want an empty list", format, got.Diff)
		}
	}
}

// TestPreviewShowsTheEndOfAFreeze: a freeze of all policies concerns the objects of all rules.
func TestPreviewShowsTheEndOfAFreeze(t *testing.T) {
	s, _ := newCompared(t)
	freeze := func(to string) string {
		return `{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":"audit"},"spec":{"mode":"Enforce",
			"freezes":[{"from":"2026-01-01T00:00:00Z","to":"` + to + `","reason":"audit","allPolicies":true}]}}`
	}
	s.inForce(freeze("2028-01-01T00:00:00Z"), livePolicy("p", "Enforce", "Job", "1h"))
	wants(t, s.preview(t, freeze("2026-01-02T00:00:00Z"), "-f", "-"), command.ExitOK, "Job", "0 newly kept, 6 sooner")
}

func TestPreviewComparesNothingWithoutFiles(t *testing.T) {
	s := newLive(t)
	s.inForce(livePolicy("p", "Enforce", "Job", "3d"))
	if got := s.preview(t, ""); strings.Contains(got.out, "rules in force") {
		t.Errorf("a diff without new rules:\n%s", got.out)
	}
	if got := s.preview(t, "", "-o", "json"); strings.Contains(got.out, `"diff"`) {
		t.Errorf("a diff without new rules:\n%s", got.out)
	}
}

func TestPreviewGoesOnWithoutTheClustersPolicies(t *testing.T) {
	s := newLive(t)
	s.pages[policiesPath] = []string{forbidden}
	got := s.preview(t, livePolicy("p", "DryRun", "Job", "1d"), "-f", "-")
	wants(t, got, command.ExitOK, "Job    a      Delete", "note: list the cluster's policies: not for you; the preview does not include it, and is not compared with the rules in force")
	if strings.Contains(got.out, "rules in force") {
		t.Errorf("a comparison with unknown rules:\n%s", got.out)
	}
	wants(t, s.preview(t, ""), command.ExitError, "error: no policy that you can read: list the cluster's policies: not for you")
}

// TestPreviewRespectsPermissions: a rule whose ServiceAccount lacks a permission keeps the objects that another rule would delete.
func TestPreviewRespectsPermissions(t *testing.T) {
	s := newLive(t)
	lacking := strings.TrimSuffix(livePolicy("q", "Enforce", "Job", "3d"), "}") + `,"status":{"conditions":[{"type":"Permitted","status":"False","reason":"Forbidden"}]}}`
	s.inForce(livePolicy("p", "Enforce", "Job", "1h"), lacking)
	wants(t, s.preview(t, ""), command.ExitOK, "Job    a      Keep     Forbidden   -     q/r")
}

func TestPreviewTellsWhatItCannotCompare(t *testing.T) {
	s := newLive(t)
	s.pages[secretsPath] = []string{forbidden}
	s.inForce(livePolicy("p", "Enforce", "Secret", "3d"), strings.Replace(livePolicy("old", "Enforce", "Job", "3d"), "batch/v1", "batch/v1beta1", 1))
	got := s.preview(t, livePolicy("p", "DryRun", "Job", "1d")+livePolicy("old", "DryRun", "Job", "1d"), "-f", "-")
	wants(t, got, command.ExitFindings, "1 error:", "p/r: cannot list Secret of v1: not for you",
		"note: Job.batch is not compared: the rules in force read it at version batch/v1beta1, the rules in the files at batch/v1", "Job    a      Delete")
	s.inForce(livePolicy("p", "Enforce", "Secret", "3d"))
	wants(t, s.preview(t, livePolicy("p", "DryRun", "Secret", "1d"), "-f", "-"), command.ExitFindings, "1 error:")
}
