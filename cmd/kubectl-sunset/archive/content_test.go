// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	records "github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/archive/redact"
	"github.com/sunset-k8s/sunset/test/expect"
)

// content is a record of a Job with two Pods and a ConfigMap. Values of it are redacted.
func content() archive.Content {
	return archive.Content{
		Entry: archive.NewEntry(records.Meta{Segment: "segments/x", Line: 3, Dependents: []string{"Pod/p", "ConfigMap/c", "Pod/q", "Pod/none"}}),
		Record: records.Record{
			Object: json.RawMessage(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"parallelism":1}}`),
			Dependents: []json.RawMessage{
				json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`),
				json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`),
				json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q"}}`),
			},
			Redacted: append(slices.Clone(redact.Copies), "spec.token"),
			Outcome:  "Failed",
		},
	}
}

// TestToRestore: dependents are objects of their own, except those that are never restored, which are only counted. If the user
// selects a dependent, it is the only one.
func TestToRestore(t *testing.T) {
	all, err := content().ToRestore("history")
	expect.NoError(t, err)
	if len(all) != 2 || all[0].Archived.GetName() != "j" || all[1].Archived.GetName() != "c" {
		t.Fatalf("records %v", all)
	}
	expect.Equal(t, "from", "history/segments/x#3", all[0].From)
	expect.Equal(t, "left", 2, all[0].Left)
	expect.Equal(t, "outcomes", "Failed, ", all[0].Outcome+", "+all[1].Outcome)
	for _, r := range all {
		expect.Equal(t, "redacted", []string{"spec.token"}, r.Redacted)
	}
	if _, isInt := all[0].Archived.Object["spec"].(map[string]any)["parallelism"].(int64); !isInt {
		t.Errorf("numbers are not those of Kubernetes: %#v", all[0].Archived)
	}
	ofDependent := func(position int) ([]restore.Record, error) {
		c := content()
		c.Entry = c.OfDependent(position)
		return c.ToRestore("history")
	}
	expect.Equal(t, "Pods", 2, len(all[0].Others))
	for position, name := range map[int]string{2: "Pod/q", 1: "ConfigMap/c"} {
		one, err := ofDependent(position)
		expect.NoError(t, err)
		if len(one) != 1 || one[0].Archived.GetKind()+"/"+one[0].Archived.GetName() != name {
			t.Errorf("%s: %v", name, one)
		}
		expect.Equal(t, "others", 3, len(one[0].Others))
		expect.Equal(t, "outcome of the owner", "Failed", one[0].Others[0].Outcome)
	}
	if _, err := ofDependent(3); err == nil {
		t.Error("a dependent that the record does not have")
	}
}
