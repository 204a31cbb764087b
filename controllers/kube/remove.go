// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// requestTimeout limits one request about a subject, and so how long a shutdown may take. If no response arrives in time, the
// request may or may not have taken effect; the watch shows which.
const requestTimeout = 20 * time.Second

// ResolveTarget implements retention.TargetResolver. The target is the subject itself, which needs no request, or its owner.
func (c *Cluster) ResolveTarget(ctx context.Context, i policy.Intent) (policy.Target, *retention.Outcome) {
	if i.Rule.Owner {
		return c.resolveOwnerTarget(ctx, i)
	}
	return policy.TargetOf(i.Rule.Kind, i.Subject), nil
}

// Prepare implements retention.Remover. Before the deletion of an owner, it reads the subject once more, because the preconditions
// of a DELETE do not cover another object.
func (c *Cluster) Prepare(ctx context.Context, w policy.DeletePermit, t policy.Target) (retention.Prepared, *retention.Outcome) {
	if err := w.Covers(t); err != nil {
		return retention.Prepared{}, refused("%w", err)
	}
	mapping, err := c.mapper.RESTMapping(t.Kind.GroupKind(), t.Kind.Version)
	if err != nil {
		return retention.Prepared{}, &retention.Outcome{Err: err}
	}
	if w.Rule().Owner {
		if blocked := c.unchanged(ctx, w); blocked != nil {
			return retention.Prepared{}, blocked
		}
	}
	return retention.Prepared{Since: c.clock.Now(), Send: func(ctx context.Context, cleared policy.Clearance, since time.Time) retention.Outcome {
		if !cleared.Permits(t) {
			return retention.Outcome{Result: retention.Refused, Err: errNotCleared, Unsent: true}
		}
		return c.remove(ctx, mapping, cleared, since)
	}}, nil
}

var errNotCleared = errors.New("internal error: deletion without a clearance for its target")

// remove sends one DELETE. The API server refuses it unless the object has exactly the UID and resourceVersion of the target.
// It does not use client-go's REST client, which retries automatically and does not return Retry-After.
func (c *Cluster) remove(ctx context.Context, mapping *meta.RESTMapping, cleared policy.Clearance, since time.Time) retention.Outcome {
	rule, t := cleared.Permit().Rule(), cleared.Target()
	propagation := rule.Propagation
	body, err := json.Marshal(&metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     &metav1.Preconditions{UID: &t.UID, ResourceVersion: &t.ResourceVersion},
		PropagationPolicy: &propagation,
	})
	if err != nil {
		return retention.Outcome{Err: err, Unsent: true}
	}
	o := c.send(ctx, mapping, t, request{method: http.MethodDelete, contentType: listwatch.AcceptJSON, body: body, since: since})
	if rule.Owner && o.Result == retention.Denied {
		o.Result = retention.Refused // not for the whole namespace: other subjects have other owners, or none
	}
	return o
}

// outcomeOf returns what a response means for the subject.
func outcomeOf(code int, header http.Header, body []byte) retention.Outcome {
	if code < http.StatusMultipleChoices {
		return retention.Outcome{Result: retention.Removed}
	}
	status := statusOf(code, body)
	o := retention.Outcome{Err: errors.New(status.Message)}
	denied, failed := admission(status)
	switch {
	case denied:
		o.Result, o.Unsure = retention.Refused, code >= http.StatusInternalServerError
	case failed:
		o.Result, o.Unsure = retention.Unadmitted, code >= http.StatusInternalServerError
	case code == http.StatusNotFound && status.Reason == metav1.StatusReasonNotFound:
		o.Result = retention.Gone // a 404 for an unknown resource has no reason
	case code == http.StatusNotFound, code < http.StatusBadRequest:
		o.Result = retention.Failed
	case code == http.StatusConflict:
		o.Result = retention.Changed
	case code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:
		o.Result, o.Unsure = retention.Busy, code != http.StatusTooManyRequests
		o.RetryAfter = retryAfter(header, status)
	case lacksPermission(status):
		o.Result = retention.Denied
	default:
		o.Result = retention.Refused
	}
	return o
}

// admission reports whether an admission webhook denied a request, or failed to answer. Both concern only objects like this one.
// The code of a denial is the webhook's choice. A failure is an internal error, and only its message differs from one of the API
// server: ErrCallingWebhook in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/util/webhook/error.go and ToStatusErr in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go
func admission(status *metav1.Status) (denied, failed bool) {
	return webhookDenies.MatchString(status.Message), webhookFails.MatchString(status.Message)
}

var (
	webhookDenies = regexp.MustCompile(`^admission webhook ".*" denied the request`)
	webhookFails  = regexp.MustCompile(`^(Internal error occurred: )?failed calling webhook "`)
)

// lacksPermission reports whether the authorizer refused a request, which concerns the whole namespace. If an admission plugin refuses,
// that concerns one object. Both are Forbidden; only the messages differ (k8s.io/apiserver, endpoints/handlers/responsewriters).
func lacksPermission(status *metav1.Status) bool {
	return status.Reason == metav1.StatusReasonForbidden && lacksVerb.MatchString(status.Message)
}

var lacksVerb = regexp.MustCompile(` cannot (delete|patch) resource `)

// statusOf decodes a Status. If the body is not a Status, the message is the code and the first bytes of the body.
func statusOf(code int, body []byte) *metav1.Status {
	status := &metav1.Status{}
	if err := json.Unmarshal(body, status); err != nil || status.Message == "" {
		const shown = 200
		status = &metav1.Status{Message: fmt.Sprintf("%d %s: %s", code, http.StatusText(code), body[:min(len(body), shown)])}
	}
	return status
}

func retryAfter(header http.Header, status *metav1.Status) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil && status.Details != nil {
		seconds = int(status.Details.RetryAfterSeconds)
	}
	return time.Duration(max(0, seconds)) * time.Second
}
