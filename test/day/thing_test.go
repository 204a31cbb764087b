// SPDX-License-Identifier: Apache-2.0

package day_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

var (
	jobs      = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	previews  = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Preview"}
	snapshots = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Snapshot"}
)

func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{jobs, previews, snapshots} {
		m.Add(kind, meta.RESTScopeNamespace)
	}
	return m
}

// thing is an object as its users see it. The model reads its fields; Sunset reads its JSON.
type thing struct {
	kind      schema.GroupVersionKind
	namespace string
	name      string
	uid       types.UID
	path      string
	version   int
	created   time.Time
	finished  time.Time // of a Job; zero until then
	labels    map[string]string
	held      string        // value of the annotation; empty for none
	ttl       time.Duration // its own TTL; 0 for none
	marks     string        // value of the annotation that Sunset writes; empty for none
	spec      any           // content that the model does not check

	changed time.Time // by a user
	gone    time.Time // zero while it exists
	since   time.Time // of a Preview: the earliest time since which it may count as idle; zero if it does not
	remark  time.Time // of a Preview: until when there was a reason to rewrite its mark
}

// identify sets the UID and the path of a thing. The UID is unique although names are reused.
func (o *thing) identify() {
	o.uid = types.UID(fmt.Sprintf("%s-%d", o.name, o.created.UnixNano()))
	o.path = fmt.Sprintf("/apis/%s/namespaces/%s/%ss/%s", o.kind.GroupVersion(), o.namespace, strings.ToLower(o.kind.Kind), o.name)
}

func (o *thing) String() string {
	return fmt.Sprintf("%s %s/%s@%d of %s, finished %s, labels %v, held %q, own TTL %s, marks %s", o.kind.Kind, o.namespace, o.name, o.version,
		clock(o.created), clock(o.finished), o.labels, o.held, o.ttl, o.marks)
}

// clock formats a time for messages.
func clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("15:04:05.000")
}

func (o *thing) json() []byte {
	annotations := map[string]string{}
	if o.held != "" {
		annotations[v1alpha1.HoldAnnotation] = o.held
	}
	if o.ttl > 0 {
		annotations[v1alpha1.TTLAnnotation] = o.ttl.String()
	}
	if o.marks != "" {
		annotations[v1alpha1.EligibleSinceAnnotation] = o.marks
	}
	object := map[string]any{
		"apiVersion": o.kind.GroupVersion().String(), "kind": o.kind.Kind,
		"metadata": map[string]any{
			"namespace": o.namespace, "name": o.name, "uid": o.uid, "resourceVersion": strconv.Itoa(o.version),
			"creationTimestamp": o.created.UTC().Format(time.RFC3339), "labels": maps.Clone(o.labels), "annotations": annotations,
		},
	}
	if o.spec != nil {
		object["spec"] = o.spec
	}
	if !o.finished.IsZero() {
		at := o.finished.UTC().Format(time.RFC3339)
		object["status"] = map[string]any{"completionTime": at, "conditions": []any{
			map[string]any{"type": "Complete", "status": "True", "lastTransitionTime": at},
		}}
	}
	data, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return data
}
