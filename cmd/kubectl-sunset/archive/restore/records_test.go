// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"encoding/json"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestRecords: dependents are objects of their own, except those that are never restored, and redacted paths are about the objects
// in which they match.
func TestRecords(t *testing.T) {
	found := archive.Found{Meta: archive.Meta{Segment: "segments/x", Line: 3}, Record: archive.Record{
		Object: json.RawMessage(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","generation":2},"spec":{"parallelism":1}}`),
		Dependents: []json.RawMessage{
			json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"token":"REDACTED"}}`),
			json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"token":"REDACTED"}}`),
			json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q"}}`),
		},
		Redacted: []string{"spec.token", "data.token", "spec.number", "metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']"},
	}}
	records, err := restore.Records("history", found)
	expect.NoError(t, err)
	if len(records) != 2 {
		t.Fatalf("%d records: %v", len(records), records)
	}
	expect.Equal(t, "from", "history/segments/x#3", records[0].From)
	expect.Equal(t, "left", []string{"2 of kind Pod"}, records[0].Left)
	expect.Equal(t, "redacted in the Job", []string{"spec.number"}, records[0].Redacted)
	expect.Equal(t, "redacted in the ConfigMap", []string{"data.token", "spec.number"}, records[1].Redacted)
	if _, isInt := records[0].Object["spec"].(map[string]any)["parallelism"].(int64); !isInt {
		t.Errorf("numbers are not those of Kubernetes: %#v", records[0].Object)
	}
}
