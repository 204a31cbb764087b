// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// moded is a policy with a mode. With resumeMode as MANAGER/MODE, the manager set the mode, and the annotation is MODE.
func moded(kind, namespace, name, mode, resumeMode string) string {
	annotations := ""
	if manager, mode, isSet := strings.Cut(resumeMode, "/"); isSet {
		annotations = fmt.Sprintf(`"annotations":{%q:%q},"managedFields":[{"manager":%q,"operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:mode":{}}}}],`,
			v1alpha1.ResumeModeAnnotation, mode, manager)
	}
	return fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":%q,"metadata":{%s"name":%q,"namespace":%q,"uid":"u-%s","resourceVersion":"5"},"spec":{"mode":%q}}`,
		kind, annotations, name, namespace, name, mode)
}

// newModed is a cluster with policies in several modes: batch is enforced, dry is a dry run, and own is enforced in team-a.
// paused and stopped are suspended: paused by suspend, stopped by a user after it was resumed by hand.
func newModed(t *testing.T) *apiServer {
	s := newAPIServer(t)
	const version = `{"groupVersion":"sunset-k8s.io/v1alpha1","version":"v1alpha1"}`
	s.store("/apis", strings.Replace(s.pages["/apis"][0], `"groups":[`, `"groups":[{"name":"sunset-k8s.io","versions":[`+version+`],"preferredVersion":`+version+`},`, 1))
	s.store("/apis/sunset-k8s.io/v1alpha1", `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"sunset-k8s.io/v1alpha1","resources":[
		{"name":"clusterretentionpolicies","singularName":"clusterretentionpolicy","kind":"ClusterRetentionPolicy","namespaced":false,"verbs":["get","list","patch"]},
		{"name":"retentionpolicies","singularName":"retentionpolicy","kind":"RetentionPolicy","namespaced":true,"verbs":["get","list","patch"]}]}`)
	cluster := []string{
		moded("ClusterRetentionPolicy", "", "batch", "Enforce", ""), moded("ClusterRetentionPolicy", "", "dry", "DryRun", ""),
		moded("ClusterRetentionPolicy", "", "paused", "Suspend", "kubectl-sunset/Enforce"), moded("ClusterRetentionPolicy", "", "stopped", "Suspend", "kubectl-edit/Enforce"),
	}
	s.inForce(cluster...)
	own := moded("RetentionPolicy", "team-a", "own", "Enforce", "")
	s.teams(own)
	s.list(teamPath, "sunset-k8s.io/v1alpha1", "RetentionPolicy", []string{own})
	s.store(teamPath+"/own", own)
	for i, name := range []string{"batch", "dry", "paused", "stopped"} {
		s.store(policiesPath+"/"+name, cluster[i])
	}
	return s
}

// modes returns the mode, and the annotation if there is one, of each policy of newModed.
func (s *apiServer) modes(t *testing.T) string {
	t.Helper()
	var all []string
	for _, path := range []string{policiesPath + "/batch", policiesPath + "/dry", policiesPath + "/paused", policiesPath + "/stopped", teamPath + "/own"} {
		p := s.object(t, path)
		mode, _, _ := unstructured.NestedString(p.Object, "spec", "mode")
		if resume := p.GetAnnotations()[v1alpha1.ResumeModeAnnotation]; resume != "" {
			mode += "<" + resume
		}
		all = append(all, mode)
	}
	return strings.Join(all, " ")
}

const modesBefore = "Enforce DryRun Suspend<Enforce Suspend<Enforce Enforce"

func TestSuspendAndResume(t *testing.T) {
	for name, test := range map[string]struct {
		args   []string
		code   int
		output string
		modes  string
	}{
		"suspend one":            {[]string{"suspend", "batch"}, command.ExitOK, "clusterretentionpolicy.sunset-k8s.io/batch suspended\n", "Suspend<Enforce DryRun Suspend<Enforce Suspend<Enforce Enforce"},
		"suspend a dry run":      {[]string{"suspend", "dry"}, command.ExitOK, "clusterretentionpolicy.sunset-k8s.io/dry suspended\n", "Enforce Suspend<DryRun Suspend<Enforce Suspend<Enforce Enforce"},
		"suspend in a namespace": {[]string{"suspend", "own", "-n", "team-a"}, command.ExitOK, "retentionpolicy.sunset-k8s.io/own suspended\n", "Enforce DryRun Suspend<Enforce Suspend<Enforce Suspend<Enforce"},
		"suspend all": {[]string{"suspend", "--all"}, command.ExitOK, "clusterretentionpolicy.sunset-k8s.io/batch suspended\nretentionpolicy.sunset-k8s.io/own suspended\n",
			"Suspend<Enforce DryRun Suspend<Enforce Suspend<Enforce Suspend<Enforce"},
		"suspend all of a namespace": {[]string{"suspend", "--all", "-n", "team-a"}, command.ExitOK, "retentionpolicy.sunset-k8s.io/own suspended\n", "Enforce DryRun Suspend<Enforce Suspend<Enforce Suspend<Enforce"},
		"suspend again":              {[]string{"suspend", "paused"}, command.ExitOK, "", modesBefore},
		"suspend as a dry run":       {[]string{"suspend", "--all", "--dry-run=client", "-o", "name"}, command.ExitOK, "clusterretentionpolicy.sunset-k8s.io/batch\nretentionpolicy.sunset-k8s.io/own\n", modesBefore},
		"show what is suspended":     {[]string{"suspend", "batch", "--dry-run=client", "-o", "jsonpath={.spec.mode}"}, command.ExitOK, "Suspend", modesBefore},
		"suspend what does not exist": {[]string{"suspend", "missing", "batch"}, command.ExitError, "clusterretentionpolicy.sunset-k8s.io/batch suspended\n",
			"Suspend<Enforce DryRun Suspend<Enforce Suspend<Enforce Enforce"},
		"resume one":            {[]string{"resume", "paused"}, command.ExitOK, "clusterretentionpolicy.sunset-k8s.io/paused resumed\n", "Enforce DryRun Enforce Suspend<Enforce Enforce"},
		"resume all":            {[]string{"resume", "--all"}, command.ExitOK, "clusterretentionpolicy.sunset-k8s.io/paused resumed\n", "Enforce DryRun Enforce Suspend<Enforce Enforce"},
		"resume an unknown one": {[]string{"resume", "stopped"}, command.ExitFindings, "", modesBefore},
		"resume what runs":      {[]string{"resume", "batch"}, command.ExitOK, "", modesBefore},
		"no policy":             {[]string{"suspend"}, command.ExitError, "", modesBefore},
		"a policy and all":      {[]string{"resume", "batch", "--all"}, command.ExitError, "", modesBefore},
	} {
		t.Run(name, func(t *testing.T) {
			s := newModed(t)
			got := s.run(t, "", test.args[0], test.args[1:]...)
			expect.Equal(t, "exit code", test.code, got.code)
			expect.Equal(t, "output", test.output, got.out)
			expect.Equal(t, "modes", test.modes, s.modes(t))
		})
	}
}

