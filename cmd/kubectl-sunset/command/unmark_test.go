// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

const eventsPath = "/api/v1/events"

// marked is an object with a mark and another annotation.
func marked(name, namespace, resourceVersion string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q,"uid":"u-%s","resourceVersion":%q,
		"annotations":{%q:"{\"m\":\"2026-02-28T12:00:00Z\"}","own":"x"}}}`, name, namespace, name, resourceVersion, v1alpha1.EligibleSinceAnnotation)
}

func podPath(name string) string { return "/api/v1/namespaces/dev/pods/" + name }

// newMarked is a cluster with three marked Pods on two pages, and a marked Namespace.
func newMarked(t *testing.T) *apiServer {
	s := newLive(t)
	s.list(namespacesPath, "v1", "Namespace", []string{marked("dev", "", "5")})
	s.store(namespacesPath+"/dev", marked("dev", "", "5"))
	s.list(eventsPath, "v1", "Event", nil)
	pods := [][]string{{object("plain", "dev", ""), marked("a", "dev", "5")}, {marked("b", "dev", "5"), marked("c", "dev", "5")}}
	s.list(podsPath, "v1", "Pod", pods...)
	s.list("/api/v1/namespaces/dev/pods", "v1", "Pod", pods...)
	for _, name := range []string{"a", "b", "c"} {
		s.store(podPath(name), marked(name, "dev", "5"))
	}
	return s
}

func TestUnmarkEverything(t *testing.T) {
	s := newMarked(t)
	golden(t, "unmark", s.run(t, "", "unmark", "--all"))
	for _, path := range []string{podPath("a"), podPath("b"), podPath("c"), namespacesPath + "/dev"} {
		if got := s.annotations(t, path); len(got) != 1 || got["own"] != "x" {
			t.Errorf("%s has %v", path, got)
		}
	}
	for _, patch := range s.patches {
		if !strings.HasSuffix(patch, ` {"metadata":{"annotations":{"sunset-k8s.io/eligible-since":null}}}`) {
			t.Errorf("a patch of more than the annotation: %s", patch)
		}
	}
	for _, asked := range s.asked {
		if strings.Contains(asked, podsPath) && !strings.Contains(asked, "PartialObjectMetadata") {
			t.Errorf("a request for more than metadata: %s", asked)
		}
		if strings.Contains(asked, "events.k8s.io/v1/events") || strings.Contains(asked, "componentstatuses") {
			t.Errorf("unexpected request: %s", asked)
		}
	}
}

func TestUnmarkCountsAsADryRun(t *testing.T) {
	s := newMarked(t)
	golden(t, "unmark-dry-run", s.run(t, "", "unmark", "--all", "--dry-run=client"))
	if len(s.patches) > 0 {
		t.Errorf("a dry run sent %v", s.patches)
	}
}

func TestUnmarkForPrograms(t *testing.T) {
	const dryRun = "--dry-run=client"
	asJSON := newMarked(t).run(t, "", "unmark", "--all", dryRun, "-o", "json")
	wants(t, asJSON, command.ExitOK, `"kind": "UnmarkReport"`, `"dryRun": true`, `"kindsRead": 5`)
	sameInYAML(t, asJSON, newMarked(t).run(t, "", "unmark", "--all", dryRun, "-o", "yaml"))
	s := newMarked(t)
	s.store(podPath("c"), forbidden)
	wants(t, s.run(t, "", "unmark", "pods", "-o", "jsonpath={.kinds[*].kind} {.kinds[*].marked} {.kinds[*].unmarked} {.errors[*]}"), command.ExitFindings,
		"Pod 3 2 cannot unmark 1 object of Pod: ")
	expect.Equal(t, "names", "namespace/dev\npod/a\npod/b\npod/c\n", newMarked(t).run(t, "", "unmark", "--all", dryRun, "-o", "name").out)
	expect.Equal(t, "nothing is marked", "[]", newMarked(t).run(t, "", "unmark", "jobs", "-o", "jsonpath={.kinds}").out)
}

func TestUnmarkOneKind(t *testing.T) {
	for name, args := range map[string][]string{
		"by short name":          {"po"},
		"of one namespace":       {"pods", "ns", "-n", "dev"}, // a Namespace is cluster-scoped
		"of a namespace and all": {"Pod", "-n", "other", "-A"},
		"by group and version":   {"pods.v1."},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMarked(t)
			wants(t, s.run(t, "", "unmark", args...), command.ExitOK, "3 objects unmarked, of 1 kind\n")
		})
	}
}

func TestUnmarkWhatChangesMeanwhile(t *testing.T) {
	s := newMarked(t)
	s.before[podPath("a")] = []func(){func() { s.store(podPath("a"), marked("a", "dev", "6")) }}
	unmarked := strings.Replace(marked("b", "dev", "6"), v1alpha1.EligibleSinceAnnotation, "another", 1)
	s.before[podPath("b")] = []func(){func() { s.store(podPath("b"), unmarked) }}
	s.before[podPath("c")] = []func(){func() { delete(s.pages, podPath("c")) }}
	wants(t, s.run(t, "", "unmark", "pods"), command.ExitOK, "Pod         3          2", "2 objects unmarked") // c was deleted
	if got := s.annotations(t, podPath("a")); len(got) != 1 {
		t.Errorf("a has %v", got)
	}
	if got := s.annotations(t, podPath("b")); len(got) != 2 {
		t.Errorf("b has %v", got)
	}
}

func TestUnmarkGoesOn(t *testing.T) {
	s := newMarked(t)
	s.store(secretsPath, forbidden)
	s.store(podPath("b"), forbidden)
	got := s.run(t, "", "unmark", "--all")
	wants(t, got, command.ExitFindings, "Pod              3          2", "3 objects unmarked",
		"cannot list Secret of v1: not for you", "cannot unmark 1 object of Pod: not for you")
}

func TestUnmarkTellsOfGroupsThatNobodyServes(t *testing.T) {
	s := newMarked(t)
	version := `{"groupVersion":"down.example.com/v1","version":"v1"}`
	s.store("/apis", strings.Replace(s.pages["/apis"][0], `"groups":[`, `"groups":[{"name":"down.example.com","versions":[`+version+`],"preferredVersion":`+version+`},`, 1))
	s.store("/apis/down.example.com/v1", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503,"message":"down"}`)
	wants(t, s.run(t, "", "unmark", "--all"), command.ExitFindings, "4 objects unmarked", "down.example.com/v1")
	wants(t, s.run(t, "", "unmark", "pods"), command.ExitOK, "3 objects unmarked")
}

