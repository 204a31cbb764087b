// SPDX-License-Identifier: Apache-2.0

package who

import (
	"bytes"
	"encoding/json"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/audit"
)

// request is the part of an event of the audit log of the API server that shows a deletion: audit.k8s.io/v1, Event.
type request struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Level      string `json:"level"`
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
	RequestObject *struct { // DeleteOptions, or an Eviction with the same options; nil at level Metadata, and for a request without a body
		DryRun        []string `json:"dryRun"`
		DeleteOptions struct {
			DryRun []string `json:"dryRun"`
		} `json:"deleteOptions"`
	} `json:"requestObject"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	StageTimestamp time.Time `json:"stageTimestamp"`
}

// Collection is the result if a request deleted all objects of the kind in the namespace, or those that it selects: maybe also this one.
const Collection = "collection"

// readRequest reads a request that the API server accepted and that deletes: a DELETE request for one object or for a collection, which
// may include an object of the name, or the eviction of a Pod, as of kubectl drain. ok is false for any other line, and for a dry run.
// options is false if the audit log does not have the options of the request, which then may have been a dry run.
func readRequest(line []byte, name string) (d Deletion, options, ok bool) {
	var e request
	if !bytes.Contains(line, []byte("audit.k8s.io/")) || json.Unmarshal(line, &e) != nil {
		return d, false, false
	}
	about := e.ObjectRef
	result, note := audit.Deleted, "client "+e.UserAgent
	switch {
	case e.Verb == "delete" && about.Subresource == "":
	case e.Verb == "deletecollection" && about.Subresource == "":
		about.Name, result, note = name, Collection, note+", request "+e.RequestURI
	case e.isEviction():
		note += ", eviction"
	default:
		return d, false, false
	}
	if e.Kind != "Event" || e.Stage != "ResponseComplete" || e.ResponseStatus.Code/100 != 2 || e.isDryRun() {
		return d, false, false
	}
	version := schema.GroupVersion{Group: about.APIGroup, Version: about.APIVersion}
	return Deletion{
		Time: e.StageTimestamp.UTC(), By: e.User.Username, Result: result, Note: note,
		Object: audit.Object{APIVersion: version.String(), Kind: about.Resource, Namespace: about.Namespace, Name: about.Name, UID: about.UID},
	}, e.Level != "Metadata", true
}

// isEviction reports whether a request asks to delete a Pod as far as PodDisruptionBudgets allow it.
func (e *request) isEviction() bool {
	return e.Verb == "create" && e.ObjectRef.APIGroup == "" && e.ObjectRef.Resource == "pods" && e.ObjectRef.Subresource == "eviction"
}

// isDryRun reports whether the request deletes nothing. The API server ignores the query of a DELETE request that has a body.
func (e *request) isDryRun() bool {
	body := e.RequestObject
	switch {
	case body == nil:
	case e.isEviction():
		if len(body.DeleteOptions.DryRun) > 0 {
			return true
		}
	default:
		return len(body.DryRun) > 0
	}
	uri, err := url.Parse(e.RequestURI)
	return err == nil && uri.Query().Has("dryRun")
}
