// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/audit"
)

// Version is the version of the format that this package writes. A later version only adds fields, or has another number.
const Version = 1

// Record is one version of one object, and why a rule deletes it. It is one line of a segment.
type Record struct {
	Version    int               `json:"version"` // Builder.Add sets it
	ArchivedAt time.Time         `json:"archivedAt"`
	Cluster    string            `json:"cluster,omitempty"` // UID of the namespace kube-system of the cluster; empty if it was not known
	Policy     string            `json:"policy"`            // name of the policy, as NAMESPACE/NAME for a RetentionPolicy
	PolicyUID  types.UID         `json:"policyUID"`
	Rule       string            `json:"rule"`
	Due        time.Time         `json:"dueTime"`
	Reason     string            `json:"reason"`               // why the object is due, such as Expired
	Outcome    string            `json:"outcome,omitempty"`    // result of the rule's outcome expression
	Snapshot   string            `json:"snapshot,omitempty"`   // name of the VolumeSnapshot of a claim, in its namespace
	Redacted   []string          `json:"redacted,omitempty"`   // paths whose values were replaced or removed; see package redact
	Object     json.RawMessage   `json:"object"`               // as the API server sent it, after redaction
	Dependents []json.RawMessage `json:"dependents,omitempty"` // objects that background deletion deletes as well, after redaction
	Events     []json.RawMessage `json:"events,omitempty"`     // about the object and its dependents
	Logs       []Log             `json:"logs,omitempty"`
}

// Log is the end of the log of one container, since its last restart.
type Log struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Truncated bool   `json:"truncated,omitempty"` // the log was longer than the rule's tailBytes
	Missing   string `json:"missing,omitempty"`   // the reason for a missing text; or empty
	Text      string `json:"text"`
}

// Meta is the metadata of one record: enough to find it without reading its segment. It is one line of an index object.
type Meta struct {
	Segment string `json:"segment"` // name of the segment in the bucket
	Line    int    `json:"line"`    // of the segment; the first is 0
	audit.Object
	Labels     map[string]string `json:"labels,omitempty"`
	Dependents []string          `json:"dependents,omitempty"` // each as KIND.GROUP/NAME
	Policy     string            `json:"policy"`
	Rule       string            `json:"rule"`
	Due        time.Time         `json:"dueTime"`
	Reason     string            `json:"reason,omitempty"`
	Outcome    string            `json:"outcome,omitempty"`
	ArchivedAt time.Time         `json:"archivedAt"`
	Bytes      int               `json:"bytes"` // length of the record's line

	Result   Result    `json:"-"` // Find sets it
	ResultAt time.Time `json:"-"` // no later than this; zero without a result
}

// IsEncrypted reports whether the record is in an encrypted segment.
func (m Meta) IsEncrypted() bool { return strings.HasSuffix(m.Segment, encryptedSuffix) }