func TestUnmarkRefusesWhileRulesMark(t *testing.T) {
	s := newMarked(t)
	marking := strings.Replace(livePolicy("m", "Enforce", "Pod", "1h"), `"startTime":"object.metadata.creationTimestamp",`, "", 1)
	s.inForce(marking)
	wants(t, s.run(t, "", "unmark", "--all"), command.ExitError, "mark objects again while the controller runs: m/r", "--force")
	if len(s.patches) > 0 {
		t.Errorf("sent %v", s.patches)
	}
	wants(t, s.run(t, "", "unmark", "jobs"), command.ExitOK, "0 objects unmarked")
	wants(t, s.run(t, "", "unmark", "--all", "--dry-run=client"), command.ExitOK, "note: these enforced rules", "4 objects marked")
	wants(t, s.run(t, "", "unmark", "--all", "--force"), command.ExitOK, "note: these enforced rules", "4 objects unmarked")
	s = newMarked(t)
	s.inForce(strings.Replace(marking, "Enforce", "DryRun", 1))
	wants(t, s.run(t, "", "unmark", "--all"), command.ExitOK, "4 objects unmarked")
	s = newMarked(t)
	s.store(policiesPath, forbidden)
	wants(t, s.run(t, "", "unmark", "--all"), command.ExitError, "list the cluster's policies: not for you")
	wants(t, s.run(t, "", "unmark", "--all", "--force"), command.ExitOK, "4 objects unmarked", "note: ")
}

func TestUnmarkNeedsToKnowWhat(t *testing.T) {
	s := newMarked(t)
	wants(t, s.run(t, "", "unmark"), command.ExitError, "name one or more kinds, or use --all")
	wants(t, s.run(t, "", "unmark", "pods", "--all"), command.ExitError, "name one or more kinds, or use --all")
	wants(t, s.run(t, "", "unmark", "bananas"), command.ExitError, `the server doesn't have a resource type "bananas"`)
}

// TestUnmarkPassesNoWarningsOn: the API server warns of deprecated versions, but the user did not choose the versions.
func TestUnmarkPassesNoWarningsOn(t *testing.T) {
	var said bytes.Buffer
	rest.SetDefaultWarningHandler(rest.NewWarningWriter(&said, rest.WarningWriterOptions{}))
	t.Cleanup(func() { rest.SetDefaultWarningHandler(rest.WarningLogger{}) })
	s := newMarked(t)
	s.warning = "v1 ComponentStatus is deprecated"
	wants(t, s.run(t, "", "unmark", "--all"), command.ExitOK, "4 objects unmarked")
	if said.Len() > 0 {
		t.Error(said.String())
	}
}
