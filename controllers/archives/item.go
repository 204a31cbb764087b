// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/archive/redact"
)

// item is a target whose record is being made.
type item struct {
	request    *request
	object     []byte        // as the API server sent it
	buffer     *bytes.Buffer // that has the object; nil if it was not in a listing
	anyLabels  bool          // a rule deletes it instead of one of its dependents, which is found with any labels
	dependents []dependent
	events     []json.RawMessage
	logs       []archive.Log
	bytes      int64 // of all of these in the share of the namespace; below the lease's mu
	extra      int64 // bytes in the memory for large records
}

// buffers have the objects of listings until these are in a segment, and then others: a backlog has many.
var buffers = sync.Pool{New: func() any { return &bytes.Buffer{} }}

const bufferMost = 16 << 10 // bytes of a buffer that is used again

// hold copies an object of a listing. The memory for it is the capacity of the object, which may be more than its length.
func (i *item) hold(data []byte) {
	i.buffer = buffers.Get().(*bytes.Buffer)
	i.buffer.Reset()
	i.buffer.Write(data)
	i.object = i.buffer.Bytes()
}

// clear forgets everything but the request. Nothing may use the object after that.
func (i *item) clear() {
	if i.buffer != nil && i.buffer.Cap() <= bufferMost {
		buffers.Put(i.buffer)
	}
	*i = item{request: i.request}
}

// dependent is an object that garbage collection deletes along with a target.
type dependent struct {
	kind            schema.GroupVersionKind
	namespace, name string
	uid             types.UID
	data            []byte // with apiVersion and kind
}

// identity has the fields of an object that say what it is and what it belongs to.
type identity struct {
	Metadata struct {
		Namespace       string    `json:"namespace"`
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
		OwnerReferences []struct {
			UID types.UID `json:"uid"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	InvolvedObject struct { // of an Event
		UID types.UID `json:"uid"`
	} `json:"involvedObject"`
}

// decode reads some fields of an object.
func decode(data []byte, fields any) error {
	return jsonv2.Unmarshal(data, fields, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func identify(data []byte) (id identity, err error) {
	if err := decode(data, &id); err != nil {
		return id, fmt.Errorf("decode object: %w", err)
	}
	return id, nil
}

// is reports whether an object is the version that a request is for.
func (id identity) is(r *request) bool {
	m := id.Metadata
	return m.UID == r.target.UID && m.ResourceVersion == r.target.ResourceVersion && m.Name == r.target.Name && m.Namespace == r.target.Namespace
}

// recordOf makes the record of an item, after redaction.
func recordOf(i *item, intent policy.Intent, paths []redact.Path, cluster string, now time.Time) (archive.Record, error) {
	r := archive.Record{
		ArchivedAt: now, Cluster: cluster, Policy: intent.Rule.ID.Policy, PolicyUID: intent.Rule.PolicyUID, Rule: intent.Rule.ID.Rule,
		Due: intent.Due, Reason: string(intent.Reason), Outcome: intent.Outcome, Snapshot: intent.SnapshotName(), Events: i.events, Logs: i.logs,
	}
	matched := map[string]bool{}
	redacted := func(data []byte) (json.RawMessage, error) {
		if len(paths) == 0 {
			return data, nil
		}
		document, by, err := redact.Apply(data, paths)
		for _, path := range by {
			matched[path] = true
		}
		return document, err
	}
	var err error
	if r.Object, err = redacted(i.object); err != nil {
		return r, fmt.Errorf("redact %s: %w", i.request.target, err)
	}
	for _, d := range i.dependents {
		document, err := redacted(d.data)
		if err != nil {
			return r, fmt.Errorf("redact %s %s/%s: %w", d.kind.Kind, d.namespace, d.name, err)
		}
		r.Dependents = append(r.Dependents, document)
	}
	for _, path := range paths {
		if matched[path.String()] {
			r.Redacted = append(r.Redacted, path.String())
		}
	}
	return r, nil
}

// pathsOf parses the paths of fields to redact. If there are any, redact.Copies are among them.
func pathsOf(texts []string) ([]redact.Path, error) {
	var paths []redact.Path
	if len(texts) > 0 {
		texts = slices.Concat(redact.Copies, texts)
	}
	for _, text := range texts {
		path, err := redact.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("archive.redact: %q: %w", text, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}