func TestSuspendSaysWhatItDoesNotChange(t *testing.T) {
	for args, want := range map[string]string{
		"suspend paused": "clusterretentionpolicy.sunset-k8s.io/paused is suspended already\n",
		"resume batch":   "clusterretentionpolicy.sunset-k8s.io/batch is not suspended\n",
		"resume stopped": "the mode before is not known; set spec.mode",
	} {
		command, name, _ := strings.Cut(args, " ")
		if got := newModed(t).run(t, "", command, name); !strings.Contains(got.err, want) {
			t.Errorf("%s printed %q", args, got.err)
		}
	}
}

// TestSuspendWhatChangesMeanwhile: the recorded mode is that of the version that is suspended.
func TestSuspendWhatChangesMeanwhile(t *testing.T) {
	s := newModed(t)
	path := policiesPath + "/batch"
	s.before[path] = []func(){func() {
		s.store(path, strings.Replace(moded("ClusterRetentionPolicy", "", "batch", "DryRun", ""), `"5"`, `"6"`, 1))
	}}
	wants(t, s.run(t, "", "suspend", "batch"), command.ExitOK, "batch suspended")
	expect.Equal(t, "modes", "Suspend<DryRun DryRun Suspend<Enforce Suspend<Enforce Enforce", s.modes(t))
}

// TestChangeOfAReplacedObject: another object of the same name has taken the place of the one that the command found.
func TestChangeOfAReplacedObject(t *testing.T) {
	for name, object := range map[string]string{"suspend": "batch", "hold": "clusterretentionpolicy/batch"} {
		s := newModed(t)
		path := policiesPath + "/batch"
		other := strings.Replace(s.pages[path][0], "u-batch", "u-other", 1)
		s.before[path] = []func(){func() { s.store(path, other) }}
		wants(t, s.run(t, "", name, object), command.ExitFindings, `clusterretentionpolicies.sunset-k8s.io "batch" not found`)
		expect.Equal(t, name+" changes the other object", false, s.pages[path][0] != other)
	}
}

func TestHoldAndUnhold(t *testing.T) {
	held := func(value string) string {
		return fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","namespace":"dev","uid":"u-a","resourceVersion":"5","annotations":{"own":"x",%q:%q}}}`, v1alpha1.HoldAnnotation, value)
	}
	free := strings.Replace(held("x"), v1alpha1.HoldAnnotation, "another", 1)
	for name, test := range map[string]struct {
		job, command string
		args         []string
		code         int
		output       string
		want         string // the annotation, or none
	}{
		"hold":                     {free, "hold", nil, command.ExitOK, "job.batch/a held\n", "true"},
		"hold with a reason":       {free, "hold", []string{"--reason=incident 4711"}, command.ExitOK, "job.batch/a held\n", "incident 4711"},
		"hold again":               {held(""), "hold", nil, command.ExitOK, "", ""},
		"hold for another reason":  {held("old"), "hold", []string{"--reason=new"}, command.ExitOK, "job.batch/a held\n", "new"},
		"hold what says false":     {held("false"), "hold", nil, command.ExitOK, "job.batch/a held\n", "true"},
		"hold for no reason":       {free, "hold", []string{"--reason=false"}, command.ExitError, "", "none"},
		"hold as a dry run":        {free, "hold", []string{"--dry-run=client"}, command.ExitOK, "job.batch/a held (dry run)\n", "none"},
		"show what is held":        {free, "hold", []string{"--dry-run=client", "-o", "jsonpath={.metadata.annotations}"}, command.ExitOK, `{"another":"x","own":"x","sunset-k8s.io/hold":"true"}`, "none"},
		"unhold":                   {held("old"), "unhold", nil, command.ExitOK, "job.batch/a no longer held\n", "none"},
		"unhold what has no hold":  {free, "unhold", nil, command.ExitOK, "", "none"},
		"a hold that is forbidden": {forbidden, "hold", nil, command.ExitError, "", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			const path = "/apis/batch/v1/namespaces/dev/jobs/a"
			s.store(path, test.job)
			got := s.run(t, "", test.command, append([]string{"job/a"}, test.args...)...)
			expect.Equal(t, "exit code", test.code, got.code)
			expect.Equal(t, "output", test.output, got.out)
			value, isSet := s.object(t, path).GetAnnotations()[v1alpha1.HoldAnnotation]
			if !isSet {
				value = "none"
			}
			expect.Equal(t, "annotation", test.want, value)
		})
	}
}
