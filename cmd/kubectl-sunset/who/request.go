// SPDX-License-Identifier: Apache-2.0

package who

import (
	"bytes"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/audit"
)

// request is the part of an event of the audit log of the API server that shows a deletion: audit.k8s.io/v1, Event.
type request struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Stage      string `json:"stage"`
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	UserAgent string `json:"userAgent"`
	ObjectRef struct {
		Resource    string    `json:"resource"`
		Namespace   string    `json:"namespace"`
		Name        string    `json:"name"`
		UID         types.UID `json:"uid"`
		APIGroup    string    `json:"apiGroup"`
		APIVersion  string    `json:"apiVersion"`
		Subresource string    `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	StageTimestamp time.Time `json:"stageTimestamp"`
}

// Collection is the result if a request deleted all objects of the kind in the namespace, or those that it selects: maybe also this one.
const Collection = "collection"

// readRequest reads a DELETE request that the API server accepted, for one object or for a collection, which may include an object of
// the name. ok is false for any other line.
func readRequest(line []byte, name string) (d Deletion, ok bool) {
	var e request
	if !bytes.Contains(line, []byte("audit.k8s.io/")) || json.Unmarshal(line, &e) != nil {
		return d, false
	}
	about := e.ObjectRef
	result, note := audit.Deleted, "client "+e.UserAgent
	if e.Verb == "deletecollection" {
		e.Verb, about.Name, result, note = "delete", name, Collection, note+", request "+e.RequestURI
	}
	if e.Kind != "Event" || e.Verb != "delete" || e.Stage != "ResponseComplete" || about.Subresource != "" || e.ResponseStatus.Code/100 != 2 {
		return d, false
	}
	version := schema.GroupVersion{Group: about.APIGroup, Version: about.APIVersion}
	return Deletion{
		Time: e.StageTimestamp.UTC(), By: e.User.Username, Result: result, Note: note,
		Object: audit.Object{APIVersion: version.String(), Kind: about.Resource, Namespace: about.Namespace, Name: about.Name, UID: about.UID},
	}, true
}
