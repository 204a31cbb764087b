// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
)

// TestPreviewRanksAmongAll: with a namespace or label selector, the decisions are still those among all objects.
func TestPreviewRanksAmongAll(t *testing.T) {
	s := newExplained(t, ranking("Enforce", ""))
	got := s.preview(t, "", "-n", "dev", "-l", "app=db", "--at", "2026-03-05T00:00:00Z")
	wants(t, got, command.ExitOK, "dev         Job    d      Keep     KeptNewest")
	if strings.Contains(got.out, "Job    a") || strings.Contains(strings.Join(s.asked, "\n"), "labelSelector") {
		t.Errorf("other objects in the output, or not ranked among all:\n%s\n%s", got.out, strings.Join(s.asked, "\n"))
	}
	wants(t, s.preview(t, "", "-n", "dev", "-l", "app=web", "--at", "2026-03-05T00:00:00Z"), command.ExitOK,
		"Job    a         Delete   Expired", "Job    b         Keep     KeptNewest")

	s = newExplained(t, livePolicy("p", "Enforce", "Job", "1h"))
	s.preview(t, "", "-n", "dev", "-l", "app=db")
	if asked := strings.Join(s.asked, "\n"); !strings.Contains(asked, "labelSelector=app%3Ddb") {
		t.Errorf("requests for more objects than needed:\n%s", asked)
	}
}

// TestPreviewOfTeams: RetentionPolicies in files replace those of the cluster with the same namespace and name.
func TestPreviewOfTeams(t *testing.T) {
	s := newExplained(t, ranking("Enforce", ""))
	s.teams(overriding("team", "Enforce", `"ttl":"2h","keepNewest":{"count":1}`), overriding("other", "DryRun", `"ttl":"1h"`))
	const later = "2026-03-01T00:00:00Z"
	wants(t, s.preview(t, "", "-n", "dev", "--at", later), command.ExitOK,
		"Job    a         Delete   Expired       21h ago", "Job    b         Delete   Expired       20h ago", "Job    c         Keep     KeptNewest")
	alone := s.preview(t, overriding("team", "DryRun", `"ttl":"9d"`), "-f", "-", "--at", later) // only the namespace and the rule
	wants(t, alone, command.ExitOK, "Job    a         Wait", "deleted later: 1")
	if strings.Contains(alone.out, "prod") {
		t.Errorf("objects of another namespace:\n%s", alone.out)
	}
	wants(t, s.preview(t, overriding("team", "DryRun", `"ttl":"9d"`), "-f", "-", "-A", "--at", later), command.ExitOK, "prod        Job    e")
	without := strings.Replace(overriding("team", "Enforce", `"ttl":"2h"`), `"rule":"jobs"`, `"rule":"others"`, 1)
	wants(t, s.preview(t, without, "-f", "-", "--at", later), command.ExitOK, "Job a: due in 2d1h, was due 21h ago") // an override that is no longer there
	inFile := ranking("DryRun", "") + "\n---\n" + overriding("team", "DryRun", `"ttl":"9d"`)
	got := s.preview(t, inFile, "-f", "-", "-n", "dev", "--at", later)
	wants(t, got, command.ExitOK, "Job    a         Wait", "(2026-03-09T01:00:00Z)", "Job    b         Keep     KeptNewest", "deleted later: 1")
	elsewhere := strings.Replace(inFile, `"namespace":"dev"`, `"namespace":"prod"`, 1)
	wants(t, s.preview(t, elsewhere, "-f", "-", "-n", "dev", "--at", later), command.ExitOK, "Job    a         Delete   Expired       21h ago")
}
