// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// The results of a deletion.
const (
	Deleted = "deleted" // the API server, or the container runtime, accepted the request
	Unknown = "unknown" // the request had no definite answer: the object may be deleted
)

// Key is the key of the record in a log line, and EventType the type of a CloudEvent that has a record as its data.
const (
	Key       = "deletion"
	EventType = "io.sunset-k8s.deletion.v1"
)

// Record is the audit record of one deletion.
type Record struct {
	Time           time.Time `json:"time"`                        // when the answer to the request arrived
	Result         string    `json:"result"`                      // deleted; or unknown if the request had no definite answer, so that the object may be deleted
	Object         Object    `json:"object"`                      // the version that the rule evaluated, and the request named unless there is an owner
	Owner          *Object   `json:"owner,omitempty"`             // the version of the owner that the request named instead; nil if the object itself is deleted
	Propagation    string    `json:"propagationPolicy,omitempty"` // of the request
	Policy         string    `json:"policy"`                      // name of the policy, as NAMESPACE/NAME for a RetentionPolicy
	PolicyUID      types.UID `json:"policyUID"`
	Generation     int64     `json:"generation,omitempty"`     // metadata.generation of the policy
	Hash           string    `json:"hash,omitempty"`           // of the policy, as in its status.previews
	Approvals      []string  `json:"approvals,omitempty"`      // the hashes of the approvals by which the policy deletes, as in its status.enforced.approvals
	Rule           string    `json:"rule"`                     // name of the rule that decided
	ServiceAccount string    `json:"serviceAccount,omitempty"` // whose permissions the rule needs, for a RetentionPolicy
	Reason         string    `json:"reason"`                   // why the object was due: Expired or OverCapacity
	DueTime        time.Time `json:"dueTime"`                  // since when it was due
	Outcome        string    `json:"outcome,omitempty"`        // result of the rule's outcome expression
	Archive        *Receipt  `json:"archive,omitempty"`        // the archived record of the version that the request named; nil if the rule does not archive
	Snapshot       string    `json:"snapshot,omitempty"`       // name of the VolumeSnapshot of the claim, in its namespace
	Controller     string    `json:"controller"`               // identity of the process, as in the Lease; an agent has the name of its node
	Node           string    `json:"node,omitempty"`           // the node of an image
	TraceID        string    `json:"traceID,omitempty"`        // of the trace of the deletion, if it is exported
}

// Receipt says where an archive has the record of a version, which Sunset verified before the request.
type Receipt struct {
	Name    string `json:"name"`    // of the RetentionArchive
	Segment string `json:"segment"` // name of the object in its bucket
	Line    int    `json:"line"`    // of the record in the segment, from 0
}

// Object is one version of an object.
type Object struct {
	APIVersion      string    `json:"apiVersion"`
	Kind            string    `json:"kind"`
	Namespace       string    `json:"namespace,omitempty"`
	Name            string    `json:"name"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
}

// ObjectOf is a version of an object as records have it.
func ObjectOf(t policy.Target) Object {
	apiVersion, kind := t.Kind.ToAPIVersionAndKind()
	return Object{APIVersion: apiVersion, Kind: kind, Namespace: t.Namespace, Name: t.Name, UID: t.UID, ResourceVersion: t.ResourceVersion}
}

// GroupKind is the kind without its version.
func (o Object) GroupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
}

// String is KIND.GROUP/NAMESPACE/NAME, or KIND.GROUP/NAME for a cluster-scoped object.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.GroupKind().String() + "/" + o.Name
	}
	return o.GroupKind().String() + "/" + o.Namespace + "/" + o.Name
}

// Parse reads the record of a line: a line of a log, also behind a prefix such as that of kubectl logs, or a CloudEvent. ok is
// false for a line without a record.
func Parse(line []byte) (r Record, ok bool) {
	start := bytes.IndexByte(line, '{')
	if start < 0 {
		return r, false
	}
	var found struct {
		Deletion *Record         `json:"deletion"`
		Type     string          `json:"type"`
		Data     json.RawMessage `json:"data"`
	}
	if json.Unmarshal(line[start:], &found) != nil {
		return r, false
	}
	switch {
	case found.Deletion != nil:
		r = *found.Deletion
	case found.Type != EventType || json.Unmarshal(found.Data, &r) != nil:
		return Record{}, false
	}
	return r, r.Object.Name != "" && r.Policy != "" && (r.Result == Deleted || r.Result == Unknown)
}
