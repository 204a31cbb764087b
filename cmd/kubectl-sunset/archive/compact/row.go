// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"cmp"
	"time"

	kjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/policy/archive"
)

// Row is one row of a Parquet file: one version of one object. The columns are in docs/tasks/query-archives.md.
type Row struct {
	Time            time.Time         `parquet:"time,timestamp(microsecond)"` // when it was archived
	Cluster         string            `parquet:"cluster,dict"`
	Policy          string            `parquet:"policy,dict"`
	Rule            string            `parquet:"rule,dict"`
	APIVersion      string            `parquet:"api_version,dict"`
	Kind            string            `parquet:"kind,dict"`
	Namespace       string            `parquet:"namespace,dict"` // empty for cluster-scoped objects
	Name            string            `parquet:"name"`
	UID             string            `parquet:"uid"`
	ResourceVersion string            `parquet:"resource_version"`
	Outcome         string            `parquet:"outcome,dict"` // of the rule's outcome expression
	Reason          string            `parquet:"reason,dict"`
	Result          string            `parquet:"result,dict"` // deleted, gone, kept, unknown, or none
	Due             time.Time         `parquet:"due_time,timestamp(microsecond)"`
	Created         time.Time         `parquet:"creation_time,timestamp(microsecond)"`
	Size            int64             `parquet:"size"` // bytes of the record, before compression
	Labels          map[string]string `parquet:"labels"`
	Object          string            `parquet:"object,json"`
	Dependents      []string          `parquet:"dependents,list"` // as KIND.GROUP/NAME
	Segment         string            `parquet:"segment,dict"`
	Line            int32             `parquet:"line"`
}

func rowOf(f archive.Found) (Row, error) {
	var object struct {
		Metadata struct {
			CreationTimestamp time.Time `json:"creationTimestamp"`
		} `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(f.Record.Object, &object); err != nil {
		return Row{}, err
	}
	return Row{
		Time: f.ArchivedAt, Cluster: f.Record.Cluster, Policy: f.Policy, Rule: f.Rule, APIVersion: f.APIVersion, Kind: f.Kind,
		Namespace: f.Namespace, Name: f.Name, UID: string(f.UID), ResourceVersion: f.ResourceVersion, Outcome: f.Outcome, Reason: f.Reason,
		Result: cmp.Or(string(f.Result), "none"), Due: f.Due, Created: object.Metadata.CreationTimestamp, Size: int64(f.Bytes), Labels: f.Labels,
		Object: string(f.Record.Object), Dependents: f.Dependents, Segment: f.Segment, Line: int32(f.Line),
	}, nil
}
