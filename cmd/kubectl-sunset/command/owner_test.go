// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

const (
	withJob = "../../../samples/kueue-with-job"
	atNoon  = "--at=2026-03-01T12:00:00Z"
)

func TestPreviewShowsOwnersAndWhatGoesWithThem(t *testing.T) {
	wants(t, run(t, "", "preview", "-f", withJob, atNoon), command.ExitOK,
		"DELETED WITH", "Job/report and its 2 dependents", "Job/fresh and its 1 dependent", "blocked: owner Job/audit is held")
	var all struct {
		Verdicts []struct {
			Name              string
			Owner             map[string]string
			PropagationPolicy string
			Dependents        int
		}
	}
	expect.NoError(t, json.Unmarshal([]byte(run(t, "", "preview", "-f", withJob, atNoon, "-o", "json").out), &all))
	for _, v := range all.Verdicts {
		goes := v.Owner["apiVersion"] == "batch/v1" && v.Owner["kind"] == "Job" && v.Owner["name"] != "" && v.PropagationPolicy == "Background"
		want := slices.Contains([]string{"job-report-c1f2a", "job-fresh-91b0c", "job-audit-77aa0"}, v.Name)
		if goes != want {
			t.Errorf("%+v", v)
		}
	}
}

func TestExplainLooksAtTheOwnerInFiles(t *testing.T) {
	explain := func(name string) ran { return run(t, "", "explain", "workload/"+name, "-f", withJob, atNoon) }
	wants(t, explain("job-report-c1f2a"), command.ExitOK, "its owner Job/report is deleted instead, with all its dependents (Background)")
	wants(t, explain("job-audit-77aa0"), command.ExitOK, "Owner: its owner Job/audit is held", "- make its owner Job/audit deletable")
	wants(t, explain("pod-group-5d3e1"), command.ExitOK, "stays: NoOwner", "- the object gets a controller in its ownerReferences")
}

const (
	deletingOwners = `{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":"batch"},
		"spec":{"mode":"Enforce","rules":[{"name":"pods","target":{"apiVersion":"v1","kind":"Pod"},"eligible":"true",
		"startTime":"object.metadata.creationTimestamp","ttl":"1h","delete":{"target":"Owner"}}]}}`
	ownedPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"dev","uid":"u-p","resourceVersion":"5",
		"creationTimestamp":"2026-02-28T01:00:00Z","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u-j","controller":true}]}}`
)

func TestExplainLooksAtALiveOwner(t *testing.T) {
	for name, test := range map[string]struct{ owner, want string }{
		"finished":     {`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"dev","uid":"u-j"},"status":{"conditions":[{"type":"Complete","status":"True"}]}}`, "its owner Job/j is deleted instead"},
		"running":      {`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"dev","uid":"u-j"}}`, "its owner Job/j has not finished; set allowUnfinishedOwner: true"},
		"another":      {`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"dev","uid":"u-2"}}`, "its owner Job/j is deleted or being deleted"},
		"terminating":  {`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"dev","uid":"u-j","deletionTimestamp":"2026-02-28T01:00:00Z"}}`, "its owner Job/j is deleted or being deleted"},
		"no such name": {"", "its owner Job/j "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newExplained(t, deletingOwners)
			s.store("/api/v1/namespaces/dev/pods/p", ownedPod)
			if test.owner != "" {
				s.store(devJobsPath+"/j", test.owner)
			}
			wants(t, s.explain(t, "", "po/p", "-n", "dev"), command.ExitOK, "is deleted now: due since", test.want)
		})
	}
}
