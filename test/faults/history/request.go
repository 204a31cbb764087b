// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Request is one request as an API server recorded it.
type Request struct {
	ID, User, Agent, Verb, URI            string
	Group, Version, Resource, Subresource string
	Namespace, Name                       string
	Code                                  int       // of the answer; 0 without an answer
	Received, Answered                    time.Time // by the server's clock; Answered is zero without an answer
	Options                               metav1.DeleteOptions
	Body, Answer                          json.RawMessage // the objects sent and answered, if recorded
	Unreceived                            bool            // no server received it: the times are from the place where it ended

	fields *answerFields // of Answer; nil if they have not been read
}

// String describes the request for a report.
func (r Request) String() string {
	what := strings.Trim(r.Resource+"/"+r.Subresource, "/")
	where := strings.Trim(r.Namespace+"/"+r.Name, "/")
	return fmt.Sprintf("%s %s %s by %s at %s, answered %d", r.Verb, what, where, r.User, r.Received.Format("15:04:05.000"), r.Code)
}

// Succeeded reports whether the server answered with success.
func (r Request) Succeeded() bool {
	return r.Code >= http.StatusOK && r.Code < http.StatusMultipleChoices
}

// Writes reports whether the request changes something. Dry runs do not.
func (r Request) Writes() bool {
	switch r.Verb {
	case "get", "list", "watch", "":
		return false
	}
	return len(r.Options.DryRun) == 0 && !r.dryRun()
}

func (r Request) dryRun() bool {
	if !strings.Contains(r.URI, "dryRun") {
		return false
	}
	at, err := url.Parse(r.URI)
	return err == nil && at.Query().Has("dryRun")
}

// Unsure reports whether the request may have changed something although the server did not report success.
func (r Request) Unsure() bool { return r.Code == 0 || r.Code >= http.StatusInternalServerError }

// Preconditions returns the preconditions of a DELETE; empty for none.
func (r Request) Preconditions() (uid types.UID, resourceVersion string) {
	if p := r.Options.Preconditions; p != nil {
		if p.UID != nil {
			uid = *p.UID
		}
		if p.ResourceVersion != nil {
			resourceVersion = *p.ResourceVersion
		}
	}
	return uid, resourceVersion
}

// answerFields are the fields that every answer may have.
type answerFields struct {
	Metadata struct {
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
	Details struct {
		UID types.UID `json:"uid"`
	} `json:"details"`
}

func (r Request) answer() answerFields {
	if r.fields != nil {
		return *r.fields
	}
	var a answerFields
	_ = json.Unmarshal(r.Answer, &a) // an answer that is not an object has no fields
	return a
}

// AnsweredUID returns the UID of the object in the answer; empty for none.
func (r Request) AnsweredUID() types.UID {
	a := r.answer()
	if a.Details.UID != "" {
		return a.Details.UID
	}
	return a.Metadata.UID
}

// take adds the data of one stage of a request.
func (r *Request) take(e *auditv1.Event) {
	r.ID, r.User, r.Agent, r.Verb, r.URI = string(e.AuditID), e.User.Username, e.UserAgent, e.Verb, e.RequestURI
	r.Received = e.RequestReceivedTimestamp.Time
	if o := e.ObjectRef; o != nil {
		r.Group, r.Version, r.Resource, r.Subresource = o.APIGroup, o.APIVersion, o.Resource, o.Subresource
		r.Namespace, r.Name = o.Namespace, o.Name
	}
	if e.ResponseStatus != nil {
		r.Code = int(e.ResponseStatus.Code)
	}
	if e.Stage == auditv1.StageResponseComplete || e.Stage == auditv1.StagePanic {
		r.Answered = e.StageTimestamp.Time
	}
	if e.RequestObject != nil {
		r.Body = e.RequestObject.Raw
	}
	if e.ResponseObject != nil {
		r.Answer, r.fields = e.ResponseObject.Raw, nil
		a := r.answer()
		r.fields = &a // each scenario reads those of all requests
	}
	r.takeOptions()
	if r.Name == "" && r.Verb == "create" { // its path has no name
		r.Name = r.answer().Metadata.Name
	}
}

// Carry adds the body of a request that an audit log does not have.
func (r *Request) Carry(body []byte) {
	r.Body = body
	r.takeOptions()
}

// takeOptions reads the options of a DELETE from its body and its query.
func (r *Request) takeOptions() {
	if r.Verb != "delete" && r.Verb != "deletecollection" {
		return
	}
	_ = json.Unmarshal(r.Body, &r.Options) // no body means no options
	at, err := url.Parse(r.URI)
	if err != nil {
		return
	}
	query := at.Query()
	if p := metav1.DeletionPropagation(query.Get("propagationPolicy")); p != "" && r.Options.PropagationPolicy == nil {
		r.Options.PropagationPolicy = &p
	}
	r.Options.DryRun = append(r.Options.DryRun, query["dryRun"]...)
}

// AnsweredVersion returns the resourceVersion of the object in the answer; empty for none.
func (r Request) AnsweredVersion() string { return r.answer().Metadata.ResourceVersion }
